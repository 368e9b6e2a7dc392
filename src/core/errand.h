/*
 * errand - work that blocks, done by threads: started, waited for through a descriptor, joined.
 *
 * The threads begin together. fn returns 0 or -errno and looks at *stop between operations.
 * arg stays the caller's until errand_close.
 */
#ifndef IOLUA_CORE_ERRAND_H
#define IOLUA_CORE_ERRAND_H

#include <stdatomic.h>
#include <stdint.h>

struct errand;

typedef int errand_fn(void *arg, unsigned thread, const atomic_bool *stop);

/* From the first thread's start to the last one's end; CPU times of all. */
struct errand_times {
    uint64_t begin_ns, end_ns, user_ns, system_ns;
};

/* Start 1..1024 threads. 0 or -errno. */
int errand_start(struct errand **out, unsigned threads, errand_fn *fn, void *arg);

/* Readable once all have ended. */
int errand_fd(const struct errand *e);

/* Ask them to end. */
void errand_stop(struct errand *e);

/* Wait for all. 0, or the first -errno that a thread returned. */
int errand_join(struct errand *e, struct errand_times *t);

/* Stop, join, free; NULL is allowed. */
void errand_close(struct errand *e);

#endif
