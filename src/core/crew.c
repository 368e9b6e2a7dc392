#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/crew.h"
#include "core/place.h"

#define CACHE_LINE 64

struct worker {
    struct crew *crew;
    struct crew_spec spec;
    pthread_t thread;
    bool started;
    struct job *job;            /* NULL until opened */
    int err;
    char message[CREW_TEXT];
    _Alignas(CACHE_LINE) struct job_live live;
};

struct crew {
    struct worker *workers;
    unsigned n;
    bool simulated, joined;
    int fd;
    pthread_mutex_t lock;
    pthread_cond_t turn;
    unsigned arrived, running;  /* at the start line; not yet ended */
    bool failed;                /* somebody cannot start: nobody does */
    uint64_t start;
};

static void open_worker(struct worker *w)
{
    if (w->spec.pinned)
        w->err = place_pin(&w->spec.cpus, w->message, sizeof w->message);
    if (w->err == 0)
        w->err = job_open(&w->job, &w->spec.job, w->message, sizeof w->message);
}

/* Wait at the start line until all have arrived. Returns false when one of them failed. */
static bool line_up(struct crew *c, bool fit)
{
    bool go;

    pthread_mutex_lock(&c->lock);
    c->failed = c->failed || !fit;
    if (++c->arrived == c->n) {
        c->start = clock_now();
        pthread_cond_broadcast(&c->turn);
    }
    while (c->arrived < c->n)
        pthread_cond_wait(&c->turn, &c->lock);
    go = !c->failed;
    pthread_mutex_unlock(&c->lock);
    return go;
}

static void leave(struct crew *c, unsigned n)
{
    uint64_t one = 1;
    bool last;

    pthread_mutex_lock(&c->lock);
    c->running -= n;
    last = c->running == 0;
    pthread_mutex_unlock(&c->lock);
    if (last && write(c->fd, &one, sizeof one) < 0)
        return;                 /* cannot fail: an empty counter */
}

static void finish(struct worker *w, int err)
{
    const struct job_result *r = job_result(w->job);

    if (err < 0) {
        w->err = err;
        snprintf(w->message, sizeof w->message, err == -ETIME
                 ? "%llu requests did not come back: %s" : "engine stopped with %llu requests "
                 "in flight: %s", (unsigned long long)r->stuck, strerrordesc_np(-err));
    }
}

static void *work(void *arg)
{
    struct worker *w = arg;
    struct crew *c = w->crew;
    int err;

    open_worker(w);
    if (line_up(c, w->err == 0)) {
        job_start(w->job, c->start);
        do
            err = job_step(w->job, &w->live);
        while (err > 0);
        finish(w, err);
    } else if (w->job) {
        job_result(w->job);             /* closes the engine in its own thread */
    }
    leave(c, 1);
    return NULL;
}

/* The worker whose clock is behind all others', NULL when all have ended. */
static struct worker *earliest(struct crew *c, const bool *ended)
{
    struct worker *best = NULL;
    uint64_t at = UINT64_MAX;

    for (unsigned i = 0; i < c->n; i++)
        if (!ended[i] && job_now(c->workers[i].job) < at) {
            best = &c->workers[i];
            at = job_now(best->job);
        }
    return best;
}

static void simulate(struct crew *c, bool *ended)
{
    struct worker *w;
    int err;

    for (unsigned i = 0; i < c->n; i++)
        job_start(c->workers[i].job, 0);
    while ((w = earliest(c, ended)) != NULL) {
        err = job_step(w->job, &w->live);
        if (err > 0)
            continue;
        ended[w - c->workers] = true;
        finish(w, err);
    }
}

static void *work_simulated(void *arg)
{
    struct crew *c = arg;
    bool *ended = calloc(c->n, sizeof *ended);

    for (unsigned i = 0; i < c->n; i++) {
        open_worker(&c->workers[i]);
        c->failed = c->failed || c->workers[i].err < 0;
    }
    if (!ended)
        c->workers[0].err = -ENOMEM;
    else if (!c->failed)
        simulate(c, ended);
    free(ended);
    leave(c, c->n);
    return NULL;
}

