#include <errno.h>
#include <stdlib.h>

#include "core/sim.h"

struct event {
    uint64_t at;                /* virtual ns */
    uint64_t order;             /* of arrival: ties end in this order */
    struct io_done done;
};

struct sim {
    struct sim_spec spec;
    uint64_t now, arrivals;
    uint64_t *free_at;          /* when each channel has ended its work */
    struct event *heap;         /* in flight, the earliest first */
    unsigned count, depth;
    struct io_done *finished;
    unsigned reaped, waiting;   /* of finished: first not consumed, and how many */
};

static int before(const struct event *a, const struct event *b)
{
    return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static void heap_push(struct sim *s, struct event e)
{
    unsigned i = s->count++;

    for (; i > 0 && before(&e, &s->heap[(i - 1) / 2]); i = (i - 1) / 2)
        s->heap[i] = s->heap[(i - 1) / 2];
    s->heap[i] = e;
}

static struct event heap_pop(struct sim *s)
{
    struct event top = s->heap[0], last = s->heap[--s->count];
    unsigned i = 0, child;

    while ((child = 2 * i + 1) < s->count) {
        if (child + 1 < s->count && before(&s->heap[child + 1], &s->heap[child]))
            child++;
        if (!before(&s->heap[child], &last))
            break;
        s->heap[i] = s->heap[child];
        i = child;
    }
    s->heap[i] = last;
    return top;
}

static void release(struct sim *s)
{
    free(s->free_at);
    free(s->heap);
    free(s->finished);
    free(s);
}

int sim_open(struct sim **out, const struct sim_spec *spec, unsigned depth)
{
    struct sim *s;

    if (spec->channels < 1 || spec->channels > 4096 || depth < 1)
        return -EINVAL;
    s = calloc(1, sizeof *s);
    if (!s)
        return -ENOMEM;
    s->spec = *spec;
    s->depth = depth;
    s->free_at = calloc(spec->channels, sizeof *s->free_at);
    s->heap = calloc(depth, sizeof *s->heap);
    s->finished = calloc(depth, sizeof *s->finished);
    if (!s->free_at || !s->heap || !s->finished) {
        release(s);
        return -ENOMEM;
    }
    *out = s;
    return 0;
}

/* The channel that is free first. */
static uint64_t *next_channel(struct sim *s)
{
    uint64_t *best = &s->free_at[0];

    for (unsigned i = 1; i < s->spec.channels; i++)
        if (s->free_at[i] < *best)
            best = &s->free_at[i];
    return best;
}

static int result(const struct sim *s, const struct io_req *q)
{
    if (q->kind == IO_NOP || q->kind == IO_FSYNC)
        return 0;
    if (q->pos >= s->spec.size)
        return 0;
    return (int)(q->len < s->spec.size - q->pos ? q->len : s->spec.size - q->pos);
}

static int prepare(void *self, const struct io_req *q, uint64_t tag)
{
    struct sim *s = self;
    uint64_t *channel = next_channel(s);

    if (s->count + s->waiting >= s->depth)
        return -EBUSY;
    *channel = (*channel > s->now ? *channel : s->now) + s->spec.service_ns;
    heap_push(s, (struct event){ *channel, s->arrivals++, { tag, result(s, q) } });
    return 0;
}

/* Everything due by now becomes reapable. */
static void collect(struct sim *s)
{
    while (s->count > 0 && s->heap[0].at <= s->now)
        s->finished[(s->reaped + s->waiting++) % s->depth] = heap_pop(s).done;
}

static int submit(void *self, unsigned wait, uint64_t wait_ns)
{
    struct sim *s = self;
    uint64_t until = s->now + wait_ns;

    collect(s);
    while (s->waiting < wait && s->count > 0) {
        if (s->heap[0].at > until) {
            s->now = until;
            return -ETIME;
        }
        s->now = s->heap[0].at;
        collect(s);
    }
    if (s->waiting < wait) {            /* nothing will come: the time passes */
        s->now = until;
        return -ETIME;
    }
    return 0;
}

static unsigned ready(void *self)
{
    return ((struct sim *)self)->waiting;
}

static struct io_done at(void *self, unsigned i)
{
    struct sim *s = self;

    return s->finished[(s->reaped + i) % s->depth];
}

static void consume(void *self, unsigned n)
{
    struct sim *s = self;

    s->reaped = (s->reaped + n) % s->depth;
    s->waiting -= n;
}

static uint64_t now(void *self)
{
    return ((struct sim *)self)->now;
}

static int sim_close(void *self, uint64_t grace_ns)
{
    (void)grace_ns;
    release(self);
    return 0;
}

const struct engine sim_engine = {
    "sim", prepare, submit, ready, at, consume, now, sim_close,
};
