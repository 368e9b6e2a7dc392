/*
 * jobrich - the round of a job with a pace, a mix of sizes, intervals, hooks or live control.
 */
#include <errno.h>

#include "core/jobrich.h"
#include "core/sim.h"

/* The hook's next operation that may start now. */
static bool take_given(struct job *j, struct job_op *op, uint64_t now)
{
    struct rich *r = j->rich;

    while (r->given_count > 0) {
        *op = r->given[r->given_first++];
        r->given_count--;
        op->pos = place_of(j, op);
        if (op->think_ns == 0)
            return true;
        later_push(&r->later, now + op->think_ns, op);
    }
    if (r->later.count == 0 || r->later.heap[0].at > now)
        return false;
    *op = later_pop(&r->later);
    return true;
}

static struct job_op take_load(struct job *j)
{
    struct load_op op;

    if (j->nop)
        return (struct job_op){ .side = JOB_READ };
    op = j->rich->sized ? load_next_sized(&j->load) : load_next(&j->load);
    return (struct job_op){ op.pos, 0, op.len, op.write ? JOB_WRITE : JOB_READ };
}

/* What comes next: the fsync that is due, the hook's choice, or the load's. */
static bool take(struct job *j, struct job_op *op, uint64_t now)
{
    if (j->spec->fsync_every && j->since_sync == j->spec->fsync_every) {
        *op = (struct job_op){ .side = JOB_SYNC };
        return true;
    }
    if (j->rich->read_back)
        jobverify_next(j, op);
    else if (!j->rich->hooked)
        *op = take_load(j);
    else if (!take_given(j, op, now))
        return false;
    j->left--;
    j->rich->bytes_left -= op->len < j->rich->bytes_left ? op->len : j->rich->bytes_left;
    return true;
}

INLINE void put(struct job *j, const struct engine *e, unsigned slot, uint64_t stamp)
{
    const struct slot *s = &j->slots[slot];
    struct io_req q = j->base;

    q.kind = j->kind[s->side];
    if (!j->nop) {
        q.pos = s->pos;
        q.addr = j->memory + slot * j->stride;
        q.len = s->len;
    }
    if (s->side == JOB_SYNC) {
        q.req_flags &= IO_FIXED_FILE;
        q.addr = 0;
        q.flags = j->spec->datasync ? IO_DATASYNC : 0;
    }
    if (q.kind == IO_DISCARD) {
        q.addr = q.len = 0;
        q.addr2 = s->len;
    }
    e->prepare(j->rig.self, &q, stamp << TIME_SHIFT | (uint64_t)s->side << SLOT_BITS | slot);
}

static void put_again(struct job *j, const struct engine *e)
{
    while (j->retry_count > 0) {
        uint64_t tag = j->retry[--j->retry_count];

        put(j, e, (unsigned)(tag & SLOT_MASK), tag >> TIME_SHIFT);
    }
}

/* The intended start of the operation that is about to go out. */
static uint64_t take_due(struct job *j, const struct job_op *op, uint64_t now)
{
    struct rich *r = j->rich;
    uint64_t due;

    if (op->side == JOB_SYNC)
        return now;
    due = pace_take(&r->pace, op->len);
    r->result->missed += r->busy && due >= r->busy_from && due < now;
    return due;
}

/* What comes next and may start: in a verified job nothing overtakes an operation that waits. */
static bool take_free(struct job *j, struct job_op *op, uint64_t now)
{
    struct rich *r = j->rich;

    if (r->holds)
        *op = r->held;
    else if (!take(j, op, now))
        return false;
    return !r->ledger || jobverify_start(j, op, now);
}

INLINE bool issue_one(struct job *j, const struct engine *e, uint64_t now)
{
    struct rich *r = j->rich;
    struct job_op op;
    unsigned slot;

    if ((r->paced && r->pace.next > now) || jobwait_thinks(j, now))
        return false;
    if (!take_free(j, &op, now))
        return false;
    slot = j->free[--j->free_count];
    if (r->paced)
        r->due[slot] = take_due(j, &op, now);
    j->slots[slot] = (struct slot){ op.pos, op.len, op.side, since_of(now - j->start) };
    if (r->ledger)
        jobverify_stamp(j, slot);
    j->since_sync = op.side == JOB_SYNC ? 0 : j->since_sync + (op.side == JOB_WRITE);
    j->result->issued += op.side != JOB_SYNC;
    r->think_left -= r->thinks && op.side != JOB_SYNC;
    put(j, e, slot, (now - j->start) & TIME_MASK);
    return true;
}

/* The short way for what a hook has given: operations that need nothing but to start now. Gives
 * back how many; the others are left for issue_one. */
