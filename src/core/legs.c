#include <errno.h>

#include "core/legsself.h"
#include "core/ring.h"
#include "core/sim.h"
#include "core/threads.h"

#define PART_SHIFT 32           /* a tag of the inner engine: part, then slot */
#define INLINE static inline __attribute__((always_inline))

static bool is_write(const struct io_req *q)
{
    return q->kind == IO_WRITE || q->kind == IO_WRITE_FIXED;
}

static bool is_fixed(const struct io_req *q)
{
    return q->kind == IO_READ_FIXED || q->kind == IO_WRITE_FIXED;
}

static bool failed(const struct legs *s, unsigned leg)
{
    return atomic_load_explicit(&s->v->leg[leg].failed, memory_order_relaxed);
}

static void complete(struct legs *s, unsigned slot)
{
    struct legs_slot *p = &s->slots[slot];
    bool ok = p->error == 0 || (s->map->kind == STRIPE_MIRROR && p->good > 0);
    unsigned at = (s->first + s->done_count++) % s->spec.depth;

    s->done[at] = (struct io_done){ p->tag, ok ? (int)p->moved : p->error };
    s->done_slot[at] = slot;            /* it is free once this has been consumed */
}

/* The leg request of a part. */
INLINE struct io_req leg_request(const struct legs *s, const struct legs_slot *p, unsigned i)
{
    const struct stripe_part *part = &p->parts[i];
    struct io_req q = p->q;

    q.fd = s->fds[part->leg];
    q.req_flags = s->spec.fixed_files ? IO_FIXED_FILE : 0;
    if (p->q.kind == IO_FSYNC) {
        q.pos = q.addr = q.len = 0;
        return q;
    }
    q.pos = part->pos;
    q.len = part->bytes;
    q.addr = (uintptr_t)p->vec[part->first].iov_base;
    if (part->pieces == 1 || s->spec.no_vectors)
        return q;
    q.addr = (uintptr_t)&p->vec[part->first];
    q.len = part->pieces;
    if (!is_fixed(&p->q) || !s->spec.vectors_fixed)
        q.kind = is_write(&p->q) ? IO_WRITEV : IO_READV;
    else
        q.kind = is_write(&p->q) ? IO_WRITEV_FIXED : IO_READV_FIXED;
    return q;
}

static void end_part(struct legs *s, unsigned slot, unsigned i, int res);

INLINE void push(struct legs *s, const struct engine *e, unsigned slot, unsigned i)
{
    struct legs_slot *p = &s->slots[slot];
    unsigned leg = p->parts[i].leg;
    struct io_req q;

    if (s->fds[leg] < 0) {
        end_part(s, slot, i, -EIO);
        return;
    }
    q = leg_request(s, p, i);
    if (e == &sync_engine) {
        end_part(s, slot, i, io_perform(&q));
        return;
    }
    s->legs_out++;
    s->out[leg]++;
    e->prepare(s->spec.self, &q, (uint64_t)i << PART_SHIFT | slot);     /* has room for all */
}

/* The leg of a mirror that has the fewest requests out, those after the last one first; -1 when
 * all have failed. */
static int least_busy(struct legs *s)
{
    int best = -1;

    for (unsigned k = 0; k < s->map->legs; k++) {
        unsigned leg = (s->rotor + k) % s->map->legs;

        if (!failed(s, leg) && (best < 0 || s->out[leg] < s->out[best]))
            best = (int)leg;
    }
    s->rotor = best < 0 ? 0 : (unsigned)best + 1;
    return best;
}

/* Aim part i of a mirror's request at a leg. */
static void aim(const struct legs *s, struct legs_slot *p, unsigned i, unsigned leg)
{
    p->parts[i] = p->parts[0];
    p->parts[i].pos = p->q.pos + s->map->leg[leg].offset;
    p->parts[i].leg = leg;
}

/* The parts of a request: their number. */
static unsigned divide(struct legs *s, struct legs_slot *p)
{
    bool sync = p->q.kind == IO_FSYNC, mirror = s->map->kind == STRIPE_MIRROR;
    unsigned n = 0;
    int leg;

    if (!sync)
        n = stripe_split(s->map, p->q.pos, p->q.len, (void *)(uintptr_t)p->q.addr, s->v->merge,
                         p->parts, p->vec);
    p->moved = 0;
    for (unsigned i = 0; i < n; i++)
        p->moved += p->parts[i].bytes;
    if (!sync && (!mirror || n == 0))
        return n;
    if (!sync && !is_write(&p->q)) {
        leg = least_busy(s);
        p->error = leg < 0 ? -EIO : 0;
        aim(s, p, 0, leg < 0 ? 0 : (unsigned)leg);
        return leg >= 0;
    }
    n = 0;
    for (unsigned i = 0; i < s->map->legs; i++)
        if (!failed(s, i))
            aim(s, p, n++, i);
    p->error = n == 0 ? -EIO : 0;
    return n;
}

