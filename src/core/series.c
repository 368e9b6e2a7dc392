#include <errno.h>
#include <stdlib.h>

#include "core/series.h"

#define CHUNK  256u                     /* points */
#define CHUNKS 4096u                    /* a million points: a second each for 12 days */

struct bucket {
    uint32_t index;
    uint64_t count;
};

/* A side's counts with its histogram's buckets in use. */
struct series_side {
    uint64_t ios, bytes, short_ios, errors;
    uint64_t min, max, square_high;
    hist_sum sum, square;
    unsigned used;
    struct bucket buckets[];
};

struct series {
    atomic_ullong count;                /* published */
    struct series_point *chunk[CHUNKS];
};

int series_open(struct series **out)
{
    struct series *s = calloc(1, sizeof *s);

    if (!s)
        return -ENOMEM;
    *out = s;
    return 0;
}

static void drop(struct series_point *p)
{
    for (unsigned i = 0; i < JOB_SIDES; i++)
        free(p->side[i]);
}

void series_close(struct series *s)
{
    if (!s)
        return;
    for (unsigned c = 0; c < CHUNKS && s->chunk[c]; c++) {
        for (unsigned i = 0; i < CHUNK; i++)
            drop(&s->chunk[c][i]);
        free(s->chunk[c]);
    }
    free(s);
}

static struct series_side *squeeze(const struct job_count *c)
{
    struct series_side *side;
    unsigned used = 0, first = hist_bucket(c->lat.min), last = hist_bucket(c->lat.max);

    if (c->lat.count == 0)
        first = 1, last = 0;
    for (unsigned i = first; i <= last; i++)
        used += c->lat.counts[i] > 0;
    side = malloc(sizeof *side + used * sizeof side->buckets[0]);
    if (!side)
        return NULL;
    *side = (struct series_side){ c->ios, c->bytes, c->short_ios, c->errors, c->lat.min,
                                  c->lat.max, c->lat.square_high, c->lat.sum, c->lat.square, 0 };
    for (unsigned i = first; i <= last; i++)
        if (c->lat.counts[i] > 0)
            side->buckets[side->used++] = (struct bucket){ i, c->lat.counts[i] };
    return side;
}

int series_add(struct series *s, uint64_t begin, uint64_t end, double depth_mean,
               const struct job_count *counts)
{
    uint64_t n = atomic_load_explicit(&s->count, memory_order_relaxed);
    struct series_point *p, **chunk;

    if (n / CHUNK >= CHUNKS)
        return -ENOMEM;
    chunk = &s->chunk[n / CHUNK];
    if (!*chunk && !(*chunk = calloc(CHUNK, sizeof **chunk)))
        return -ENOMEM;
    p = &(*chunk)[n % CHUNK];
    p->begin = begin;
    p->end = end;
    p->depth_mean = depth_mean;
    for (unsigned i = 0; i < JOB_SIDES; i++)
        if ((counts[i].ios || counts[i].errors) && !(p->side[i] = squeeze(&counts[i])))
            return -ENOMEM;
    atomic_store_explicit(&s->count, n + 1, memory_order_release);
    return 0;
}

uint64_t series_count(const struct series *s)
{
    return atomic_load_explicit(&s->count, memory_order_acquire);
}

const struct series_point *series_at(const struct series *s, uint64_t i)
{
    return &s->chunk[i / CHUNK][i % CHUNK];
}

void series_take(struct job_count *into, const struct series_point *p, unsigned side)
{
    const struct series_side *s = p->side[side];
    struct hist *h = &into->lat;

    if (!s)
        return;
    into->ios += s->ios;
    into->bytes += s->bytes;
    into->short_ios += s->short_ios;
    into->errors += s->errors;
    for (unsigned i = 0; i < s->used; i++) {
        h->counts[s->buckets[i].index] += s->buckets[i].count;
        h->count += s->buckets[i].count;
    }
    h->min = s->min < h->min ? s->min : h->min;
    h->max = s->max > h->max ? s->max : h->max;
    h->sum += s->sum;
    h->square += s->square;
    h->square_high += s->square_high + (h->square < s->square);
}