INLINE unsigned issue_given(struct job *j, const struct engine *e, unsigned most, uint64_t now)
{
    struct rich *r = j->rich;
    uint64_t stamp = (now - j->start) & TIME_MASK;
    unsigned n = 0, writes = 0;

    if (r->paced || r->thinks || r->later.count > 0 || r->ledger || j->spec->fsync_every ||
        j->spec->number_bytes)
        return 0;
    most = most < r->given_count ? most : r->given_count;
    most = most < j->left ? most : (unsigned)j->left;
    for (; n < most; n++) {
        const struct job_op *op = &r->given[r->given_first];
        unsigned slot;

        if (op->think_ns > 0 || op->side == JOB_SYNC)
            break;
        slot = j->free[--j->free_count];
        j->slots[slot].pos = place_of(j, op);
        j->slots[slot].len = op->len;
        j->slots[slot].side = op->side;
        j->slots[slot].since = since_of(stamp);
        writes += op->side == JOB_WRITE;
        put(j, e, slot, stamp);
        r->given_first++;
    }
    r->given_count -= n;
    j->left -= n;
    j->result->issued += n;
    j->since_sync += writes;
    return n;
}

static bool exhausted(const struct job *j)
{
    const struct rich *r = j->rich;

    if (r->holds)
        return false;
    return j->left == 0 || r->bytes_left == 0 ||
           (r->no_more && r->given_count == 0 && r->later.count == 0);
}

/* How far the starts are behind, and whether slots are why. */
static void note_backlog(struct rich *r, uint64_t now)
{
    uint64_t backlog = r->busy ? pace_backlog(&r->pace, now) : 0;

    if (backlog > r->result->backlog_max)
        r->result->backlog_max = backlog;
}

/* Start what is due while there is room. Returns how many. */
INLINE unsigned issue(struct job *j, const struct engine *e, uint64_t now)
{
    struct rich *r = j->rich;
    unsigned n = 0, most;

    if (__builtin_expect(j->retry_count > 0, 0))
        put_again(j, e);
    if (j->stopping)
        return 0;
    if (now >= j->end || exhausted(j)) {
        job_run_dry(j, now);
        return 0;
    }
    if (r->paced)
        note_backlog(r, now);
    most = room(j);
    most = most < j->submit_max ? most : j->submit_max;
    advance(j, now);
    if (r->given_count > 0)
        n = issue_given(j, e, most, now);
    while (n < most && !exhausted(j) && issue_one(j, e, now))
        n++;
    if (room(j) > 0) {
        r->busy = false;
    } else if (!r->busy) {
        r->busy = true;
        r->busy_from = now;
    }
    return n;
}

static void tell(struct job *j, const struct slot *s, int res, uint64_t lat)
{
    struct rich *r = j->rich;

    r->told[r->told_count++] = (struct job_told){ s->side, s->len, s->pos, res, lat };
}

/* One completion that is no error. */
static void count(struct job *j, unsigned slot, int res, uint64_t lat, uint64_t service)
{
    struct rich *r = j->rich;
    const struct slot *s = &j->slots[slot];
    struct job_count *c = &r->count[s->side];

    c->ios++;
    c->bytes += (uint64_t)res;
    c->short_ios += (uint32_t)res != s->len;
    hist_record(&c->lat, lat, 1);
    if (r->paced)
        hist_record(&r->result->service[s->side], service, 1);
}

INLINE void finish(struct job *j, struct io_done d, uint64_t now, bool counts)
{
    struct rich *r = j->rich;
    unsigned slot = (unsigned)(d.tag & SLOT_MASK);
    uint64_t service = (now - j->start - (d.tag >> TIME_SHIFT)) & TIME_MASK;
    uint64_t lat = r->paced ? now - r->due[slot] : service;

    if (d.res == -EAGAIN || d.res == -EINTR) {
        j->retry[j->retry_count++] = d.tag;
        return;
    }
    if (j->spec->trim && d.res == 0)
        d.res = (int32_t)j->slots[slot].len;
    if (r->ledger)
        jobverify_done(j, slot, d.res);
    if (r->told)
        tell(j, &j->slots[slot], d.res, lat);
    j->free[j->free_count++] = slot;
    if (d.res < 0) {
        job_note_error(j, d.tag, d.res, now);
        r->count[j->slots[slot].side].errors += r->series != NULL;
        return;
    }
    j->result->last_done = now;
    j->done_ios++;
    j->done_bytes += (uint64_t)d.res;
    if (counts)
        count(j, slot, d.res, lat, service);
}

/* Whole completions of one tag but for the slot, and of one size, are counted together. */
struct run {
    uint64_t key, count;
    uint32_t len;
};

INLINE void flush(struct job *j, struct run *r, uint64_t now, bool counts)
{
    unsigned side = r->key & ((1u << SIDE_BITS) - 1);
    struct job_count *c = &j->rich->count[side];

    if (r->count == 0)
        return;
    j->done_ios += r->count;
    j->done_bytes += r->count * r->len;
    j->result->last_done = now;
    if (counts) {
        c->ios += r->count;
        c->bytes += r->count * r->len;
        hist_record(&c->lat, (now - j->start - (r->key >> SIDE_BITS)) & TIME_MASK, r->count);
    }
    r->count = 0;
}

