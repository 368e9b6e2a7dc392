/*
 * ring - io_uring: probe, push, submit, reap, cancel, drain, close.
 *
 * The fast path is inline here: submission entries are written and completions read in the
 * shared rings without a library call, and io_uring_enter is called on the registered ring.
 * liburing sets up, probes, registers and closes.
 *
 * At most `entries` requests are in flight: one more is refused with -EBUSY, so the completion
 * ring (twice as large) cannot overflow. With `flight` more may be: then who pushes looks at
 * ring_full first, and the rings stay small enough for the CPU's first cache. A ring is used by
 * the thread that opened it.
 */
#ifndef IOLUA_CORE_RING_H
#define IOLUA_CORE_RING_H

#include "core/clock.h"
#include "core/engine.h"

#include <errno.h>
#include <liburing.h>
#include <stdbool.h>
#include <stddef.h>

#define RING_ENTRIES_MAX 32768u

struct ring_options {
    unsigned entries;           /* 1 .. RING_ENTRIES_MAX, rounded up to a power of two */
    bool sqpoll;                /* a kernel thread submits */
    int sq_cpu;                 /* its CPU, -1 for any */
    bool iopoll;                /* completions are polled for */
    unsigned flight;            /* requests in flight at most, `entries` or more; 0: as many */
};

struct ring {
    struct io_uring uring;
    unsigned limit;             /* requests in flight at most */
    unsigned tail;              /* requests pushed; all three wrap */
    unsigned taken;             /* of them, taken by the kernel */
    unsigned done;              /* completions consumed */
    unsigned enter_flags;       /* of every io_uring_enter */
    int enter_fd;
    bool sqpoll, iopoll;
    bool lazy;                  /* a submission without a wait need not look for completions */
    bool stuck;                 /* closed with requests out: nothing is freed */
    unsigned char supported[32];        /* a bit an opcode */
    struct clock clock;
};

/* Can io_uring be used here? 0, or -errno with the reason (what forbids it) in message. */
int ring_available(char *message, size_t len);

/* Open a ring. 0, or -errno: -EPERM forbidden, -ENOSYS absent, -ENOMEM locked memory ... */
int ring_open(struct ring **out, const struct ring_options *o);

/* Does the kernel have the opcode of this kind? */
bool ring_supports(const struct ring *r, unsigned kind);

/* Register one file as index 0; -errno leaves the ring usable without. */
int ring_register_file(struct ring *r, int fd);

/* Make room for n registered files, all empty. -errno leaves the ring usable without. */
int ring_open_files(struct ring *r, unsigned n);

/* Put fd at this index of the registered files, -1 to empty it. Requests that are in flight
 * keep what they have. */
int ring_set_file(struct ring *r, unsigned index, int fd);

/* Make room for n registered buffers, all empty. -errno leaves the ring usable without. */
int ring_open_buffers(struct ring *r, unsigned n);

/* Put [mem, mem + len) at this index of them; NULL empties it. -ENOMEM: RLIMIT_MEMLOCK. */
int ring_set_buffer(struct ring *r, unsigned index, void *mem, size_t len);

/* Register [mem, mem + len) as buffer index 0. -ENOMEM: RLIMIT_MEMLOCK is too small. */
int ring_register_buffer(struct ring *r, void *mem, size_t len);

/* Ask the kernel to give up the request with this tag. Its completion still comes (with
 * -ECANCELED, or the result if it was too late). 0, -ENOENT no such request, -EALREADY it is
 * running and cannot be stopped, -EINVAL before Linux 6.0. */
int ring_cancel(struct ring *r, uint64_t tag);

/* Cancel everything and reap until nothing is in flight or grace_ns have passed. Completions
 * are dropped. 0 or -ETIME. */
int ring_drain(struct ring *r, uint64_t grace_ns);

/* Drain, then free; on -ETIME the ring is left mapped on purpose (the kernel may still write
 * to memory that its requests name). */
int ring_close(struct ring *r, uint64_t grace_ns);

/* io_uring_enter with what is needed after the fast path: partial submission, EINTR, EAGAIN. */
int ring_enter(struct ring *r, unsigned wait, uint64_t wait_ns);

