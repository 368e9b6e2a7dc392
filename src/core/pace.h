/*
 * pace - when operations are to start: arrivals of an open loop, and what became of them.
 *
 * Operations have intended starts that do not depend on how the device does: evenly spaced, or
 * at random (Poisson). The rate counts operations or bytes. A start that cannot be kept because
 * all slots are in use is a missed one: it is made up for as soon as a slot is free, and its
 * latency counts from when it was due.
 */
#ifndef IOLUA_CORE_PACE_H
#define IOLUA_CORE_PACE_H

#include "core/count.h"
#include "core/rng.h"

#define PACE_RATE_MAX 1e12

enum pace_kind {
    PACE_NONE,                  /* closed loop */
    PACE_FIXED,                 /* evenly spaced */
    PACE_POISSON,               /* exponential gaps of the same mean */
};

struct pace_spec {
    enum pace_kind kind;
    double rate;                /* a second, over 0 and up to PACE_RATE_MAX */
    bool bytes;                 /* of bytes, not operations */
    uint64_t backlog;           /* operations due and not started beyond which it is overloaded */
};

struct pace {
    struct pace_spec spec;
    struct rng rng;
    uint64_t next;              /* intended start of the next operation */
    double rest;                /* ns of it below 1 */
    double gap;                 /* mean ns from one start to the next: of the last size */
};

/* What an open loop leaves behind beside its latencies from the intended start. */
struct pace_result {
    struct hist service[JOB_SIDES];    /* ns from submission to completion */
    struct hist slat;           /* ns of the submission itself: one value an operation */
    double rate;                /* asked, operations or bytes a second (the last, if changed) */
    bool bytes;
    uint64_t missed;            /* starts that found no free slot when they were due */
    uint64_t backlog_max;       /* operations due and not started, at the worst moment */
    uint64_t backlog_end;       /* and when the job ended: these were never started */
    uint64_t backlog_limit;
};

/* 0, or -EINVAL for a rate out of range. The first operation is due at `start`. */
int pace_init(struct pace *p, const struct pace_spec *spec, uint64_t seed, unsigned stream);
void pace_start(struct pace *p, uint64_t start, uint32_t bytes);

/* The next start is due for an operation of `bytes`: returns when, and goes on to the one
 * after it. */
uint64_t pace_take(struct pace *p, uint32_t bytes);

/* Operations due by now and not taken (of a Poisson process: as many as are to be expected). */
uint64_t pace_backlog(const struct pace *p, uint64_t now);

/* From now on another rate. What is due stays due. */
void pace_set_rate(struct pace *p, double rate, uint64_t now);

struct pace_result *pace_result_new(const struct pace_spec *spec);
void pace_merge(struct pace_result *into, const struct pace_result *from);

#endif
