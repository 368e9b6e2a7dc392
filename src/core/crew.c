#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/crewself.h"
#include "core/place.h"
#include "core/sim.h"
#include "core/volume.h"

void crew_open_worker(struct worker *w)
{
    if (w->spec.pinned && !w->crew->simulated)
        w->err = place_pin(&w->spec.cpus, w->message, sizeof w->message);
    if (w->err == 0)
        w->err = job_open(&w->job, &w->spec.job, w->message, sizeof w->message);
    if (w->err == 0 && w->spec.hook.open)
        w->err = w->spec.hook.open(w->spec.hook.arg, w->job, w->message, sizeof w->message);
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

void crew_wake_watcher(struct crew *c)
{
    uint64_t one = 1;

    if (write(c->fd, &one, sizeof one) < 0)
        return;                 /* cannot fail: the counter is far from full */
}

void crew_leave(struct crew *c, unsigned n)
{
    bool last;

    pthread_mutex_lock(&c->lock);
    c->running -= n;
    last = c->running == 0;
    pthread_mutex_unlock(&c->lock);
    if (last)
        crew_wake_watcher(c);
}

void crew_start_job(struct worker *w, uint64_t start)
{
    job_start(w->job, start);
    atomic_store_explicit(&w->shown, w->job, memory_order_release);
}

static void say_failed(char *message, size_t len, const struct job_result *r, int err)
{
    static const char *const side[] = { "read", "write", "fsync" };
    uint64_t ms = r->stuck_age_ns / 1000000;
    bool seconds = ms >= 10000;

    if (err == -ETIME)
        snprintf(message, len, "%llu request%s did not come back: %s at %llu, out for over %llu%s",
                 (unsigned long long)r->stuck, r->stuck == 1 ? "" : "s", side[r->stuck_side],
                 (unsigned long long)r->stuck_pos,
                 (unsigned long long)(seconds ? r->stuck_age_ns / CLOCK_SECOND : ms),
                 seconds ? " s" : " ms");
    else
        snprintf(message, len, "engine stopped with %llu requests in flight: %s",
                 (unsigned long long)r->stuck, strerrordesc_np(-err));
}

/* A worker's error is the engine's, unless a hook has said why. */
void crew_finish(struct worker *w, int err)
{
    const struct job_result *r = job_result(w->job);

    atomic_store_explicit(&w->ended, true, memory_order_release);
    if (err < 0 || (r->error < 0 && !w->spec.job.continue_on_error))
        crew_stop(w->crew);             /* one failure ends the job, not its worker alone */
    if (err < 0) {
        w->err = err;
        if (w->message[0] == 0)
            say_failed(w->message, sizeof w->message, r, err);
    }
}

int crew_step(struct worker *w)
{
    const struct crew_hook *h = &w->spec.hook;

    if (!h->open)
        return job_step(w->job, &w->live);
    return h->step(h->arg, w->job, &w->live, w->message, sizeof w->message);
}

/* The rounds of a worker whose intervals somebody looks at. */
static int work_watched(struct worker *w)
{
    uint64_t n, told = 0;
    int err;

    do {
        err = crew_step(w);
        n = series_count(job_series(w->job));
        if (n > told)
            crew_wake_watcher(w->crew);
        told = n;
    } while (err > 0);
    return err;
}

static void *work(void *arg)
{
    struct worker *w = arg;
    struct crew *c = w->crew;
    int err;

    crew_open_worker(w);
    if (line_up(c, w->err == 0)) {
        crew_start_job(w, c->start);
        if (w->spec.watched)
            err = work_watched(w);
        else if (w->spec.hook.open)
            while ((err = crew_step(w)) > 0)
                continue;
        else
            while ((err = job_step(w->job, &w->live)) > 0)
                continue;
        crew_finish(w, err);
    } else if (w->job) {
        job_result(w->job);             /* closes the engine in its own thread */
    }
    crew_leave(c, 1);
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
        crew_leave(c, 1);
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
    pthread_cond_init(&c->watched, NULL);
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
        if (specs[i].job.rig.sim)
            sim_device_ref(specs[i].job.rig.sim);
        atomic_init(&c->workers[i].live.read_percent, -1);
        if (specs[i].job.rig.volume)
            volume_ref(specs[i].job.rig.volume);
        if (specs[i].job.ledger)
            ledger_ref(specs[i].job.ledger);
        c->simulated = c->simulated || specs[i].job.rig.engine == RIG_SIM;
    }
    *out = c;
    if (!c->simulated)
        start_workers(c);
    else if (start_thread(&c->workers[0], crew_simulate, c) < 0)
        crew_leave(c, n);
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
    pthread_mutex_lock(&c->lock);
    pthread_cond_broadcast(&c->watched);
    pthread_mutex_unlock(&c->lock);
}

void crew_seen(struct crew *c, uint64_t intervals)
{
    uint64_t drop;

    if (read(c->fd, &drop, sizeof drop) < 0)
        drop = 0;               /* it was empty: nothing to take */
    pthread_mutex_lock(&c->lock);
    c->seen = intervals;
    if (c->running == 0)
        crew_wake_watcher(c);        /* it stays readable at the end */
    pthread_cond_broadcast(&c->watched);
    pthread_mutex_unlock(&c->lock);
}

bool crew_ended(struct crew *c)
{
    bool ended;

    pthread_mutex_lock(&c->lock);
    ended = c->running == 0;
    pthread_mutex_unlock(&c->lock);
    return ended;
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

const struct pace_result *crew_paced(const struct crew *c, unsigned i)
{
    return c->workers[i].job && !c->failed ? job_paced(c->workers[i].job) : NULL;
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
        sim_device_unref(c->workers[i].spec.job.rig.sim);
        volume_unref(c->workers[i].spec.job.rig.volume);
        ledger_unref(c->workers[i].spec.job.ledger);
    }
    sim_world_close(c->world);
    pthread_mutex_destroy(&c->lock);
    pthread_cond_destroy(&c->turn);
    pthread_cond_destroy(&c->watched);
    close(c->fd);
    free(c->workers);
    free(c);
}