/* Pushed and not yet consumed; pushed and not yet taken by the kernel. */
static inline unsigned ring_in_flight(const struct ring *r)
{
    return r->tail - r->done;
}

static inline unsigned ring_unsubmitted(const struct ring *r)
{
    return r->tail - r->taken;
}

/* With `flight`: are as many pushed as there are entries? Then submit before the next. */
static inline bool ring_full(const struct ring *r)
{
    return ring_unsubmitted(r) >= r->uring.sq.ring_entries;
}

/* Queue q. 0, or -EBUSY when `limit` requests are in flight. Where the kind is known to be
 * IO_NOP when this is compiled, only what a no-op reads is written. */
static inline __attribute__((always_inline)) int ring_push(struct ring *r,
                                                          const struct io_req *q, uint64_t tag)
{
    struct io_uring_sqe *e;

    if (__builtin_expect(ring_in_flight(r) >= r->limit, 0))
        return -EBUSY;
    e = &r->uring.sq.sqes[r->tail++ & r->uring.sq.ring_mask];
    if (__builtin_constant_p(q->kind) && q->kind == IO_NOP) {
        e->opcode = IO_NOP;
        e->flags = 0;
        e->ioprio = 0;
        e->fd = -1;
        e->rw_flags = 0;
        e->user_data = tag;
        return 0;
    }
    e->opcode = q->kind;
    e->flags = q->req_flags;            /* IO_FIXED_FILE == IOSQE_FIXED_FILE */
    e->ioprio = 0;
    e->fd = q->fd;
    e->off = q->pos;
    e->addr = q->addr;
    e->len = q->len;
    e->rw_flags = (int)q->flags;
    e->user_data = tag;
    e->buf_index = q->buf_index;
    e->personality = 0;
    e->splice_fd_in = q->fd2;
    e->addr3 = 0;
    e->__pad2[0] = 0;
    return 0;
}

/* Start what is queued and wait for `wait` completions, at most wait_ns. */
static inline int ring_submit(struct ring *r, unsigned wait, uint64_t wait_ns)
{
    if (ring_unsubmitted(r) == 0 && (wait == 0 || wait_ns == 0) &&
        !(r->enter_flags & IORING_ENTER_GETEVENTS))
        return 0;
    return ring_enter(r, wait, wait_ns);
}

static inline unsigned ring_ready(struct ring *r)
{
    unsigned tail = __atomic_load_n(r->uring.cq.ktail, __ATOMIC_ACQUIRE);

    return tail - *r->uring.cq.khead;
}

static inline struct io_done ring_at(struct ring *r, unsigned i)
{
    const struct io_uring_cqe *c;

    c = &r->uring.cq.cqes[(*r->uring.cq.khead + i) & r->uring.cq.ring_mask];
    return (struct io_done){ c->user_data, c->res };
}

static inline void ring_consume(struct ring *r, unsigned n)
{
    r->done += n;
    __atomic_store_n(r->uring.cq.khead, *r->uring.cq.khead + n, __ATOMIC_RELEASE);
}

/* The same as an engine: self is a struct ring. */
static inline int ring_engine_prepare(void *self, const struct io_req *q, uint64_t tag)
{
    return ring_push(self, q, tag);
}

static inline int ring_engine_submit(void *self, unsigned wait, uint64_t wait_ns)
{
    return ring_submit(self, wait, wait_ns);
}

static inline unsigned ring_engine_ready(void *self)
{
    return ring_ready(self);
}

static inline struct io_done ring_engine_at(void *self, unsigned i)
{
    return ring_at(self, i);
}

static inline void ring_engine_consume(void *self, unsigned n)
{
    ring_consume(self, n);
}

static inline uint64_t ring_engine_now(void *self)
{
    return clock_read(&((struct ring *)self)->clock);
}

static inline int ring_engine_close(void *self, uint64_t grace_ns)
{
    return ring_close(self, grace_ns);
}

static const struct engine ring_engine = {
    "io_uring", ring_engine_prepare, ring_engine_submit, ring_engine_ready, ring_engine_at,
    ring_engine_consume, ring_engine_now, ring_engine_close,
};

#endif