/* Threads start with all signals blocked. 0 or -errno. */
static int start_thread(struct worker *w, void *(*fn)(void *), void *arg)
{
    sigset_t all, old;
    int err;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    err = pthread_create(&w->thread, NULL, fn, arg);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    w->started = err == 0;
    return -err;
}

/* A worker whose thread could not be made stands at the line as failed, for the others. */
static void start_workers(struct crew *c)
{
    for (unsigned i = 0; i < c->n; i++) {
        struct worker *w = &c->workers[i];

        int err = start_thread(w, work, w);

        if (err == 0)
            continue;           /* from here w->err is the thread's */
        w->err = err;
        snprintf(w->message, sizeof w->message, "worker %u: %s", i, strerrordesc_np(-w->err));
        pthread_mutex_lock(&c->lock);
        c->failed = true;
        if (++c->arrived == c->n)
            pthread_cond_broadcast(&c->turn);
        pthread_mutex_unlock(&c->lock);
        leave(c, 1);
    }
}

static struct crew *allocate(unsigned n)
{
    struct crew *c = calloc(1, sizeof *c);

    if (!c)
        return NULL;
    c->n = c->running = n;
    c->workers = aligned_alloc(CACHE_LINE, n * sizeof *c->workers);
    c->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (!c->workers || c->fd < 0) {
        if (c->fd >= 0)
            close(c->fd);
        free(c->workers);
        free(c);
        return NULL;
    }
    memset(c->workers, 0, n * sizeof *c->workers);
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->turn, NULL);
    return c;
}

int crew_start(struct crew **out, const struct crew_spec *specs, unsigned n)
{
    struct crew *c;

    if (n < 1 || n > CREW_MAX)
        return -EINVAL;
    c = allocate(n);
    if (!c)
        return -ENOMEM;
    for (unsigned i = 0; i < n; i++) {
        c->workers[i].crew = c;
        c->workers[i].spec = specs[i];
        if (specs[i].job.rig.file)
            file_ref(specs[i].job.rig.file);
        c->simulated = c->simulated || specs[i].job.rig.engine == RIG_SIM;
    }
    *out = c;
    if (!c->simulated)
        start_workers(c);
    else if (start_thread(&c->workers[0], work_simulated, c) < 0)
        leave(c, n);
    return 0;
}

int crew_fd(const struct crew *c)
{
    return c->fd;
}

void crew_progress(uint64_t *ios, uint64_t *bytes, const struct crew *c)
{
    *ios = *bytes = 0;
    for (unsigned i = 0; i < c->n; i++) {
        *ios += atomic_load_explicit(&c->workers[i].live.ios, memory_order_relaxed);
        *bytes += atomic_load_explicit(&c->workers[i].live.bytes, memory_order_relaxed);
    }
}

void crew_stop(struct crew *c)
{
    for (unsigned i = 0; i < c->n; i++)
        atomic_store_explicit(&c->workers[i].live.stop, true, memory_order_relaxed);
}

int crew_join(struct crew *c, char *message, size_t len)
{
    for (unsigned i = 0; i < c->n && !c->joined; i++)
        if (c->workers[i].started)
            pthread_join(c->workers[i].thread, NULL);
    c->joined = true;
    for (unsigned i = 0; i < c->n; i++)
        if (c->workers[i].err < 0) {
            snprintf(message, len, "%s", c->workers[i].message);
            return c->workers[i].err;
        }
    return 0;
}

unsigned crew_count(const struct crew *c)
{
    return c->n;
}

const struct job_result *crew_result(const struct crew *c, unsigned i)
{
    return c->workers[i].job && !c->failed ? job_result(c->workers[i].job) : NULL;
}

const struct rig *crew_rig(const struct crew *c, unsigned i)
{
    return c->workers[i].job ? job_rig(c->workers[i].job) : NULL;
}

void crew_close(struct crew *c)
{
    char message[CREW_TEXT];

    crew_stop(c);
    crew_join(c, message, sizeof message);
    for (unsigned i = 0; i < c->n; i++) {
        if (c->workers[i].job)
            job_close(c->workers[i].job);
        file_unref(c->workers[i].spec.job.rig.file);
    }
    pthread_mutex_destroy(&c->lock);
    pthread_cond_destroy(&c->turn);
    close(c->fd);
    free(c->workers);
    free(c);
}
