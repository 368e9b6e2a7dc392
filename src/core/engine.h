/*
 * engine - the interface that the loop of job.c is written against.
 *
 * An engine is a `static const struct engine` in its own file (ring, threads, sync, sim). The
 * loop is instantiated once per engine with the table known at compile time, so that the calls
 * of the ring are inlined. `self` is what the engine's open function gave.
 *
 * One thread uses an engine: the one that opened it. The clock belongs to the engine: real ns
 * of CLOCK_MONOTONIC's rate for real ones, virtual ns for simulated ones.
 */
#ifndef IOLUA_CORE_ENGINE_H
#define IOLUA_CORE_ENGINE_H

#include "core/io.h"

#include <stdint.h>

#define ENGINE_WAIT_NS 100000000ull     /* longest wait in one submit: a stop flag is polled */

struct engine {
    const char *name;           /* "io_uring" "threads" "sync" "sim" */

    /* Queue a request; not yet seen by the device. 0, or -EBUSY when the queue is full. */
    int (*prepare)(void *self, const struct io_req *q, uint64_t tag);

    /* Start what is queued, then wait until `wait` completions can be reaped or wait_ns have
     * passed (0: do not wait). 0 or -errno; -ETIME and -EINTR are not failures of a job. */
    int (*submit)(void *self, unsigned wait, uint64_t wait_ns);

    /* Completions that can be looked at now: at(0) .. at(ready - 1), until consume. */
    unsigned (*ready)(void *self);
    struct io_done (*at)(void *self, unsigned i);
    void (*consume)(void *self, unsigned n);

    uint64_t (*now)(void *self);        /* ns */

    /* Cancel and drain what is in flight, free all. 0, or -ETIME when requests were still out
     * after grace_ns: then memory they use must be leaked, not freed. */
    int (*close)(void *self, uint64_t grace_ns);
};

#endif
