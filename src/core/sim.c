#include <errno.h>
#include <stdlib.h>

#include "core/sim.h"

#define SECOND 1000000000ull

enum stage { ARRIVE, SERVED, ARRIVED_AT_HOST };

/* One operation under way. */
struct request {
    struct io_req q;
    uint64_t tag;
    struct sim *port;
    struct device *device;
    unsigned channel;
    int res;
    struct request *next;       /* in the device's queue, or of the port's free ones */
};

struct event {
    uint64_t at;                /* virtual ns */
    uint64_t order;             /* ties happen in the order in which they were caused */
    enum stage stage;
    struct request *request;
};

struct bus {
    struct sim_bus *bus;
    uint64_t free_at;
};

struct device {
    struct sim_state state;
    struct bus *bus;
    unsigned *idle, idle_count; /* channels, the last freed on top */
    struct request *first, *last;       /* waiting for a channel */
};

struct sim_world {
    uint64_t now, caused, seed;
    bool driven;
    struct event *heap;         /* the earliest first */
    unsigned count, room;
    struct device *devices[SIM_DEVICES_MAX];
    struct bus *buses[SIM_DEVICES_MAX];
    unsigned device_count, bus_count;
};

struct sim {
    struct sim_world *world;
    bool own;                   /* the world is the port's */
    unsigned depth, flying;     /* requests not yet consumed: at most, and now */
    struct request *requests, *free;
    struct io_done *finished;
    unsigned reaped, waiting;   /* of finished: first not consumed, and how many */
    unsigned wanted;
    uint64_t wake;
    uint64_t distance;          /* ns added to every operation */
};

