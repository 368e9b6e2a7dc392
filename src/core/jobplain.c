/*
 * jobplain - the closed loop of operations of one size: nothing here that it does not need.
 */
#include <errno.h>

#include "core/jobself.h"

INLINE void record(struct job *j, uint64_t key, uint64_t now, uint64_t count)
{
    unsigned side = key & ((1u << SIDE_BITS) - 1);
    struct job_count *c = &j->result->side[side];

    c->ios += count;
    c->bytes += count * (uint64_t)j->expect[side];
    hist_record(&c->lat, (now - j->start - (key >> SIDE_BITS)) & TIME_MASK, count);
}

INLINE unsigned side_of(uint64_t tag)
{
    return (unsigned)(tag >> SLOT_BITS) & ((1u << SIDE_BITS) - 1);
}

/* A completion that did not move what was asked: an error, a short transfer, or try again. */
static __attribute__((noinline)) void odd(struct job *j, struct io_done d, uint64_t now,
                                          bool counts)
{
    unsigned side = side_of(d.tag);
    struct job_count *c = &j->result->side[side];

    if (d.res == -EAGAIN || d.res == -EINTR) {
        j->retry[j->retry_count++] = d.tag;
        return;
    }
    j->free[j->free_count++] = (unsigned)(d.tag & SLOT_MASK);
    if (d.res < 0) {
        job_note_error(j, d.tag, d.res, now);
        return;
    }
    j->result->last_done = now;
    j->done_ios++;
    j->done_bytes += (uint64_t)d.res;
    if (!counts)
        return;
    record(j, d.tag >> SLOT_BITS, now, 1);
    c->bytes -= (uint64_t)(j->expect[side] - d.res);
    c->short_ios++;
}

/* A run of whole completions of one key ends. */
INLINE void flush(struct job *j, uint64_t key, uint64_t now, uint64_t run, bool counts)
{
    j->done_ios += run;
    j->done_bytes += run * (uint64_t)j->expect[key & ((1u << SIDE_BITS) - 1)];
    if (run && counts)
        record(j, key, now, run);
}

/* Take what has completed. Neighbours of one batch and side share one latency: they are
 * recorded together. */
INLINE void reap(struct job *j, const struct engine *e, bool each)
{
    void *self = j->rig.self;
    unsigned n = e->ready(self), whole = 0;
    uint16_t *top = j->free + j->free_count;
    uint64_t now, key = 0, run = 0;
    bool counts;

    if (n == 0)
        return;
    now = j->heard = e->now(self);
    counts = look_at_window(j, now);
    for (unsigned i = 0; i < n; i++) {
        struct io_done d = e->at(self, i);

        if (__builtin_expect(d.res != j->expect[side_of(d.tag)], 0)) {
            j->free_count = (unsigned)(top - j->free);
            odd(j, d, now, counts);
            top = j->free + j->free_count;
            continue;
        }
        *top++ = (uint16_t)(d.tag & SLOT_MASK);
        whole++;
        if (d.tag >> SLOT_BITS != key || each) {
            flush(j, key, now, run, counts);
            key = d.tag >> SLOT_BITS;
            run = 0;
            if (each)
                now = e->now(self);
        }
        run++;
    }
    j->free_count = (unsigned)(top - j->free);
    flush(j, key, now, run, counts);
    if (whole)
        j->result->last_done = now;
    e->consume(self, n);
}

INLINE void prepare(struct job *j, const struct engine *e, unsigned slot, unsigned side,
                    uint64_t pos, uint64_t stamp)
{
    uint64_t tag = stamp << TIME_SHIFT | (uint64_t)side << SLOT_BITS | slot;
    struct io_req q = j->base;

    q.kind = j->kind[side];
    if (side != JOB_SYNC) {
        q.pos = pos;
        q.addr = j->memory + slot * j->stride;
    } else {
        q.len = 0;
        q.req_flags &= IO_FIXED_FILE;
        q.flags = j->spec->datasync ? IO_DATASYNC : 0;
    }
    j->slots[slot].pos = pos;
    j->slots[slot].side = side;
    j->slots[slot].since = since_of(stamp);
    e->prepare(j->rig.self, &q, tag);   /* never full: a slot is a place in the queue */
}

