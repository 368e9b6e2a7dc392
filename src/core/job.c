#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "core/job.h"
#include "core/ring.h"
#include "core/threads.h"

/* A tag: slot in the low bits, side, then the submission time in ns since the start. Times
 * wrap after 39 hours; differences do not mind. */
#define SLOT_BITS  15
#define SLOT_MASK  ((1u << SLOT_BITS) - 1)
#define SIDE_BITS  2
#define TIME_SHIFT (SLOT_BITS + SIDE_BITS)
#define TIME_MASK  (UINT64_MAX >> TIME_SHIFT)

_Static_assert(JOB_DEPTH_MAX <= SLOT_MASK + 1, "slots fit into a tag");

#define INLINE static inline __attribute__((always_inline))

struct slot {
    uint64_t pos;
    uint8_t side;
};

struct cpu_time {
    uint64_t user, system;
};

struct job {
    struct rig rig;
    struct load load;
    const struct job_spec *spec;        /* own copy, in `copy` */
    int (*step)(struct job *j, struct job_live *live);
    struct slot *slots;
    unsigned *free;             /* stack of free slots: the last used is the warmest */
    unsigned free_count, depth;
    unsigned submit_max, wait_min;
    uint64_t start, begin, end; /* engine's clock */
    uint64_t left;              /* operations still to issue */
    unsigned since_sync;
    bool stopping, began, ended, closed, nop;
    uint64_t stopped_at;
    uint64_t area_at;           /* up to where depth x time has been summed */
    double area;
    uint64_t done_ios, done_bytes;      /* whole run, for the live view */
    uint64_t *retry;            /* tags that came back with EAGAIN */
    unsigned retry_count;
    int expect[JOB_SIDES];      /* result of a whole operation */
    uint8_t kind[JOB_SIDES];
    struct io_req base;         /* what all requests share */
    struct cpu_time cpu_begin, cpu_end;
    struct job_result *result;
    struct job_spec copy;
};

static struct cpu_time cpu_time(struct job *j)
{
    struct cpu_time t = { 0, 0 };
    struct rusage u;

    if (j->rig.engine == &threads_engine)
        threads_cpu(&t.user, &t.system, j->rig.self);
    getrusage(RUSAGE_THREAD, &u);
    t.user += (uint64_t)u.ru_utime.tv_sec * CLOCK_SECOND + (uint64_t)u.ru_utime.tv_usec * 1000;
    t.system += (uint64_t)u.ru_stime.tv_sec * CLOCK_SECOND + (uint64_t)u.ru_stime.tv_usec * 1000;
    return t;
}

/* Sum depth x time up to t, inside the window. */
INLINE void advance(struct job *j, uint64_t t)
{
    uint64_t from = j->area_at > j->begin ? j->area_at : j->begin;
    uint64_t to = t < j->end ? t : j->end;

    if (to > from)
        j->area += (double)(j->depth - j->free_count) * (double)(to - from);
    j->area_at = t;
}

static void begin_window(struct job *j)
{
    j->began = true;
    j->cpu_begin = cpu_time(j);
}

static void end_window(struct job *j)
{
    if (j->ended)
        return;
    j->ended = true;
    j->cpu_end = cpu_time(j);
}

static void stop_issuing(struct job *j, uint64_t now)
{
    if (j->stopping)
        return;
    j->stopping = true;
    j->stopped_at = now;
}

INLINE void record(struct job *j, uint64_t key, uint64_t now, uint64_t count)
{
    unsigned side = key & ((1u << SIDE_BITS) - 1);
    struct job_count *c = &j->result->side[side];

    c->ios += count;
    c->bytes += count * (uint64_t)j->expect[side];
    hist_record(&c->lat, (now - j->start - (key >> SIDE_BITS)) & TIME_MASK, count);
}

static void note_error(struct job *j, uint64_t tag, int res, uint64_t now)
{
    const struct slot *s = &j->slots[tag & SLOT_MASK];
    struct job_result *r = j->result;

    if (r->error == 0) {
        r->error = res;
        r->error_side = s->side;
        r->error_pos = s->pos;
    }
    r->side[s->side].errors++;
    if (!j->spec->continue_on_error)
        stop_issuing(j, now);
}

INLINE unsigned side_of(uint64_t tag)
{
    return (unsigned)(tag >> SLOT_BITS) & ((1u << SIDE_BITS) - 1);
}

