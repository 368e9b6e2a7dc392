#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/dist.h"
#include "core/simdata.h"
#include "core/simdevice.h"

#define SECOND 1000000000ull

int sim_bus_new(struct sim_bus **out, uint64_t bandwidth, uint64_t overhead)
{
    struct sim_bus *b;

    if (bandwidth == 0)
        return -EINVAL;
    b = calloc(1, sizeof *b);
    if (!b)
        return -ENOMEM;
    atomic_init(&b->refs, 1);
    b->bandwidth = bandwidth;
    b->overhead = overhead;
    *out = b;
    return 0;
}

static bool valid(const struct sim_device_spec *s)
{
    if (s->channels < 1 || s->channels > SIM_CHANNELS_MAX || s->phases > SIM_LIST_MAX ||
        s->stalls > SIM_LIST_MAX || s->errors > SIM_LIST_MAX || s->corruptions > SIM_LIST_MAX ||
        s->seek_max < s->seek_min)
        return false;
    return s->cache_lines == 0 || s->cache_line > 0;
}

int sim_device_new(struct sim_device **out, const struct sim_device_spec *spec,
                   struct sim_bus *bus)
{
    struct sim_device *d;

    if (!valid(spec))
        return -EINVAL;
    d = calloc(1, sizeof *d);
    if (!d)
        return -ENOMEM;
    atomic_init(&d->refs, 1);
    d->spec = *spec;
    if (spec->data && !(d->data = simdata_open(spec->size))) {
        free(d);
        return -ENOMEM;
    }
    d->bus = bus;
    if (bus)
        atomic_fetch_add(&bus->refs, 1);
    *out = d;
    return 0;
}

void sim_bus_unref(struct sim_bus *b)
{
    if (b && atomic_fetch_sub(&b->refs, 1) == 1)
        free(b);
}

struct sim_device *sim_device_ref(struct sim_device *d)
{
    atomic_fetch_add(&d->refs, 1);
    return d;
}

void sim_device_unref(struct sim_device *d)
{
    if (!d || atomic_fetch_sub(&d->refs, 1) != 1)
        return;
    sim_bus_unref(d->bus);
    simdata_close(d->data, d->spec.size);
    free(d);
}

int sim_state_open(struct sim_state *s, struct sim_device *d, uint64_t seed, unsigned stream)
{
    memset(s, 0, sizeof *s);
    s->head = calloc(d->spec.channels, sizeof *s->head);
    s->line = calloc(d->spec.cache_lines ? d->spec.cache_lines : 1, sizeof *s->line);
    if (!s->head || !s->line) {
        free(s->head);
        free(s->line);
        return -ENOMEM;
    }
    rng_seed(&s->rng, seed, stream);
    s->device = sim_device_ref(d);
    return 0;
}

void sim_state_close(struct sim_state *s)
{
    free(s->head);
    free(s->line);
    sim_device_unref(s->device);
}

static uint64_t draw(const struct sim_time *t, struct rng *r)
{
    double ns;

    switch (t->kind) {
    case SIM_FIXED:
        return t->a;
    case SIM_EXPONENTIAL:
        return (uint64_t)llround(dist_exponential(r, (double)t->a));
    case SIM_UNIFORM:
        return t->a + rng_below(r, t->b - t->a + 1);
    case SIM_NORMAL:
        break;
    }
    do
        ns = (double)t->a + (double)t->b * dist_normal(r);
    while (!(ns >= 0));
    return (uint64_t)llround(ns);
}

/* The service of operations that begin now. */
static const struct sim_time *service(const struct sim_device_spec *d, uint64_t now)
{
    const struct sim_time *t = &d->service;

    for (unsigned i = 0; i < d->phases && d->phase[i].at <= now; i++)
        t = &d->phase[i].service;
    return t;
}

/* Seek time grows with the root of the distance, as the arm speeds up and slows down. */
static uint64_t seek(struct sim_state *s, unsigned channel, uint64_t pos)
{
    const struct sim_device_spec *d = &s->device->spec;
    uint64_t head = s->head[channel], far = pos > head ? pos - head : head - pos;

    if (far == 0 || d->seek_max == 0)
        return 0;
    return d->seek_min + (uint64_t)llround((double)(d->seek_max - d->seek_min) *
                                           sqrt((double)far / (double)d->size));
}

/* Are all lines of the request in the cache? Afterwards they are. */
static bool cached(struct sim_state *s, const struct io_req *q, uint64_t bytes)
{
    const struct sim_device_spec *d = &s->device->spec;
    bool hit = true;

    if (d->cache_lines == 0 || bytes == 0)
        return false;
    for (uint64_t n = q->pos / d->cache_line; n <= (q->pos + bytes - 1) / d->cache_line; n++) {
        uint64_t *line = &s->line[n % d->cache_lines];

        hit = hit && *line == n + 1;
        *line = n + 1;
    }
    return hit && (q->kind == IO_READ || q->kind == IO_READ_FIXED);
}

/* The stall that begins with this operation, or NULL. */
static const struct sim_stall *stall(struct sim_state *s, uint64_t now)
{
    const struct sim_device_spec *d = &s->device->spec;

    s->begun++;
    for (unsigned i = 0; i < d->stalls; i++) {
        const struct sim_stall *t = &d->stall[i];

        if (s->stalled[i] || (t->operation ? t->operation != s->begun : t->at > now))
            continue;
        s->stalled[i] = true;
        return t;
    }
    return NULL;
}

/* -errno of the fault that a request of `bytes` meets, or 0. */
static int fault(struct sim_state *s, const struct io_req *q, uint64_t bytes, bool write)
{
    const struct sim_device_spec *d = &s->device->spec;

    for (unsigned i = 0; i < d->errors; i++) {
        const struct sim_error *e = &d->error[i];

        if (!(write ? e->writes : e->reads) || (e->count && s->failed[i] >= e->count) ||
            q->pos >= e->offset + e->bytes || q->pos + bytes <= e->offset)
            continue;
        s->failed[i]++;
        return e->err;
    }
    return 0;
}

static bool moves_data(const struct io_req *q)
{
    return q->kind == IO_READ || q->kind == IO_READ_FIXED || q->kind == IO_WRITE ||
           q->kind == IO_WRITE_FIXED;
}

uint64_t sim_state_begin(struct sim_state *s, int *res, const struct io_req *q, unsigned channel,
                         uint64_t now)
{
    const struct sim_device_spec *d = &s->device->spec;
    bool write = q->kind == IO_WRITE || q->kind == IO_WRITE_FIXED;
    uint64_t bytes = 0, ns;
    const struct sim_stall *t = stall(s, now);

    if (moves_data(q) && q->pos < d->size)
        bytes = q->len < d->size - q->pos ? q->len : d->size - q->pos;
    *res = moves_data(q) ? fault(s, q, bytes, write) : 0;
    if (*res == 0)
        *res = (int)bytes;
    if (s->device->data && *res > 0)
        simdata_move(s->device, q, (size_t)bytes, write);
    if (cached(s, q, bytes)) {
        ns = draw(&d->cache_service, &s->rng);
    } else {
        ns = draw(service(d, now), &s->rng);
        if (moves_data(q)) {
            ns += seek(s, channel, q->pos);
            s->head[channel] = q->pos + bytes;
        }
        if (d->bandwidth)
            ns += (uint64_t)(((unsigned __int128)bytes * SECOND + d->bandwidth / 2) /
                             d->bandwidth);
    }
    ns = t ? t->time : ns;
    return ns ? ns : 1;                 /* else a closed loop would stand still for ever */
}
