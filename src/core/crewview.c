/*
 * crewview - a crew seen and steered by another thread while it runs.
 */
#include <string.h>

#include "core/crewself.h"

static const struct series *series_of(const struct crew *c, unsigned i)
{
    const struct job *j = atomic_load_explicit(&c->workers[i].shown, memory_order_acquire);

    return j ? job_series(j) : NULL;
}

uint64_t crew_intervals(const struct crew *c)
{
    uint64_t least = UINT64_MAX, most = 0, n;

    for (unsigned i = 0; i < c->n; i++) {
        bool ended = atomic_load_explicit(&c->workers[i].ended, memory_order_acquire);
        const struct series *s = series_of(c, i);

        n = s ? series_count(s) : 0;
        most = n > most ? n : most;
        if (!ended && n < least)
            least = n;
    }
    return least < most ? least : most;
}

void crew_interval(struct series_point *p, struct job_count *counts, const struct crew *c,
                   uint64_t i)
{
    *p = (struct series_point){ .begin = UINT64_MAX };
    memset(counts, 0, JOB_SIDES * sizeof *counts);
    for (unsigned k = 0; k < JOB_SIDES; k++)
        hist_reset(&counts[k].lat);
    for (unsigned w = 0; w < c->n; w++) {
        const struct series *s = series_of(c, w);
        const struct series_point *one = s && i < series_count(s) ? series_at(s, i) : NULL;

        if (!one)
            continue;
        p->begin = one->begin < p->begin ? one->begin : p->begin;
        p->end = one->end > p->end ? one->end : p->end;
        p->depth_mean += one->depth_mean;
        for (unsigned k = 0; k < JOB_SIDES; k++)
            series_take(&counts[k], one, k);
    }
}

void crew_control(struct crew *c, double rate, unsigned depth, int read_percent)
{
    for (unsigned i = 0; i < c->n; i++) {
        struct job_live *live = &c->workers[i].live;

        if (rate > 0)
            atomic_store_explicit(&live->rate, rate, memory_order_relaxed);
        if (depth > 0)
            atomic_store_explicit(&live->depth, depth, memory_order_relaxed);
        if (read_percent >= 0)
            atomic_store_explicit(&live->read_percent, read_percent, memory_order_relaxed);
        atomic_fetch_add_explicit(&live->changes, 1, memory_order_release);
    }
}
