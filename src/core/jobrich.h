/*
 * jobrich - the state of the rich loop: a pace, a mix of sizes, intervals, hooks, live control.
 */
#ifndef IOLUA_CORE_JOBRICH_H
#define IOLUA_CORE_JOBRICH_H

#include "core/jobself.h"
#include "core/later.h"

struct rich {
    bool sized, paced, hooked, virtual;
    unsigned limit;             /* operations in flight at most: iodepth, or less by control */
    unsigned changes;           /* of the live view that were taken over */
    uint64_t bytes_left;

    struct pace pace;
    struct pace_result *result; /* of the pace; NULL in a closed loop */
    uint64_t *due;              /* of each slot: the intended start */
    bool busy;                  /* every slot has been in use since: starts due then are missed */
    uint64_t busy_from;

    struct series *series;      /* NULL without intervals */
    struct job_count *count;    /* of the current interval; else the result's */
    uint64_t from, until;       /* the current interval, engine's clock */
    double area_from;

    struct job_op *given;       /* `depth` of them: chosen by a hook, not yet started */
    unsigned given_first, given_count;
    bool pauses;                /* some of them think first, or sync */
    struct later later;         /* those that think first */
    bool thinks;                /* the job pauses after every think_blocks operations */
    unsigned think_left;        /* that may start before the next pause */
    uint64_t think_until;
    bool no_more;
    struct ledger *ledger;      /* of a verified job */
    bool read_back;
    uint64_t next_block;        /* of the ledger, to be read back */
    bool holds;                 /* an operation waits for one that it overlaps */
    struct job_op held;

    struct job_told *told;
    unsigned told_count;
};

/* Of a verified job: may op start? Else it is held until it may. Then its data is made. At the
 * end its data is checked. */
bool jobverify_start(struct job *j, const struct job_op *op, uint64_t now);
void jobverify_next(struct job *j, struct job_op *op);        /* reading back */
void jobverify_stamp(struct job *j, unsigned slot);
void jobverify_done(struct job *j, unsigned slot, int res);

/* Take over what the script's thread has changed. */
void jobrich_control(struct job *j, struct job_live *live, uint64_t now);

/* Does the job pause now, or wait for the last operation before a pause? And the pause begins
 * when that one has ended. */
bool jobwait_thinks(const struct job *j, uint64_t now);
void jobwait_ended(struct job *j, uint64_t now);

/* The round of a hook's closed loop: does it fit j? And the general one, for when there is
 * something that it leaves to that. */
bool jobhook_fits(const struct job *j);
int jobhook_step(struct job *j, struct job_live *live);
int jobrich_round(struct job *j, struct job_live *live);

/* How long nothing but a completion needs attention, ns. */
uint64_t jobrich_quiet(const struct job *j, uint64_t now);

/* Operations that may be started now. */
static inline unsigned room(const struct job *j)
{
    unsigned flying = j->depth - j->free_count;

    return j->rich->limit > flying ? j->rich->limit - flying : 0;
}

/* Where op goes: drawn now, if that was left to the job. */
INLINE uint64_t place_of(struct job *j, const struct job_op *op)
{
    if (__builtin_expect(op->pos != JOB_OWN_PLACE, 0))
        return op->pos;
    return op->len == j->load.bs ? load_place(&j->load) : load_place_for(&j->load, op->len);
}

/* Close the intervals that have ended by now. 1 if there were any, 0 or -ENOMEM. */
int jobrich_roll(struct job *j, uint64_t now);

#endif
