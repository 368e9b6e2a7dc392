#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "core/dist.h"
#include "core/pace.h"

#define STREAM 0x7061636500000000ull    /* apart from the streams that draw places */

int pace_init(struct pace *p, const struct pace_spec *spec, uint64_t seed, unsigned stream)
{
    if (!(spec->rate > 0 && spec->rate <= PACE_RATE_MAX))
        return -EINVAL;
    *p = (struct pace){ .spec = *spec };
    rng_seed(&p->rng, seed ^ STREAM, stream);
    return 0;
}

static void set_gap(struct pace *p, uint32_t bytes)
{
    p->gap = 1e9 / p->spec.rate * (p->spec.bytes ? bytes : 1);
}

/* Forward by a gap, keeping what is below 1 ns: rates do not drift. */
static void forward(struct pace *p)
{
    double by = p->spec.kind == PACE_POISSON ? dist_exponential(&p->rng, p->gap) : p->gap;
    double whole = floor(p->rest + by);

    p->rest += by - whole;
    p->next += (uint64_t)whole;
}

/* Evenly spaced ones begin at once; of random ones the first comes after a gap as well. */
void pace_start(struct pace *p, uint64_t start, uint32_t bytes)
{
    p->next = start;
    set_gap(p, bytes);
    if (p->spec.kind == PACE_POISSON)
        forward(p);
}

uint64_t pace_take(struct pace *p, uint32_t bytes)
{
    uint64_t due = p->next;

    if (p->spec.bytes)
        set_gap(p, bytes);
    forward(p);
    return due;
}

uint64_t pace_backlog(const struct pace *p, uint64_t now)
{
    return now < p->next ? 0 : 1 + (uint64_t)((double)(now - p->next) / p->gap);
}

void pace_set_rate(struct pace *p, double rate, uint64_t now)
{
    double ahead = p->next > now ? (double)(p->next - now) + p->rest : 0;

    if (!(rate > 0 && rate <= PACE_RATE_MAX))
        return;
    if (ahead > 0) {                    /* the wait that is left shrinks or grows with it */
        ahead *= p->spec.rate / rate;
        p->next = now + (uint64_t)ahead;
        p->rest = ahead - floor(ahead);
    }
    p->gap *= p->spec.rate / rate;
    p->spec.rate = rate;
}

struct pace_result *pace_result_new(const struct pace_spec *spec)
{
    struct pace_result *r = calloc(1, sizeof *r);

    if (!r)
        return NULL;
    for (unsigned i = 0; i < JOB_SIDES; i++)
        hist_reset(&r->service[i]);
    hist_reset(&r->slat);
    r->rate = spec->rate;
    r->bytes = spec->bytes;
    r->backlog_limit = spec->backlog;
    return r;
}

void pace_merge(struct pace_result *into, const struct pace_result *from)
{
    for (unsigned i = 0; i < JOB_SIDES; i++)
        hist_merge(&into->service[i], &from->service[i]);
    hist_merge(&into->slat, &from->slat);
    into->rate += from->rate;
    into->missed += from->missed;
    into->backlog_max += from->backlog_max;
    into->backlog_end += from->backlog_end;
    into->backlog_limit += from->backlog_limit;
}