/* Nobody asks for more of a completion than its count and the batch's latency. */
INLINE bool simple(const struct job *j)
{
    return !j->rich->paced && !j->rich->told && !j->spec->clock_each && !j->rich->ledger;
}

INLINE void reap_simple(struct job *j, const struct engine *e, unsigned n, uint64_t now,
                        bool counts)
{
    struct run run = { 0, 0, 0 };

    for (unsigned i = 0; i < n; i++) {
        struct io_done d = e->at(j->rig.self, i);
        const struct slot *s = &j->slots[d.tag & SLOT_MASK];

        if (__builtin_expect(d.res != (int32_t)s->len, 0)) {
            finish(j, d, now, counts);
            continue;
        }
        j->free[j->free_count++] = (unsigned)(d.tag & SLOT_MASK);
        if (d.tag >> SLOT_BITS != run.key || s->len != run.len) {
            flush(j, &run, now, counts);
            run.key = d.tag >> SLOT_BITS;
            run.len = s->len;
        }
        run.count++;
    }
    flush(j, &run, now, counts);
}

INLINE int reap(struct job *j, const struct engine *e)
{
    unsigned n = e->ready(j->rig.self);
    uint64_t now = e->now(j->rig.self);
    int err = jobrich_roll(j, now);
    bool counts;

    if (err != 0 && (err < 0 || j->rich->virtual))
        return err;             /* what is there is taken in the next round, at the same time */
    counts = look_at_window(j, now);
    if (simple(j))
        reap_simple(j, e, n, now, counts);
    else
        for (unsigned i = 0; i < n; i++) {
            if (j->spec->clock_each)
                now = e->now(j->rig.self);
            finish(j, e->at(j->rig.self, i), now, counts);
        }
    if (n) {
        j->heard = now;
        e->consume(j->rig.self, n);
    } else if (job_overdue(j, now) < 0) {
        return -ETIME;
    }
    jobwait_ended(j, now);
    return err;
}

/* Hand over what was issued, timed, in an open loop. */
INLINE int submit_now(struct job *j, const struct engine *e, unsigned n, uint64_t from)
{
    int err = e->submit(j->rig.self, 0, 0);

    if (err == 0 && from >= j->begin && from < j->end)
        hist_record(&j->rich->result->slat, e->now(j->rig.self) - from, n);
    return err;
}

static unsigned wait_for(const struct job *j)
{
    unsigned flying = j->depth - j->free_count;

    if (j->stopping || j->rich->paced || j->rich->later.count > 0 || j->rich->thinks)
        return 1;
    if (room(j) > 0 && j->wait_min > 1 && !j->rich->holds)
        return 0;               /* room for another batch first */
    return j->wait_min < flying ? j->wait_min : 1;
}

static bool failed(int err)
{
    return err < 0 && err != -ETIME && err != -EINTR && err != -EAGAIN;
}

INLINE int round_of(struct job *j, const struct engine *e, struct job_live *live)
{
    struct rich *r = j->rich;
    uint64_t now = e->now(j->rig.self);
    unsigned n;
    int err = jobrich_roll(j, now);

    r->told_count = 0;
    if (err != 0 && (err < 0 || r->virtual))
        return err;             /* whoever watches the intervals acts before the clock goes on */
    if (__builtin_expect(atomic_load_explicit(&live->stop, memory_order_relaxed), 0))
        job_stop_issuing(j, now);
    if (atomic_load_explicit(&live->changes, memory_order_relaxed) != r->changes)
        jobrich_control(j, live, now);
    n = issue(j, e, now);
    if (j->stopping && j->free_count == j->depth)
        return 0;
    if (r->paced && n > 0)
        err = submit_now(j, e, n, now);
    if (!failed(err) && !(r->hooked && n == 0 && j->free_count == j->depth && !r->later.count &&
                          !r->paced))
        err = e->submit(j->rig.self, wait_for(j), jobrich_quiet(j, now));
    if (failed(err))
        return err;
    err = reap(j, e);
    job_publish(j, live);
    if (err < 0)
        return err;
    return j->stopping ? job_draining(j, e->now(j->rig.self)) : 1;
}

static int step_ring(struct job *j, struct job_live *live)
{
    return round_of(j, &ring_engine, live);
}

static int step_any(struct job *j, struct job_live *live)
{
    return round_of(j, j->rig.engine, live);
}

int jobrich_round(struct job *j, struct job_live *live)
{
    int went = step_ring(j, live);

    j->rich->pauses = j->rich->given_count > 0 || j->rich->later.count > 0;
    return went;
}

job_step_fn *jobrich_step(const struct job *j)
{
    return jobhook_fits(j) ? jobhook_step : j->rig.ring ? step_ring : step_any;
}
