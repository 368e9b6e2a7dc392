/*
 * crewsim - simulated workers, all in one thread and one world: who can go on does, and when
 * nobody can the clock moves.
 */
#include <errno.h>
#include <stdlib.h>

#include "core/crewself.h"
#include "core/sim.h"

static const struct sim *port(const struct worker *w)
{
    return job_rig(w->job)->port;
}

/* The next worker, from `first` on, that can go on now; NULL when all wait for the clock. */
static struct worker *runnable(struct crew *c, const bool *ended, unsigned first)
{
    for (unsigned i = 0; i < c->n; i++) {
        unsigned k = (first + i) % c->n;

        if (!ended[k] && (c->n == 1 || sim_runnable(port(&c->workers[k]))))
            return &c->workers[k];
    }
    return NULL;
}

/* Until when everybody waits. */
static uint64_t wake(const struct crew *c, const bool *ended)
{
    uint64_t at = UINT64_MAX;

    for (unsigned i = 0; i < c->n; i++)
        if (!ended[i] && sim_wake(port(&c->workers[i])) < at)
            at = sim_wake(port(&c->workers[i]));
    return at;
}

/* Stand still until the intervals that have ended are dealt with, or all is to stop. */
static void be_watched(struct crew *c)
{
    uint64_t n = crew_intervals(c);

    if (!c->workers[0].spec.watched || n == 0)
        return;
    pthread_mutex_lock(&c->lock);
    if (n > c->seen)
        crew_wake_watcher(c);
    while (n > c->seen && !atomic_load_explicit(&c->workers[0].live.stop, memory_order_relaxed))
        pthread_cond_wait(&c->watched, &c->lock);
    pthread_mutex_unlock(&c->lock);
}

static void simulate(struct crew *c, bool *ended)
{
    unsigned left = c->n, next = 0;
    int err;

    for (unsigned i = 0; i < c->n; i++)
        crew_start_job(&c->workers[i], 0);
    while (left > 0) {
        struct worker *w = runnable(c, ended, next);

        if (!w) {
            sim_world_advance(c->world, wake(c, ended));
            next = 0;
            continue;
        }
        next = (unsigned)(w - c->workers);
        err = crew_step(w);
        be_watched(c);
        if (err > 0)
            continue;
        ended[next] = true;
        left--;
        crew_finish(w, err);
    }
}

void *crew_simulate(void *arg)
{
    struct crew *c = arg;
    bool *ended = calloc(c->n, sizeof *ended);

    if (sim_world_open(&c->world, c->workers[0].spec.job.rig.seed, c->n > 1) < 0)
        c->workers[0].err = -ENOMEM, c->failed = true;
    for (unsigned i = 0; i < c->n && c->world; i++) {
        c->workers[i].spec.job.rig.world = c->world;
        crew_open_worker(&c->workers[i]);
        c->failed = c->failed || c->workers[i].err < 0;
    }
    if (!ended)
        c->workers[0].err = -ENOMEM;
    else if (!c->failed)
        simulate(c, ended);
    free(ended);
    crew_leave(c, c->n);
    return NULL;
}