INLINE void start(struct legs *s, const struct engine *e, unsigned slot)
{
    struct legs_slot *p = &s->slots[slot];
    unsigned n = divide(s, p);

    p->out = n;
    if (n == 0)
        complete(s, slot);
    for (unsigned i = 0; i < n; i++)
        push(s, e, slot, i);
}

INLINE int prepare_on(struct legs *s, const struct engine *e, const struct io_req *q,
                      uint64_t tag)
{
    unsigned slot;
    struct legs_slot *p;

    if (s->free_count == 0)
        return -EBUSY;
    slot = s->free[--s->free_count];
    p = &s->slots[slot];
    p->q = *q;
    p->tag = tag;
    p->error = 0;
    p->good = p->turn = 0;
    if (q->kind != IO_FSYNC && q->len > s->spec.bs) {   /* more parts than there is room for */
        p->error = -EINVAL;
        complete(s, slot);
    } else if (e == &sync_engine) {
        s->pending = 1;
        s->pending_slot = slot;
    } else {
        start(s, e, slot);
    }
    return 0;
}

/* Up to where the volume has moved, when a part ended short. */
static void note_short(struct legs *s, struct legs_slot *p, const struct stripe_part *part,
                       int res)
{
    uint64_t gap = stripe_back(s->map, part->leg, part->pos + (uint64_t)res);

    if (gap - p->q.pos < p->moved)
        p->moved = (uint32_t)(gap - p->q.pos);
}

/* A mirror without this leg. Returns true when the part was sent to another one. */
static bool go_on_without(struct legs *s, unsigned slot, unsigned i)
{
    struct legs_slot *p = &s->slots[slot];
    unsigned left = volume_fail(s->v, p->parts[i].leg);
    int leg;

    if (left == 0 || is_write(&p->q) || p->q.kind == IO_FSYNC)
        return false;
    leg = least_busy(s);
    if (leg < 0 || p->turn++ > s->map->legs)
        return false;
    p->error = 0;
    aim(s, p, i, (unsigned)leg);
    push(s, s->spec.inner, slot, i);
    return true;
}

/* Errors that say nothing of the leg: the request is to be tried again, or was cancelled. */
static bool passing(int res)
{
    return res == -EAGAIN || res == -EINTR || res == -ECANCELED;
}

static void end_part(struct legs *s, unsigned slot, unsigned i, int res)
{
    struct legs_slot *p = &s->slots[slot];
    const struct stripe_part *part = &p->parts[i];
    struct legs_count *leg = &s->count[part->leg];
    bool mirror = s->map->kind == STRIPE_MIRROR;

    if (res < 0) {
        if (p->error == 0)
            p->error = res;
        if (!passing(res))
            leg->errors++;
        if (mirror && !passing(res) && go_on_without(s, slot, i))
            return;
    } else {
        p->good++;
        if (p->q.kind != IO_FSYNC) {
            leg->ios++;
            leg->bytes += (unsigned)res;
            if (__builtin_expect((uint32_t)res != part->bytes, 0))
                note_short(s, p, part, res);
        }
    }
    if (--p->out == 0)
        complete(s, slot);
}

/* Take what the inner engine has finished; how many there were. */
INLINE unsigned collect(struct legs *s, const struct engine *e)
{
    unsigned n = e == &sync_engine ? 0 : e->ready(s->spec.self);

    for (unsigned i = 0; i < n; i++) {
        struct io_done d = e->at(s->spec.self, i);
        unsigned slot = (unsigned)d.tag, part = (unsigned)(d.tag >> PART_SHIFT);

        s->out[s->slots[slot].parts[part].leg]--;
        s->legs_out--;
        end_part(s, slot, part, d.res);
    }
    if (n > 0)
        e->consume(s->spec.self, n);
    return n;
}

/* How many leg requests must end, at the least, before `more` requests have. */
static unsigned inner_wait(const struct legs *s, unsigned more)
{
    unsigned flying = s->spec.depth - s->free_count - s->done_count;

    if (more >= flying)
        return s->legs_out;
    return more < s->legs_out ? more : s->legs_out;
}