INLINE void issue_nop(struct job *j, const struct engine *e, unsigned slot, uint64_t stamp)
{
    const struct io_req q = { .kind = IO_NOP, .fd = -1 };

    j->left--;
    e->prepare(j->rig.self, &q, stamp << TIME_SHIFT | slot);
}

static void prepare_again(struct job *j, const struct engine *e)
{
    while (j->retry_count > 0) {
        uint64_t tag = j->retry[--j->retry_count];
        unsigned slot = (unsigned)(tag & SLOT_MASK);

        if (j->nop)
            issue_nop(j, e, slot, tag >> TIME_SHIFT);
        else
            prepare(j, e, slot, j->slots[slot].side, j->slots[slot].pos, tag >> TIME_SHIFT);
    }
}

/* One operation of the load, or the fsync that is due. */
INLINE void issue_one(struct job *j, const struct engine *e, unsigned slot, uint64_t stamp)
{
    struct load_op op;

    if (j->spec->fsync_every && j->since_sync == j->spec->fsync_every) {
        j->since_sync = 0;
        prepare(j, e, slot, JOB_SYNC, 0, stamp);
        return;
    }
    op = load_next(&j->load);
    j->since_sync += op.write;
    j->left--;
    prepare(j, e, slot, op.write ? JOB_WRITE : JOB_READ, op.pos, stamp);
}

/* Fill free slots, at most submit_max of them. */
INLINE void issue(struct job *j, const struct engine *e, bool nop, bool each)
{
    unsigned n = j->free_count < j->submit_max ? j->free_count : j->submit_max;
    uint64_t now, stamp;

    if (__builtin_expect(j->retry_count > 0, 0))
        prepare_again(j, e);
    if (j->stopping || n == 0)
        return;
    now = e->now(j->rig.self);
    if (now >= j->end || j->left == 0) {
        job_run_dry(j, now);
        return;
    }
    advance(j, now);
    stamp = now - j->start;
    n = n < j->left ? n : (unsigned)j->left;
    j->result->issued += n;
    j->free_count -= n;
    for (uint16_t *slot = j->free + j->free_count + n; n > 0; n--) {
        if (nop)
            issue_nop(j, e, *--slot, stamp & TIME_MASK);
        else
            issue_one(j, e, *--slot, stamp & TIME_MASK);
        if (each)
            stamp = e->now(j->rig.self) - j->start;
    }
}

/* Nothing came for a while: with every slot out, nobody else looks at the time. */
static int look_at_time(struct job *j, uint64_t now)
{
    if (now >= j->end)
        job_stop_issuing(j, now);
    return job_overdue(j, now);
}

INLINE int round_of(struct job *j, const struct engine *e, struct job_live *live, bool nop,
                    bool each)
{
    unsigned flying, wait;
    int err;

    if (__builtin_expect(atomic_load_explicit(&live->stop, memory_order_relaxed), 0))
        job_stop_issuing(j, e->now(j->rig.self));
    issue(j, e, nop, each);
    flying = j->depth - j->free_count;
    if (flying == 0)
        return j->stopping ? 0 : 1;
    wait = j->wait_min < flying && !j->stopping ? j->wait_min : 1;
    if (j->free_count > 0 && !j->stopping && j->wait_min > 1)
        wait = 0;               /* room for another batch first */
    err = e->submit(j->rig.self, wait, ENGINE_WAIT_NS);
    if (__builtin_expect(err < 0, 0)) {
        if (err != -ETIME && err != -EINTR && err != -EAGAIN)
            return err;
        if (e->ready(j->rig.self) == 0 && look_at_time(j, e->now(j->rig.self)) < 0)
            return -ETIME;
    }
    reap(j, e, each);
    job_publish(j, live);
    return j->stopping ? job_draining(j, e->now(j->rig.self)) : 1;
}

static int step_ring(struct job *j, struct job_live *live)
{
    return round_of(j, &ring_engine, live, false, false);
}

static int step_ring_nop(struct job *j, struct job_live *live)
{
    return round_of(j, &ring_engine, live, true, false);
}

static int step_any(struct job *j, struct job_live *live)
{
    return round_of(j, j->rig.engine, live, j->nop, j->spec->clock_each);
}

job_step_fn *jobplain_step(const struct job *j)
{
    return !j->rig.ring || j->spec->clock_each ? step_any : j->nop ? step_ring_nop : step_ring;
}
