/*
 * lengine - the loop's engines: the ring, and a thread pool instead of it or beside it.
 */
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "bind/lloop.h"
#include "core/ringop.h"

#define POOL_TAG UINT64_MAX             /* of the ring's poll on the pool's descriptor */

static int open_ring(struct lloop *p)
{
    struct ring_options o = { .entries = LLOOP_ENTRIES, .flight = LLOOP_FLIGHT,
                              .sq_cpu = -1 };
    int err = ring_open(&p->ring, &o);

    if (err < 0 && !p->why[0])
        snprintf(p->why, sizeof p->why, "io_uring: %s", strerrordesc_np(-err));
    p->no_ring = err < 0;
    return err;
}

static int open_pool(struct lloop *p)
{
    return p->pool ? 0 : threads_open(&p->pool, LLOOP_POOL);
}

/* Does the ring take this kind? Opens it at the first request. */
static bool with_ring(struct lloop *p, unsigned kind)
{
    if (!p->ring && (p->no_ring || open_ring(p) < 0))
        return false;
    return ring_supports(p->ring, kind);
}

/* Into the ring, whose entries are submitted when there is none left. */
static int push_ring(struct ring *r, const struct io_req *q, uint64_t tag)
{
    if (ring_full(r))
        ring_enter(r, 0, 0);
    return ring_full(r) ? -EBUSY : ring_push(r, q, tag);
}

static void watch_pool(struct lloop *p)
{
    struct io_req q = { .kind = IO_POLL, .fd = threads_fd(p->pool), .flags = POLLIN };

    p->credit = 0;
    if (p->ring && !p->pool_watched)
        p->pool_watched = push_ring(p->ring, &q, POOL_TAG) == 0;
}

static int push_pool(struct lloop *p, uint32_t i, const struct io_req *q)
{
    int err = open_pool(p);

    if (err == 0)
        err = threads_engine.prepare(p->pool, q, i);
    if (err < 0)
        return err;
    lloop_slot(p, i)->pooled = true;
    watch_pool(p);
    return 0;
}

int lengine_push(struct lloop *p, uint32_t i, const struct io_req *q)
{
    struct io_req moved;

    if (!with_ring(p, q->kind))
        return push_pool(p, i, q);
    lloop_slot(p, i)->pooled = false;
    p->credit = 0;
    moved = ringop(q);
    return push_ring(p->ring, &moved, i);
}

void lloop_fix(struct lloop *p, struct file *f)
{
    unsigned place = (unsigned)__builtin_ctzll(~p->fixed);

    if (p->no_fixed || p->fixed == UINT64_MAX)
        return;
    if (p->fixed == 0 && !p->files_open)
        p->files_open = ring_open_files(p->ring, LLOOP_FIXED) == 0;
    p->no_fixed = !p->files_open || ring_set_file(p->ring, place, f->fd) < 0;
    if (p->no_fixed)
        return;
    p->fixed |= (uint64_t)1 << place;
    f->fixed = place + 1;
}

void lloop_unfix(lua_State *L, struct file *f)
{
    struct lloop *p = lloop_of(L);
    unsigned place = f->fixed - 1;

    f->fixed = 0;
    if (!p->ring)
        return;
    ring_set_file(p->ring, place, -1);
    p->fixed &= ~((uint64_t)1 << place);
}

const char *lloop_engine(struct lloop *p, unsigned kind)
{
    return with_ring(p, kind) ? "io_uring" : "threads";
}

int lloop_use(struct lloop *p, const char *name)
{
    if (strcmp(name, "threads") == 0) {
        if (p->ring)
            return -EBUSY;
        p->no_ring = true;
        return 0;
    }
    if (strcmp(name, "io_uring") != 0)
        return -EINVAL;
    if (p->ring)
        return 0;
    if (p->no_ring && p->pool)
        return -EBUSY;
    return open_ring(p);
}

unsigned lengine_busy(const struct lloop *p)
{
    unsigned n = p->ring ? ring_in_flight(p->ring) - p->pool_watched : 0;

    return n + (p->pool ? threads_in_flight(p->pool) : 0);
}

int lengine_submit(struct lloop *p, uint64_t wait_ns)
{
    bool pooled = p->pool && threads_in_flight(p->pool);

    if (pooled && p->ring) {
        threads_engine.submit(p->pool, 0, 0);
        watch_pool(p);
    } else if (pooled) {
        return threads_engine.submit(p->pool, wait_ns != 0, wait_ns);
    }
    if (p->ring && ring_in_flight(p->ring))
        return ring_submit(p->ring, wait_ns != 0, wait_ns);
    return wait_ns ? clock_sleep_until(clock_now() + wait_ns) : 0;
}

unsigned lengine_ready(struct lloop *p)
{
    unsigned n = p->ring ? ring_ready(p->ring) : 0;

    return n + (p->pool && threads_in_flight(p->pool) ? threads_engine.ready(p->pool) : 0);
}

static bool next_of_pool(struct lloop *p, struct io_done *d)
{
    if (!p->pool || threads_in_flight(p->pool) == 0 || threads_engine.ready(p->pool) == 0)
        return false;
    *d = threads_engine.at(p->pool, 0);
    threads_engine.consume(p->pool, 1);
    return true;
}

bool lengine_next(struct lloop *p, struct io_done *d)
{
    while (p->ring && ring_ready(p->ring)) {
        *d = ring_at(p->ring, 0);
        ring_consume(p->ring, 1);
        if (__builtin_expect(d->tag != POOL_TAG, 1))
            return true;
        p->pool_watched = false;
    }
    return next_of_pool(p, d);
}

void lengine_cancel(struct lloop *p, uint32_t i)
{
    if (lloop_slot(p, i)->pooled)
        threads_cancel(p->pool, i);
    else
        ring_cancel(p->ring, i);
}

int lengine_close(struct lloop *p, uint64_t grace_ns)
{
    int err = 0, err2 = 0;

    if (p->ring)
        err = ring_close(p->ring, grace_ns);
    if (p->pool)
        err2 = threads_engine.close(p->pool, grace_ns);
    p->ring = NULL;
    p->pool = NULL;
    return err < 0 ? err : err2;
}
