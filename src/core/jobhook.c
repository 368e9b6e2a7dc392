/*
 * jobhook - the round of a closed loop whose operations a hook gives: the plain loop but for
 * where they come from, and that each has a size of its own.
 *
 * Thinking and syncing are left to the round of jobrich.c, and so is all that a job may be told
 * beside.
 */
#include <errno.h>

#include "core/jobrich.h"

bool jobhook_fits(const struct job *j)
{
    const struct rich *r = j->rich;

    return j->rig.ring && !j->nop && r->hooked && !r->paced && !r->thinks && !r->told &&
           !r->ledger && !r->series && !j->spec->clock_each && !j->spec->fsync_every &&
           !j->spec->number_bytes;
}

INLINE void prepare(struct job *j, unsigned slot, const struct job_op *op, uint64_t stamp)
{
    struct slot *s = &j->slots[slot];
    struct io_req q = j->base;

    q.kind = j->kind[op->side];
    q.pos = s->pos = place_of(j, op);
    q.len = s->len = op->len;
    q.addr = j->memory + slot * j->stride;
    s->side = (uint8_t)op->side;
    ring_engine.prepare(j->rig.self, &q,
                        stamp << TIME_SHIFT | (uint64_t)op->side << SLOT_BITS | slot);
}

/* Start all that was given and has room. */
INLINE void issue(struct job *j)
{
    struct rich *r = j->rich;
    unsigned n = room(j), writes = 0;
    uint64_t now, stamp;
    const struct job_op *op;
    const uint16_t *slot;

    if (j->stopping)
        return;
    now = ring_engine.now(j->rig.self);
    if (now >= j->end || j->left == 0 || (r->no_more && r->given_count == 0)) {
        job_run_dry(j, now);
        return;
    }
    advance(j, now);
    n = n < r->given_count ? n : r->given_count;
    n = n < j->submit_max ? n : j->submit_max;
    n = n < j->left ? n : (unsigned)j->left;
    stamp = (now - j->start) & TIME_MASK;
    op = r->given + r->given_first;
    slot = j->free + j->free_count;
    r->given_first += n;
    r->given_count -= n;
    j->free_count -= n;
    j->left -= n;
    j->result->issued += n;
    for (; n > 0; n--, op++) {
        writes += op->side == JOB_WRITE;
        prepare(j, *--slot, op, stamp);
    }
    j->since_sync += writes;
}

/* Neighbours of one batch, side and size. */
struct run {
    uint64_t key, count;
    uint32_t len;
};

INLINE void flush(struct job *j, const struct run *r, uint64_t now, bool counts)
{
    struct job_count *c = &j->result->side[r->key & ((1u << SIDE_BITS) - 1)];

    j->done_ios += r->count;
    j->done_bytes += r->count * r->len;
    if (r->count == 0 || !counts)
        return;
    c->ios += r->count;
    c->bytes += r->count * r->len;
    hist_record(&c->lat, (now - j->start - (r->key >> SIDE_BITS)) & TIME_MASK, r->count);
}

/* Took less than its size, failed, or must be tried again. */
static __attribute__((noinline)) void odd(struct job *j, struct io_done d, uint64_t now,
                                          bool counts)
{
    struct run run = { d.tag >> SLOT_BITS, 1, (uint32_t)d.res };

    if (d.res == -EAGAIN || d.res == -EINTR) {
        j->retry[j->retry_count++] = d.tag;
        return;
    }
    j->free[j->free_count++] = (uint16_t)(d.tag & SLOT_MASK);
    if (d.res < 0) {
        job_note_error(j, d.tag, d.res, now);
        return;
    }
    flush(j, &run, now, counts);
    j->result->side[j->slots[d.tag & SLOT_MASK].side].short_ios += counts;
    j->result->last_done = now;
}

INLINE void reap(struct job *j)
{
    void *self = j->rig.self;
    unsigned n = ring_engine.ready(self), whole = 0;
    uint16_t *top = j->free + j->free_count;
    struct run run = { 0, 0, 0 };
    uint64_t now = ring_engine.now(self);
    bool counts = look_at_window(j, now);

    for (unsigned i = 0; i < n; i++) {
        struct io_done d = ring_engine.at(self, i);
        uint32_t len = j->slots[d.tag & SLOT_MASK].len;

        if (__builtin_expect(d.res != (int32_t)len, 0)) {
            j->free_count = (unsigned)(top - j->free);
            odd(j, d, now, counts);
            top = j->free + j->free_count;
            continue;
        }
        *top++ = (uint16_t)(d.tag & SLOT_MASK);
        whole++;
        if (d.tag >> SLOT_BITS != run.key || len != run.len) {
            flush(j, &run, now, counts);
            run = (struct run){ d.tag >> SLOT_BITS, 0, len };
        }
        run.count++;
    }
    j->free_count = (unsigned)(top - j->free);
    flush(j, &run, now, counts);
    if (whole)
        j->result->last_done = now;
    if (n)
        ring_engine.consume(self, n);
}

static unsigned wait_for(const struct job *j, unsigned flying)
{
    if (j->stopping)
        return 1;
    if (room(j) > 0 && j->wait_min > 1)
        return 0;               /* room for another batch first */
    return j->wait_min < flying ? j->wait_min : 1;
}

int jobhook_step(struct job *j, struct job_live *live)
{
    struct rich *r = j->rich;
    unsigned flying;
    int err = 0;

    if (__builtin_expect(r->pauses || j->retry_count > 0, 0))
        return jobrich_round(j, live);
    if (__builtin_expect(atomic_load_explicit(&live->stop, memory_order_relaxed), 0))
        job_stop_issuing(j, job_now(j));
    if (atomic_load_explicit(&live->changes, memory_order_relaxed) != r->changes)
        jobrich_control(j, live, job_now(j));
    issue(j);
    flying = j->depth - j->free_count;
    if (flying == 0)
        return j->stopping ? 0 : 1;
    err = ring_engine.submit(j->rig.self, wait_for(j, flying), jobrich_quiet(j, j->area_at));
    if (err < 0 && err != -ETIME && err != -EINTR && err != -EAGAIN)
        return err;
    reap(j);
    job_publish(j, live);
    return j->stopping ? job_draining(j, job_now(j)) : 1;
}
