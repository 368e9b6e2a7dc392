/*
 * threads - the engines that need no io_uring: a pool of threads, and plain calls.
 *
 * The pool runs io_perform on up to `depth` threads; the sync engine runs it in submit, one
 * request at a time. Both are behind core/engine.h and usable without a job.
 */
#ifndef IOLUA_CORE_THREADS_H
#define IOLUA_CORE_THREADS_H

#include "core/engine.h"

#define THREADS_DEPTH_MAX 1024

struct threads;

/* A pool for `depth` (1 .. THREADS_DEPTH_MAX) requests at once. Threads start as they are
 * needed, inherit the caller's CPUs and block all signals. 0 or -errno. */
int threads_open(struct threads **out, unsigned depth);

/* Ask that the request with this tag be given up: one not yet started completes with
 * -ECANCELED; a started IO_POLL too; other started calls run to their end.
 * 0, or -ENOENT when there is no such request waiting. */
int threads_cancel(struct threads *t, uint64_t tag);

unsigned threads_in_flight(const struct threads *t);

/* A descriptor that is readable while completions can be reaped. */
int threads_fd(const struct threads *t);

/* CPU time that the pool's threads have used, ns. */
void threads_cpu(uint64_t *user_ns, uint64_t *system_ns, struct threads *t);

extern const struct engine threads_engine;      /* self: struct threads */

struct sync;

int sync_open(struct sync **out);

extern const struct engine sync_engine;         /* self: struct sync; depth 1 */

#endif
