/*
 * crew - workers with one job each: pinned, started together, joined, merged.
 *
 * Each worker is a thread that pins itself, opens its rig and waits for the others; then all
 * start at one moment. If one cannot, none starts. Workers block all signals. Jobs on simulated
 * devices share one thread, where the job with the earliest clock steps first.
 */
#ifndef IOLUA_CORE_CREW_H
#define IOLUA_CORE_CREW_H

#include "core/cpuset.h"
#include "core/job.h"

#define CREW_MAX 4096
#define CREW_TEXT 256

struct crew_spec {
    struct job_spec job;
    bool pinned;
    struct cpuset cpus;         /* where the worker may run, when pinned */
};

struct crew;

/* Start n (1 .. CREW_MAX) workers. 0 or -errno; failures of a worker are told by crew_join.
 * Files are referenced until crew_close. */
int crew_start(struct crew **out, const struct crew_spec *specs, unsigned n);

/* Readable once every worker has ended. */
int crew_fd(const struct crew *c);

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

/* Stop, join, free. */
void crew_close(struct crew *c);

#endif