static int before(const struct event *a, const struct event *b)
{
    return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static void cause(struct sim_world *w, uint64_t at, enum stage stage, struct request *r)
{
    struct event e = { at, w->caused++, stage, r };
    unsigned i = w->count++;

    for (; i > 0 && before(&e, &w->heap[(i - 1) / 2]); i = (i - 1) / 2)
        w->heap[i] = w->heap[(i - 1) / 2];
    w->heap[i] = e;
}

static struct event heap_pop(struct sim_world *w)
{
    struct event top = w->heap[0], last = w->heap[--w->count];
    unsigned i = 0, child;

    while ((child = 2 * i + 1) < w->count) {
        if (child + 1 < w->count && before(&w->heap[child + 1], &w->heap[child]))
            child++;
        if (!before(&w->heap[child], &last))
            break;
        w->heap[i] = w->heap[child];
        i = child;
    }
    w->heap[i] = last;
    return top;
}

/* When an operation of so many bytes, next on the bus, has passed it. */
static uint64_t pass_bus(struct sim_world *w, struct bus *b, uint64_t bytes)
{
    uint64_t from = b->free_at > w->now ? b->free_at : w->now, rate = b->bus->bandwidth;

    b->free_at = from + b->bus->overhead +
                 (uint64_t)(((unsigned __int128)bytes * SECOND + rate / 2) / rate);
    return b->free_at;
}

static void serve(struct sim_world *w, struct device *d, struct request *r)
{
    uint64_t ns;

    r->channel = d->idle[--d->idle_count];
    ns = sim_state_begin(&d->state, &r->res, &r->q, r->channel, w->now);
    cause(w, w->now + ns, SERVED, r);
}

static void arrive(struct sim_world *w, struct request *r)
{
    struct device *d = r->device;

    if (d->idle_count > 0) {
        serve(w, d, r);
        return;
    }
    r->next = NULL;
    if (d->first)
        d->last->next = r;
    else
        d->first = r;
    d->last = r;
}

static void deliver(struct request *r)
{
    struct sim *s = r->port;

    s->finished[(s->reaped + s->waiting++) % s->depth] = (struct io_done){ r->tag, r->res };
    r->next = s->free;
    s->free = r;
}

/* On its way to whoever asked. */
static void return_at(struct sim_world *w, uint64_t at, struct request *r)
{
    if (at + r->port->distance > w->now)
        cause(w, at + r->port->distance, ARRIVED_AT_HOST, r);
    else
        deliver(r);
}

static bool is_write(const struct request *r)
{
    return r->q.kind == IO_WRITE || r->q.kind == IO_WRITE_FIXED;
}

/* A channel is free again; what was read goes on to the host. */
static void served(struct sim_world *w, struct request *r)
{
    struct device *d = r->device;
    struct request *next = d->first;

    d->idle[d->idle_count++] = r->channel;
    if (next) {
        d->first = next->next;
        serve(w, d, next);
    }
    if (d->bus && !is_write(r) && r->res > 0)
        return_at(w, pass_bus(w, d->bus, (uint64_t)r->res), r);
    else
        return_at(w, w->now, r);
}

static void happen(struct sim_world *w)
{
    struct event e = heap_pop(w);

    w->now = e.at;
    switch (e.stage) {
    case ARRIVE:
        arrive(w, e.request);
        break;
    case SERVED:
        served(w, e.request);
        break;
    case ARRIVED_AT_HOST:
        deliver(e.request);
        break;
    }
}

void sim_world_advance(struct sim_world *w, uint64_t limit)
{
    if (w->count > 0 && w->heap[0].at <= limit)
        happen(w);
    else if (limit > w->now)
        w->now = limit;
}

uint64_t sim_world_now(const struct sim_world *w)
{
    return w->now;
}

int sim_world_open(struct sim_world **out, uint64_t seed, bool driven)
{
    struct sim_world *w = calloc(1, sizeof *w);

    if (!w)
        return -ENOMEM;
    w->seed = seed;
    w->driven = driven;
    *out = w;
    return 0;
}

static void free_device(struct device *d)
{
    sim_state_close(&d->state);
    free(d->idle);
    free(d);
}

void sim_world_close(struct sim_world *w)
{
    if (!w)
        return;
    for (unsigned i = 0; i < w->device_count; i++)
        free_device(w->devices[i]);
    for (unsigned i = 0; i < w->bus_count; i++)
        free(w->buses[i]);
    free(w->heap);
    free(w);
}

static struct bus *find_bus(struct sim_world *w, struct sim_bus *bus)
{
    struct bus *b;

    for (unsigned i = 0; i < w->bus_count; i++)
        if (w->buses[i]->bus == bus)
            return w->buses[i];
    b = calloc(1, sizeof *b);           /* fewer buses than devices: there is room */
    if (b) {
        b->bus = bus;
        w->buses[w->bus_count++] = b;
    }
    return b;
}

static struct device *new_device(struct sim_world *w, struct sim_device *from)
{
    struct device *d = calloc(1, sizeof *d);
    unsigned channels = from->spec.channels;

    if (!d)
        return NULL;
    d->idle = calloc(channels, sizeof *d->idle);
    if (!d->idle || (from->bus && !(d->bus = find_bus(w, from->bus))) ||
        sim_state_open(&d->state, from, w->seed, w->device_count) < 0) {
        free(d->idle);
        free(d);
        return NULL;
    }
    for (unsigned i = 0; i < channels; i++)
        d->idle[d->idle_count++] = channels - 1 - i;
    return d;
}

int sim_world_device(struct sim_world *w, struct sim_device *d)
{
    for (unsigned i = 0; i < w->device_count; i++)
        if (w->devices[i]->state.device == d)
            return (int)i;
    if (w->device_count == SIM_DEVICES_MAX)
        return -ENOSPC;
    w->devices[w->device_count] = new_device(w, d);
    return w->devices[w->device_count] ? (int)w->device_count++ : -ENOMEM;
}

static void release(struct sim *s)
{
    if (s->own)
        sim_world_close(s->world);
    free(s->requests);
    free(s->finished);
    free(s);
}

/* A request causes one event at a time: the heap has room for those of all ports. */
static int make_room(struct sim_world *w, unsigned depth)
{
    struct event *heap = realloc(w->heap, (w->room + depth) * sizeof *heap);

    if (!heap)
        return -ENOMEM;
    w->heap = heap;
    w->room += depth;
    return 0;
}

int sim_open(struct sim **out, struct sim_world *w, uint64_t seed, unsigned depth)
{
    struct sim *s = calloc(1, sizeof *s);

    if (!s)
        return -ENOMEM;
    s->own = w == NULL;
    s->depth = depth;
    if (!w && sim_world_open(&w, seed, false) < 0) {
        free(s);
        return -ENOMEM;
    }
    s->world = w;
    s->requests = calloc(depth, sizeof *s->requests);
    s->finished = calloc(depth, sizeof *s->finished);
    if (!s->requests || !s->finished || make_room(w, depth) < 0) {
        release(s);
        return -ENOMEM;
    }
    for (unsigned i = depth; i-- > 0; s->free = &s->requests[i])
        s->requests[i].next = s->free;
    *out = s;
    return 0;
}

void sim_set_distance(struct sim *s, uint64_t ns)
{
    s->distance = ns;
}

int sim_device(struct sim *s, struct sim_device *d)
{
    return sim_world_device(s->world, d);
}

static int prepare(void *self, const struct io_req *q, uint64_t tag)
{
    struct sim *s = self;
    struct sim_world *w = s->world;
    struct request *r = s->free;

    if (s->flying >= s->depth)
        return -EBUSY;
    if (q->fd < 0 || (unsigned)q->fd >= w->device_count)
        return -EBADF;
    s->free = r->next;
    s->flying++;
    *r = (struct request){ .q = *q, .tag = tag, .port = s, .device = w->devices[q->fd] };
    if (r->device->bus && is_write(r))
        cause(w, pass_bus(w, r->device->bus, q->len), ARRIVE, r);
    else
        arrive(w, r);
    return 0;
}

/* Everything due by now has happened. */
static void catch_up(struct sim_world *w)
{
    while (w->count > 0 && w->heap[0].at <= w->now)
        happen(w);
}

static int submit(void *self, unsigned wait, uint64_t wait_ns)
{
    struct sim *s = self;
    struct sim_world *w = s->world;
    uint64_t until = w->now + wait_ns;

    catch_up(w);
    s->wanted = wait;
    s->wake = until;
    if (w->driven)
        return s->waiting < wait ? -ETIME : 0;
    while (s->waiting < wait) {
        if (w->now >= until)
            return -ETIME;
        sim_world_advance(w, until);
    }
    catch_up(w);
    return 0;
}

bool sim_runnable(const struct sim *s)
{
    return s->waiting >= s->wanted || s->world->now >= s->wake;
}

uint64_t sim_wake(const struct sim *s)
{
    return s->wake;
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
    s->flying -= n;
    s->wanted = 0;              /* what was waited for has been taken: go on */
}

static uint64_t now(void *self)
{
    return ((struct sim *)self)->world->now;
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