/* Does a completion at `now` count? Begins and ends the window when its time has come. */
INLINE bool look_at_window(struct job *j, uint64_t now)
{
    advance(j, now);
    if (__builtin_expect(!j->began && now >= j->begin, 0))
        begin_window(j);
    if (__builtin_expect(!j->ended && now >= j->end, 0))
        end_window(j);
    return now >= j->begin && now < j->end;
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
        note_error(j, d.tag, d.res, now);
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
    unsigned *top = j->free + j->free_count;
    uint64_t now, key = 0, run = 0;
    bool counts;

    if (n == 0)
        return;
    now = e->now(self);
    counts = look_at_window(j, now);
    for (unsigned i = 0; i < n; i++) {
        struct io_done d = e->at(self, i);

        if (__builtin_expect(d.res != j->expect[side_of(d.tag)], 0)) {
            j->free_count = (unsigned)(top - j->free);
            odd(j, d, now, counts);
            top = j->free + j->free_count;
            continue;
        }
        *top++ = (unsigned)(d.tag & SLOT_MASK);
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
        q.addr = (uintptr_t)rig_memory(&j->rig, slot);
    } else {
        q.len = 0;
        q.req_flags &= IO_FIXED_FILE;
        q.flags = j->spec->datasync ? IO_DATASYNC : 0;
    }
    j->slots[slot] = (struct slot){ pos, (uint8_t)side };
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
        stop_issuing(j, now);
        return;
    }
    advance(j, now);
    stamp = now - j->start;
    n = n < j->left ? n : (unsigned)j->left;
    j->result->issued += n;
    j->free_count -= n;
    for (unsigned *slot = j->free + j->free_count + n; n > 0; n--) {
        if (nop)
            issue_nop(j, e, *--slot, stamp & TIME_MASK);
        else
            issue_one(j, e, *--slot, stamp & TIME_MASK);
        if (each)
            stamp = e->now(j->rig.self) - j->start;
    }
}

static void publish(struct job *j, struct job_live *live)
{
    atomic_store_explicit(&live->ios, j->done_ios, memory_order_relaxed);
    atomic_store_explicit(&live->bytes, j->done_bytes, memory_order_relaxed);
    atomic_store_explicit(&live->now, j->area_at, memory_order_relaxed);
}

/* Whether a stopped job has ended, goes on draining, or waits for requests that are stuck. */
static int draining(struct job *j, const struct engine *e)
{
    j->result->stuck = j->depth - j->free_count;
    if (j->result->stuck == 0)
        return 0;
    return e->now(j->rig.self) - j->stopped_at > JOB_GRACE_NS ? -ETIME : 1;
}

