/*
 * jobself - what the files of the job share: its state, and the parts of every kind of round.
 *
 * jobplain.c is the loop that published numbers come from; jobrich.c the one with a pace, mixes
 * of sizes, intervals or hooks. A job has one of them for life.
 */
#ifndef IOLUA_CORE_JOBSELF_H
#define IOLUA_CORE_JOBSELF_H

#include "core/job.h"
#include "core/ring.h"
#include "core/threads.h"

/* A tag: slot in the low bits, side, then the submission time in ns since the start. Times
 * wrap after 39 hours; differences do not mind. */
#define SLOT_BITS  15
#define SLOT_MASK  ((1u << SLOT_BITS) - 1)
#define SIDE_BITS  2
#define TIME_SHIFT (SLOT_BITS + SIDE_BITS)
#define TIME_MASK  (UINT64_MAX >> TIME_SHIFT)

_Static_assert(JOB_DEPTH_MAX <= SLOT_MASK + 1, "slots fit into a tag");

#define INLINE static inline __attribute__((always_inline))

/* When an operation was started, in steps of 2^20 ns since the start of the job: 4.8 hours until
 * it wraps, which is longer than anything is waited for. */
#define SINCE_SHIFT 20
#define SINCE_MASK  0xffffffu

struct slot {
    uint64_t pos;
    uint32_t len;               /* kept by the rich loop only */
    uint32_t side : 8, since : 24;
};

_Static_assert(sizeof(struct slot) == 16, "slots are small");

struct cpu_time {
    uint64_t user, system;
};

struct job {
    struct rig rig;
    struct load load;
    const struct job_spec *spec;        /* own copy, in `copy` */
    int (*step)(struct job *j, struct job_live *live);
    struct slot *slots;
    uint16_t *free;             /* stack of free slots: the last used is the warmest */
    unsigned free_count, depth;
    unsigned submit_max, wait_min;
    uint64_t start, begin, end; /* engine's clock */
    uint64_t left;              /* operations still to issue */
    unsigned since_sync;
    bool stopping, began, ended, closed, nop;
    uint64_t stopped_at;
    uint64_t heard;             /* when something came back last */
    bool dry;                   /* stopped before its time for want of operations */
    uint64_t area_at;           /* up to where depth x time has been summed */
    double area;
    uint64_t done_ios, done_bytes;      /* whole run, for the live view */
    uint64_t *retry;            /* tags that came back with EAGAIN */
    unsigned retry_count;
    int expect[JOB_SIDES];      /* result of a whole operation */
    uint8_t kind[JOB_SIDES];
    struct io_req base;         /* what all requests share */
    struct cpu_time cpu_begin, cpu_end;
    uintptr_t memory;           /* of slot 0; 0 where no data moves */
    size_t stride;
    struct job_result *result;
    struct rich *rich;          /* NULL: the plain loop */
    struct job_spec copy;
};

void job_begin_window(struct job *j);
void job_end_window(struct job *j);

/* No more operations: because the job was told to end or met an error, and then its window ends
 * here too; or because its time is up or it has no more, and then what is in flight counts. */
void job_stop_issuing(struct job *j, uint64_t now);
void job_run_dry(struct job *j, uint64_t now);
void job_note_error(struct job *j, uint64_t tag, int res, uint64_t now);
void job_publish(struct job *j, struct job_live *live);

/* Nothing came back in this round: 1 go on, or -ETIME when requests are stuck. */
int job_overdue(struct job *j, uint64_t now);

/* Whether a stopped job has ended (0), goes on draining (1), or has requests stuck (-ETIME). */
int job_draining(struct job *j, uint64_t now);

/* The step of the plain loop that fits j, and of the rich one. */
typedef int job_step_fn(struct job *j, struct job_live *live);
job_step_fn *jobplain_step(const struct job *j);
job_step_fn *jobrich_step(const struct job *j);

/* Does spec need the rich loop? Its state: after the rig is open; at the start; at the end,
 * when the window is closed; freed. */
bool jobrich_needed(const struct job_spec *spec);
int jobrich_open(struct job *j);
void jobrich_start(struct job *j);
void jobrich_finish(struct job *j);
void jobrich_close(struct job *j);


INLINE uint32_t since_of(uint64_t stamp)
{
    return stamp >> SINCE_SHIFT & SINCE_MASK;
}

/* Sum depth x time up to t, inside the window. */
INLINE void advance(struct job *j, uint64_t t)
{
    uint64_t from = j->area_at > j->begin ? j->area_at : j->begin;
    uint64_t to = t < j->end ? t : j->end;

    if (to > from)
        j->area += (double)(j->depth - j->free_count) * (double)(to - from);
    j->area_at = t;
}

/* Does a completion at `now` count? Begins and ends the window when its time has come. */
INLINE bool look_at_window(struct job *j, uint64_t now)
{
    advance(j, now);
    if (__builtin_expect(!j->began && now >= j->begin, 0))
        job_begin_window(j);
    if (__builtin_expect(!j->ended && now >= j->end, 0))
        job_end_window(j);
    return now >= j->begin && now < j->end;
}

#endif
