/*
 * errand - the threads of blocking work.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/errand.h"

#define THREADS_MAX 1024u

struct worker {
    struct errand *errand;
    pthread_t thread;
    unsigned number;
    int err;
    struct errand_times times;
};

struct errand {
    errand_fn *fn;
    void *arg;
    int fd;                     /* eventfd, written by the last to end */
    unsigned threads;           /* that were made */
    bool joined;
    atomic_bool stop;
    atomic_uint running;
    pthread_mutex_t gate;       /* held by the starter until all are made */
    struct worker worker[];
};

static uint64_t ns_of(struct timeval t)
{
    return (uint64_t)t.tv_sec * CLOCK_SECOND + (uint64_t)t.tv_usec * 1000;
}

static void *work(void *arg)
{
    struct worker *w = arg;
    struct errand *e = w->errand;
    struct rusage u;
    uint64_t one = 1;

    pthread_mutex_lock(&e->gate);
    pthread_mutex_unlock(&e->gate);
    w->times.begin_ns = clock_now();
    w->err = atomic_load(&e->stop) ? -ECANCELED : e->fn(e->arg, w->number, &e->stop);
    w->times.end_ns = clock_now();
    getrusage(RUSAGE_THREAD, &u);
    w->times.user_ns = ns_of(u.ru_utime);
    w->times.system_ns = ns_of(u.ru_stime);
    if (atomic_fetch_sub(&e->running, 1) == 1 && write(e->fd, &one, sizeof one) < 0)
        w->err = w->err ? w->err : -errno;
    return NULL;
}

/* Make the threads, which wait at the gate. */
static int make(struct errand *e, unsigned threads)
{
    sigset_t all, old;
    int err = 0;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    for (; e->threads < threads && err == 0; e->threads += err == 0) {
        struct worker *w = &e->worker[e->threads];

        *w = (struct worker){ .errand = e, .number = e->threads };
        err = pthread_create(&w->thread, NULL, work, w);
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return -err;
}

int errand_start(struct errand **out, unsigned threads, errand_fn *fn, void *arg)
{
    struct errand *e;
    int err;

    if (threads < 1 || threads > THREADS_MAX)
        return -EINVAL;
    e = calloc(1, sizeof *e + threads * sizeof e->worker[0]);
    if (!e)
        return -ENOMEM;
    e->fn = fn;
    e->arg = arg;
    e->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (e->fd < 0) {
        err = -errno;
        free(e);
        return err;
    }
    pthread_mutex_init(&e->gate, NULL);
    pthread_mutex_lock(&e->gate);
    atomic_store(&e->running, threads);
    err = make(e, threads);
    if (err < 0)
        errand_stop(e);
    pthread_mutex_unlock(&e->gate);
    if (err < 0)
        errand_close(e);
    else
        *out = e;
    return err;
}

int errand_fd(const struct errand *e)
{
    return e->fd;
}

void errand_stop(struct errand *e)
{
    atomic_store(&e->stop, true);
}

int errand_join(struct errand *e, struct errand_times *t)
{
    int err = 0;

    *t = (struct errand_times){ .begin_ns = UINT64_MAX };
    for (unsigned i = 0; i < e->threads; i++) {
        struct worker *w = &e->worker[i];

        if (!e->joined)
            pthread_join(w->thread, NULL);
        t->begin_ns = w->times.begin_ns < t->begin_ns ? w->times.begin_ns : t->begin_ns;
        t->end_ns = w->times.end_ns > t->end_ns ? w->times.end_ns : t->end_ns;
        t->user_ns += w->times.user_ns;
        t->system_ns += w->times.system_ns;
        err = err ? err : w->err;
    }
    e->joined = true;
    return err;
}

void errand_close(struct errand *e)
{
    struct errand_times t;

    if (!e)
        return;
    errand_stop(e);
    errand_join(e, &t);
    pthread_mutex_destroy(&e->gate);
    close(e->fd);
    free(e);
}