INLINE int round_of(struct job *j, const struct engine *e, struct job_live *live, bool nop,
                    bool each)
{
    unsigned flying, wait;
    int err;

    if (__builtin_expect(atomic_load_explicit(&live->stop, memory_order_relaxed), 0))
        stop_issuing(j, e->now(j->rig.self));
    issue(j, e, nop, each);
    flying = j->depth - j->free_count;
    if (flying == 0)
        return j->stopping ? 0 : 1;
    wait = j->wait_min < flying && !j->stopping ? j->wait_min : 1;
    if (j->free_count > 0 && !j->stopping && j->wait_min > 1)
        wait = 0;               /* room for another batch first */
    err = e->submit(j->rig.self, wait, ENGINE_WAIT_NS);
    if (err < 0 && err != -ETIME && err != -EINTR && err != -EAGAIN)
        return err;
    reap(j, e, each);
    publish(j, live);
    return j->stopping ? draining(j, e) : 1;
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

static void choose_step(struct job *j)
{
    j->step = !j->rig.ring || j->spec->clock_each ? step_any : j->nop ? step_ring_nop : step_ring;
}

int job_step(struct job *j, struct job_live *live)
{
    return j->step(j, live);
}

static void set_requests(struct job *j)
{
    bool fixed = j->rig.fixed_memory;

    j->nop = j->spec->load.nop;
    j->base.fd = j->rig.fixed_file ? 0 : j->spec->rig.file ? j->spec->rig.file->fd : -1;
    j->base.req_flags = j->rig.fixed_file ? IO_FIXED_FILE : 0;
    if (j->nop) {
        j->base = (struct io_req){ .fd = -1 };
        return;
    }
    j->base.len = j->spec->load.bs;
    j->kind[JOB_READ] = fixed ? IO_READ_FIXED : IO_READ;
    j->kind[JOB_WRITE] = fixed ? IO_WRITE_FIXED : IO_WRITE;
    j->kind[JOB_SYNC] = IO_FSYNC;
    j->expect[JOB_READ] = j->expect[JOB_WRITE] = (int)j->spec->load.bs;
}

static int allocate(struct job *j)
{
    j->depth = j->free_count = j->rig.depth;
    j->slots = calloc(j->depth, sizeof *j->slots);
    j->free = calloc(j->depth, sizeof *j->free);
    j->retry = calloc(j->depth, sizeof *j->retry);
    j->result = calloc(1, sizeof *j->result);
    if (!j->slots || !j->free || !j->retry || !j->result)
        return -ENOMEM;
    for (unsigned i = 0; i < j->depth; i++)
        j->free[i] = j->depth - 1 - i;
    for (unsigned i = 0; i < JOB_SIDES; i++)
        hist_reset(&j->result->side[i].lat);
    return 0;
}

int job_open(struct job **out, const struct job_spec *spec, char *message, size_t len)
{
    struct job *j = calloc(1, sizeof *j);
    int err;

    if (!j)
        return -ENOMEM;
    j->copy = *spec;
    j->spec = &j->copy;
    err = load_init(&j->load, &spec->load, message, len);
    if (err == 0)
        err = rig_open(&j->rig, &spec->rig, message, len);
    if (err == 0 && (err = allocate(j)) < 0)
        snprintf(message, len, "memory of the job: %s", strerrordesc_np(-err));
    if (err < 0) {
        job_close(j);
        return err;
    }
    set_requests(j);
    choose_step(j);
    *out = j;
    return 0;
}

const struct rig *job_rig(const struct job *j) { return &j->rig; }
uint64_t job_now(struct job *j) { return j->rig.engine->now(j->rig.self); }

void job_start(struct job *j, uint64_t start)
{
    j->start = j->area_at = start;
    j->begin = start + j->spec->ramp_ns;
    j->end = j->spec->runtime_ns ? j->begin + j->spec->runtime_ns : UINT64_MAX;
    j->left = j->spec->number_ios;
    j->submit_max = j->spec->batch ? j->spec->batch : j->depth;
    j->wait_min = j->spec->batch ? j->spec->batch : 1;
    j->result->first_submit = start;
    j->result->windowed = j->spec->ramp_ns || j->spec->runtime_ns;
    if (!j->spec->ramp_ns)
        begin_window(j);
}

static void sync_at_end(struct job *j)
{
    struct io_req q = { .kind = IO_FSYNC, .fd = j->spec->rig.file ? j->spec->rig.file->fd : -1 };
    uint64_t from = job_now(j);
    int err = j->spec->rig.file ? io_perform(&q) : 0;

    j->result->end_fsync_ns = job_now(j) - from;
    if (err < 0 && j->result->error == 0) {
        j->result->error = err;
        j->result->error_side = JOB_SYNC;
        j->result->side[JOB_SYNC].errors++;
    }
}

/* The window ends where it was to end, or where the job stopped before that. */
static void close_window(struct job *j)
{
    struct job_result *r = j->result;
    uint64_t stop = j->spec->runtime_ns ? j->stopped_at : r->last_done;

    r->begin = r->windowed ? j->begin : r->first_submit;
    r->end = r->windowed ? (stop < j->end ? stop : j->end) : r->last_done;
    if (r->end > r->begin)
        r->depth_mean = j->area / (double)(r->end - r->begin);
    r->user_ns = j->cpu_end.user - j->cpu_begin.user;
    r->system_ns = j->cpu_end.system - j->cpu_begin.system;
}

const struct job_result *job_result(struct job *j)
{
    if (j->closed)
        return j->result;
    j->closed = true;
    end_window(j);
    if (j->spec->end_fsync && j->result->error == 0)
        sync_at_end(j);
    close_window(j);
    rig_close(&j->rig, CLOCK_SECOND);
    return j->result;
}

void job_close(struct job *j)
{
    rig_close(&j->rig, CLOCK_SECOND);
    free(j->slots);
    free(j->free);
    free(j->retry);
    free(j->result);
    free(j);
}
