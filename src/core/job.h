/*
 * job - one worker's load: step, ramp, stop, accounting.
 *
 * A job keeps `iodepth` operations of its load in flight on one rig and counts what completes;
 * with a pace, operations start when they are due and iodepth is the most that can be out.
 * It is a state machine: job_step does one round of issue, submit, reap and account, and never
 * waits longer than ENGINE_WAIT_NS, so that a crew can stop it and simulated workers can be
 * interleaved by their clocks.
 *
 * Latency is the time from the moment a batch is drawn up for submission to the moment its
 * completion is reaped: one clock reading each a batch, or with clock_each one of each an
 * operation. With a pace it is the time from the intended start, and the one from submission is
 * kept beside it. Operations that failed are in no rate and no latency.
 *
 * With a runtime or a ramp, what counts is completed in [begin, end): begin is the start plus
 * the ramp, end is begin plus the runtime, or where the job stopped. Otherwise all counts.
 */
#ifndef IOLUA_CORE_JOB_H
#define IOLUA_CORE_JOB_H

#include "core/count.h"
#include "core/ledger.h"
#include "core/load.h"
#include "core/pace.h"
#include "core/rig.h"
#include "core/series.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define JOB_DEPTH_MAX 32768u
#define JOB_GRACE_NS  (30 * 1000000000ull)      /* how long a job waits when nothing comes back */
#define JOB_GRACE_SYNC 10                       /* and that many times as long for an fsync */

struct job_spec {
    struct rig_spec rig;
    struct load_spec load;
    unsigned batch;             /* 0: submit what is ready, wait for one; else both at once */
    uint64_t ramp_ns, runtime_ns;       /* 0: none */
    uint64_t grace_ns;          /* 0: JOB_GRACE_NS; when nothing came back for longer than that
                                 * and a request is out for longer, the job is given up */
    uint64_t number_ios;        /* operations to issue, UINT64_MAX: no limit */
    unsigned fsync_every;       /* an fsync after that many writes, 0: none */
    bool datasync;              /* it is an fdatasync */
    bool end_fsync;             /* one at the end, timed apart */
    bool trim;                  /* writes discard: no data moves; not with a ledger or the ring */
    bool continue_on_error;
    bool clock_each;
    struct pace_spec pace;      /* kind PACE_NONE: a closed loop */
    uint64_t think_ns;          /* pause when that many operations have ended, 0: none */
    unsigned think_blocks;      /* 1 and more; the next ones wait for it */
    uint64_t number_bytes;      /* of a mix of sizes: bytes to issue, 0: no limit */
    uint64_t interval_ns;       /* a point of the series for each, 0: none */
    bool hooked;                /* operations come from job_give */
    bool told;                  /* somebody asks job_told */
    struct ledger *ledger;      /* writes are stamped, reads checked; NULL: neither */
    bool read_back;             /* read what the ledger says is written, in order, once */
};

struct job_result {
    struct job_count side[JOB_SIDES];
    bool windowed;
    uint64_t begin, end;        /* the window, ns of the engine's clock */
    uint64_t first_submit, last_done;   /* of successful operations */
    double depth_mean;          /* requests in flight, mean over the window */
    uint64_t user_ns, system_ns;        /* CPU time of the worker in the window */
    uint64_t end_fsync_ns;
    uint64_t issued;            /* operations in the whole run */
    int error;                  /* of the first failed operation: -errno, 0 for none */
    enum job_side error_side;
    uint64_t error_pos;
    uint64_t stuck;             /* requests that never came back; the oldest of them: */
    enum job_side stuck_side;
    uint64_t stuck_pos, stuck_age_ns;   /* the age to a millisecond */
};

/* What other threads may look at while a job runs. */
struct job_live {
    atomic_ullong ios, bytes, now;      /* completed so far, ramp included; engine's clock */
    atomic_bool stop;           /* set by anyone: issue no more, drain, end */
    atomic_uint changes;        /* raised after any of the next three was set */
    _Atomic double rate;        /* 0: as it is */
    atomic_uint depth;          /* 1 .. iodepth; 0: as it is */
    atomic_int read_percent;    /* 0 .. 100; -1: as it is */
};

#define JOB_OWN_PLACE UINT64_MAX

/* An operation that a hook has chosen; at pos JOB_OWN_PLACE the job chooses the place. */
struct job_op {
    uint64_t pos;
    uint64_t think_ns;          /* it starts that much later than now */
    uint32_t len;
    uint32_t side;              /* enum job_side */
};

/* A completion as a hook is told of it. */
struct job_told {
    enum job_side side;
    uint32_t len;
    uint64_t pos;
    int res;
    uint64_t lat_ns;
};

struct job;

/* Prepare a job in this thread: opens the rig. On failure -errno with a sentence. */
int job_open(struct job **out, const struct job_spec *spec, char *message, size_t len);

/* The engine's clock, ns. */
uint64_t job_now(struct job *j);

/* The common start of all workers. */
void job_start(struct job *j, uint64_t start);

/* One round. 1 going on, 0 ended, -errno the engine failed (-ETIME: requests stuck). */
int job_step(struct job *j, struct job_live *live);

/* Of a hooked job, between steps: how many operations it wants now; room for that many, where
 * those that neither think nor sync may be written, and how many were; any other one; no more
 * will come; and what completed in the last step. */
unsigned job_wants(struct job *j);
struct job_op *job_room(struct job *j);
void job_given(struct job *j, unsigned n);
void job_give(struct job *j, const struct job_op *op);
void job_end(struct job *j);
const struct job_told *job_told(const struct job *j, unsigned *n);

/* After the last step: ends the counting, does the final fsync, and closes the engine, in the
 * thread that stepped. Called again it gives the same. Owned by the job. */
const struct job_result *job_result(struct job *j);

const struct rig *job_rig(const struct job *j);

/* Of an open loop, after job_result; NULL of a closed one. Owned by the job. */
const struct pace_result *job_paced(const struct job *j);

/* The series, NULL without intervals: may be read by other threads while the job runs. */
const struct series *job_series(const struct job *j);

void job_close(struct job *j);

/* into += from: counts, histograms and depths add up, times span. */
void job_merge(struct job_result *into, const struct job_result *from);

/* Seconds that rates are over; 0 when nothing completed. */
double job_seconds(const struct job_result *r);

#endif