INLINE int submit_on(struct legs *s, const struct engine *e, unsigned wait, uint64_t wait_ns)
{
    uint64_t until = wait_ns && wait ? e->now(s->spec.self) + wait_ns : 0, now;
    unsigned more;
    int err;

    for (;;) {
        more = wait > s->done_count ? wait - s->done_count : 0;
        now = until && more ? e->now(s->spec.self) : 0;
        err = e->submit(s->spec.self, more && wait_ns ? inner_wait(s, more) : 0,
                        until > now ? until - now : 0);
        if (collect(s, e) == 0 && err == 0 && s->done_count < wait)
            return -ETIME;
        if (s->done_count >= wait || (err < 0 && err != -EAGAIN) || wait_ns == 0)
            return s->done_count >= wait && err == -ETIME ? 0 : err;
        if (e->now(s->spec.self) >= until)
            return -ETIME;
    }
}

static int submit_sync(void *self, unsigned wait, uint64_t wait_ns)
{
    struct legs *s = self;

    if (!s->pending)
        return s->done_count >= wait ? 0 : sync_engine.submit(s->spec.self, wait, wait_ns);
    s->pending = 0;
    start(s, &sync_engine, s->pending_slot);
    return 0;
}

static unsigned ready_any(void *self)
{
    struct legs *s = self;

    return s->done_count;
}

static struct io_done at_any(void *self, unsigned i)
{
    struct legs *s = self;

    return s->done[(s->first + i) % s->spec.depth];
}

static void consume_any(void *self, unsigned n)
{
    struct legs *s = self;

    for (unsigned i = 0; i < n; i++)
        s->free[s->free_count++] = s->done_slot[(s->first + i) % s->spec.depth];
    s->first = (s->first + n) % s->spec.depth;
    s->done_count -= n;
}

static uint64_t now_any(void *self)
{
    struct legs *s = self;

    return s->spec.inner->now(s->spec.self);
}

static void add(atomic_ullong *sum, uint64_t n)
{
    atomic_fetch_add_explicit(sum, n, memory_order_relaxed);
}

void legs_tell(struct legs *s)
{
    for (unsigned i = 0; i < s->map->legs; i++) {
        add(&s->v->leg[i].ios, s->count[i].ios);
        add(&s->v->leg[i].bytes, s->count[i].bytes);
        add(&s->v->leg[i].errors, s->count[i].errors);
        s->count[i] = (struct legs_count){ 0 };
    }
}

static int close_any(void *self, uint64_t grace_ns)
{
    struct legs *s = self;
    int err = s->spec.inner->close(s->spec.self, grace_ns);

    legs_tell(s);
    if (err != -ETIME)          /* else the kernel may still read the vectors */
        legs_release(s);
    return err;
}

static int prepare_ring(void *self, const struct io_req *q, uint64_t tag)
{
    return prepare_on(self, &ring_engine, q, tag);
}

static int submit_ring(void *self, unsigned wait, uint64_t wait_ns)
{
    return submit_on(self, &ring_engine, wait, wait_ns);
}

static int prepare_any(void *self, const struct io_req *q, uint64_t tag)
{
    struct legs *s = self;

    return prepare_on(s, s->spec.inner, q, tag);
}

static int submit_any(void *self, unsigned wait, uint64_t wait_ns)
{
    struct legs *s = self;

    return submit_on(s, s->spec.inner, wait, wait_ns);
}

static int prepare_sync(void *self, const struct io_req *q, uint64_t tag)
{
    return prepare_on(self, &sync_engine, q, tag);
}

static const struct engine legs_ring = {
    "io_uring", prepare_ring, submit_ring, ready_any, at_any, consume_any, now_any, close_any,
};

static const struct engine legs_threads = {
    "threads", prepare_any, submit_any, ready_any, at_any, consume_any, now_any, close_any,
};

static const struct engine legs_sync = {
    "sync", prepare_sync, submit_sync, ready_any, at_any, consume_any, now_any, close_any,
};

static const struct engine legs_sim = {
    "sim", prepare_any, submit_any, ready_any, at_any, consume_any, now_any, close_any,
};

/* The table of the ring is a copy in every file that includes it: known by its name. */
const struct engine *legs_engine(const struct engine *inner)
{
    if (inner == &threads_engine)
        return &legs_threads;
    if (inner == &sync_engine)
        return &legs_sync;
    return inner == &sim_engine ? &legs_sim : &legs_ring;
}
