/*
 * crew - workers with one job each: pinned, started together, joined, merged.
 *
 * Each worker is a thread that pins itself, opens its rig and waits for the others; then all
 * start at one moment. If one cannot, none starts; if one fails, all end. Workers block all
 * signals. Jobs on simulated devices share one thread and one world: whoever can go on does, and
 * when nobody can the clock moves to the next event.
 */
#ifndef IOLUA_CORE_CREW_H
#define IOLUA_CORE_CREW_H

#include "core/cpuset.h"
#include "core/job.h"

#define CREW_MAX 4096
#define CREW_TEXT 2048         /* a hook's error has its traceback */

/* Whoever chooses a hooked job's operations (bind/lhook.c). Both run in the worker's thread;
 * a failure is -errno with a sentence in message. */
struct crew_hook {
    void *arg;                  /* of this worker alone; NULL open: no hook */
    int (*open)(void *arg, struct job *j, char *message, size_t len);   /* before all start */
    int (*step)(void *arg, struct job *j, struct job_live *live, char *message, size_t len);
};

struct crew_spec {
    struct job_spec job;
    struct crew_hook hook;
    bool watched;               /* somebody looks at each interval: see crew_fd */
    bool pinned;
    struct cpuset cpus;         /* where the worker may run, when pinned */
};

struct crew;

/* Start n (1 .. CREW_MAX) workers. 0 or -errno; failures of a worker are told by crew_join.
 * Files are referenced until crew_close. */
int crew_start(struct crew **out, const struct crew_spec *specs, unsigned n);

/* Readable once every worker has ended; of a watched crew, also after each interval, until
 * crew_seen. Simulated workers stand still from the end of an interval to crew_seen, so that
 * what is changed in between holds from that very moment on. */
int crew_fd(const struct crew *c);

/* Of a watched crew: what crew_intervals gave has been dealt with. */
void crew_seen(struct crew *c, uint64_t intervals);

bool crew_ended(struct crew *c);

/* Completed operations and bytes so far, over all workers. */
void crew_progress(uint64_t *ios, uint64_t *bytes, const struct crew *c);

/* Ask all to end: they drain and keep what they have. */
void crew_stop(struct crew *c);

/* Wait for all. 0, or the first failure with its sentence in message; results of what was
 * measured before it can still be read. */
int crew_join(struct crew *c, char *message, size_t len);

unsigned crew_count(const struct crew *c);

/* Result of worker i, NULL where it never started; engine name, note and what it registered. */
const struct job_result *crew_result(const struct crew *c, unsigned i);
const struct rig *crew_rig(const struct crew *c, unsigned i);

/* What the pace of worker i left, after crew_join; NULL of a closed loop. */
const struct pace_result *crew_paced(const struct crew *c, unsigned i);

/* Intervals that every worker has ended (one that has ended itself holds none back); and number
 * i below that, summed up: sides into counts (JOB_SIDES of them), times and depth into p. May
 * be asked while the crew runs. */
uint64_t crew_intervals(const struct crew *c);
void crew_interval(struct series_point *p, struct job_count *counts, const struct crew *c,
                   uint64_t i);

/* Change the rate of each worker (0: as it is), its depth (0), its per cent of reads (-1): of
 * workers with a pace, intervals or a mix. Taken over at the next round. */
void crew_control(struct crew *c, double rate, unsigned depth, int read_percent);

/* Stop, join, free. */
void crew_close(struct crew *c);

#endif
