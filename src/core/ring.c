#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/ring.h"
#include "core/ringmap.h"

_Static_assert((int)IO_READ == IORING_OP_READ && (int)IO_WRITE == IORING_OP_WRITE, "opcodes");
_Static_assert((int)IO_READV == IORING_OP_READV && (int)IO_WRITEV == IORING_OP_WRITEV, "opcodes");
_Static_assert((int)IO_READ_FIXED == IORING_OP_READ_FIXED, "opcodes");
_Static_assert((int)IO_WRITE_FIXED == IORING_OP_WRITE_FIXED, "opcodes");
_Static_assert((int)IO_FSYNC == IORING_OP_FSYNC && (int)IO_NOP == IORING_OP_NOP, "opcodes");
_Static_assert((int)IO_POLL == IORING_OP_POLL_ADD, "opcodes");
_Static_assert((int)IO_SYNC_RANGE == IORING_OP_SYNC_FILE_RANGE, "opcodes");
_Static_assert((int)IO_CANCEL == IORING_OP_ASYNC_CANCEL, "opcodes");
_Static_assert((int)IO_TIMEOUT == IORING_OP_TIMEOUT, "opcodes");
_Static_assert((int)IO_FALLOCATE == IORING_OP_FALLOCATE, "opcodes");
_Static_assert((int)IO_OPENAT == IORING_OP_OPENAT && (int)IO_CLOSE == IORING_OP_CLOSE, "opcodes");
_Static_assert((int)IO_STATX == IORING_OP_STATX && (int)IO_SPLICE == IORING_OP_SPLICE, "opcodes");
_Static_assert((int)IO_FADVISE == IORING_OP_FADVISE, "opcodes");
_Static_assert((int)IO_RENAMEAT == IORING_OP_RENAMEAT, "opcodes");
_Static_assert((int)IO_UNLINKAT == IORING_OP_UNLINKAT, "opcodes");
_Static_assert((int)IO_MKDIRAT == IORING_OP_MKDIRAT, "opcodes");
_Static_assert((int)IO_SYMLINKAT == IORING_OP_SYMLINKAT, "opcodes");
_Static_assert((int)IO_LINKAT == IORING_OP_LINKAT, "opcodes");
_Static_assert((int)IO_FIXED_FILE == IOSQE_FIXED_FILE, "flags");
_Static_assert((int)IO_DATASYNC == IORING_FSYNC_DATASYNC, "flags");

static const char *forbidden_by(void)
{
    FILE *f = fopen("/proc/sys/kernel/io_uring_disabled", "re");
    int level = 0;

    if (f) {
        if (fscanf(f, "%d", &level) != 1)
            level = 0;
        fclose(f);
    }
    return level ? "kernel.io_uring_disabled is set" : "a seccomp filter refuses it";
}

static int explain(char *message, size_t len, int err)
{
    if (err == -EPERM || err == -EACCES)
        snprintf(message, len, "io_uring is forbidden here: %s", forbidden_by());
    else if (err == -ENOSYS)
        snprintf(message, len, "io_uring is not in this kernel, or older than Linux 5.11");
    else
        snprintf(message, len, "io_uring cannot be set up: %s", strerrordesc_np(-err));
    return err;
}

static int setup(struct ring *r, const struct ring_options *o, unsigned flags)
{
    struct io_uring_params p = { .flags = flags };

    if (o->iopoll)
        p.flags |= IORING_SETUP_IOPOLL;
    if (o->flight) {
        p.flags |= IORING_SETUP_CQSIZE;
        p.cq_entries = o->flight;
    }
    if (o->sqpoll) {
        p.flags |= IORING_SETUP_SQPOLL;
        p.sq_thread_idle = 1000;
        if (o->sq_cpu >= 0) {
            p.flags |= IORING_SETUP_SQ_AFF;
            p.sq_thread_cpu = (unsigned)o->sq_cpu;
        }
    }
    return ringmap_open(&r->uring, o->entries, &p);
}

/* From the newest set-up flags to none: what an older kernel does not know gives -EINVAL. */
static int setup_best(struct ring *r, const struct ring_options *o)
{
    static const unsigned inline_flags[] = {
        IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | RINGMAP_NO_SQARRAY,
        IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
        IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_COOP_TASKRUN,
        IORING_SETUP_COOP_TASKRUN, 0,
    };
    int err = -EINVAL;

    if (o->sqpoll)
        return setup(r, o, 0);
    for (unsigned i = 0; i < sizeof inline_flags / sizeof *inline_flags && err == -EINVAL; i++) {
        err = setup(r, o, inline_flags[i]);
        if (err == 0 && (inline_flags[i] & IORING_SETUP_DEFER_TASKRUN))
            r->enter_flags = IORING_ENTER_GETEVENTS;    /* completions come only inside it */
    }
    return err;
}

static void probe(struct ring *r)
{
    struct io_uring_probe *p = io_uring_get_probe_ring(&r->uring);

    if (!p)
        return;
    for (unsigned op = 0; op < 8 * sizeof r->supported; op++)
        if (io_uring_opcode_supported(p, (int)op))
            r->supported[op / 8] |= (unsigned char)(1u << op % 8);
    io_uring_free_probe(p);
}

static void register_ring(struct ring *r)
{
    r->enter_fd = r->uring.ring_fd;
    if (io_uring_register_ring_fd(&r->uring) == 1) {
        r->enter_fd = r->uring.enter_ring_fd;
        r->enter_flags |= IORING_ENTER_REGISTERED_RING;
    }
}

int ring_open(struct ring **out, const struct ring_options *o)
{
    struct ring *r;
    int err;

    if (o->entries < 1 || o->entries > RING_ENTRIES_MAX || o->flight > 2 * RING_ENTRIES_MAX ||
        (o->flight && o->flight < o->entries))
        return -EINVAL;
    r = aligned_alloc(64, (sizeof *r + 63) / 64 * 64);
    if (!r)
        return -ENOMEM;
    memset(r, 0, sizeof *r);
    err = setup_best(r, o);
    if (err < 0) {
        free(r);
        return err;
    }
    io_uring_ring_dontfork(&r->uring);
    r->limit = o->flight ? o->flight : r->uring.sq.ring_entries;
    r->sqpoll = o->sqpoll;
    r->iopoll = o->iopoll;
    probe(r);
    register_ring(r);
    clock_calibrate(&r->clock);
    *out = r;
    return 0;
}

int ring_available(char *message, size_t len)
{
    struct ring_options o = { .entries = 1, .sq_cpu = -1 };
    struct ring r = { 0 };
    int err = setup(&r, &o, 0);

    if (err < 0)
        return explain(message, len, err);
    io_uring_queue_exit(&r.uring);
    return 0;
}

bool ring_supports(const struct ring *r, unsigned kind)
{
    return kind < 8 * sizeof r->supported && r->supported[kind / 8] >> kind % 8 & 1;
}

int ring_register_file(struct ring *r, int fd)
{
    return io_uring_register_files(&r->uring, &fd, 1);
}

int ring_open_files(struct ring *r, unsigned n)
{
    return io_uring_register_files_sparse(&r->uring, n);
}

int ring_set_file(struct ring *r, unsigned index, int fd)
{
    int err;

    if (ring_unsubmitted(r))
        ring_enter(r, 0, 0);            /* what is queued means the file that is there now */
    err = io_uring_register_files_update(&r->uring, index, &fd, 1);
    return err == 1 ? 0 : err < 0 ? err : -EIO;
}

int ring_open_buffers(struct ring *r, unsigned n)
{
    return io_uring_register_buffers_sparse(&r->uring, n);
}

int ring_set_buffer(struct ring *r, unsigned index, void *mem, size_t len)
{
    struct iovec iov = { mem, len };
    __u64 tag = 0;
    int err;

    if (ring_unsubmitted(r))
        ring_enter(r, 0, 0);            /* what is queued means the buffer that is there now */
    err = io_uring_register_buffers_update_tag(&r->uring, index, &iov, &tag, 1);
    return err == 1 ? 0 : err < 0 ? err : -EIO;
}

/* The kernel releases the pages of an earlier registration late, so -ENOMEM is tried again. */
int ring_register_buffer(struct ring *r, void *mem, size_t len)
{
    struct iovec iov = { mem, len };
    int err = -ENOMEM;

    for (unsigned attempt = 0; attempt < 5 && err == -ENOMEM; attempt++) {
        if (attempt)
            clock_sleep_until(clock_now() + 2000000);
        err = io_uring_register_buffers(&r->uring, &iov, 1);
    }
    return err;
}

/* The system call, inline where that is known: libc's wrapper costs a no-op 1 %. */
static inline long system_enter(int fd, unsigned submit, unsigned wait, unsigned flags,
                                const void *arg, size_t size)
{
#ifdef __x86_64__
    register long r10 __asm__("r10") = (long)flags;
    register const void *r8 __asm__("r8") = arg;
    register size_t r9 __asm__("r9") = size;
    long result;

    __asm__ volatile("syscall" : "=a"(result)
                     : "a"(SYS_io_uring_enter), "D"((long)fd), "S"((long)submit),
                       "d"((long)wait), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
#else
    long result = syscall(SYS_io_uring_enter, fd, submit, wait, flags, arg, size);

    return result < 0 ? -errno : result;
#endif
}

/* One io_uring_enter. `wait` completions, bounded by wait_ns. */
static int enter(struct ring *r, unsigned submit, unsigned wait, uint64_t wait_ns)
{
    struct __kernel_timespec ts = {
        (long long)(wait_ns / CLOCK_SECOND), (long long)(wait_ns % CLOCK_SECOND)
    };
    struct io_uring_getevents_arg arg = { .ts = (uintptr_t)&ts, .sigmask_sz = _NSIG / 8 };
    unsigned flags = r->enter_flags;

    if (wait || r->iopoll)
        flags |= IORING_ENTER_GETEVENTS;
    if (r->sqpoll && *r->uring.sq.kflags & IORING_SQ_NEED_WAKEUP)
        flags |= IORING_ENTER_SQ_WAKEUP;
    if (wait && !r->iopoll)
        return (int)system_enter(r->enter_fd, submit, wait, flags | IORING_ENTER_EXT_ARG, &arg,
                                 sizeof arg);
    if (wait == 0 && submit && r->lazy)
        flags &= ~IORING_ENTER_GETEVENTS;
    return (int)system_enter(r->enter_fd, submit, wait, flags, NULL, 0);
}

/* The kernel thread takes entries by itself: only wake or wait. */
static int enter_sqpoll(struct ring *r, unsigned wait, uint64_t wait_ns)
{
    int n;

    r->taken = r->tail;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);    /* tail before the wake-up flag */
    if (wait == 0 && !(*r->uring.sq.kflags & IORING_SQ_NEED_WAKEUP))
        return 0;
    n = enter(r, 0, wait, wait_ns);
    return n < 0 ? n : 0;
}

/* Entries are visible to the kernel from here. A wait is for all of `wait`, so it is only asked
 * for when everything was taken; EAGAIN and EBUSY mean: reap first, then submit the rest. */
int ring_enter(struct ring *r, unsigned wait, uint64_t wait_ns)
{
    int n;

    __atomic_store_n(r->uring.sq.ktail, r->tail, __ATOMIC_RELEASE);
    if (r->sqpoll)
        return enter_sqpoll(r, wait, wait_ns);
    if (wait_ns == 0)
        wait = 0;
    n = enter(r, ring_unsubmitted(r), wait, wait_ns);
    if (n >= 0) {
        r->taken += (unsigned)n;
        return ring_ready(r) < wait ? -ETIME : 0;   /* a time-out after a submission is silent */
    }
    /* With a wait, an error of the wait hides the count: read what was consumed. */
    r->taken = __atomic_load_n(r->uring.sq.khead, __ATOMIC_ACQUIRE);
    if (n == -EAGAIN || n == -EBUSY)
        return r->taken != r->done ? 0 : -EAGAIN;
    return n;
}

int ring_cancel(struct ring *r, uint64_t tag)
{
    struct io_uring_sync_cancel_reg reg = {
        .addr = tag, .fd = -1, .timeout = { 0, 0 },
    };
    int err;

    if (ring_unsubmitted(r))
        ring_enter(r, 0, 0);            /* what is queued must be known to be cancelled */
    err = io_uring_register_sync_cancel(&r->uring, &reg);
    return err == -ETIME ? -EALREADY : err > 0 ? 0 : err;
}

static void cancel_all(struct ring *r)
{
    struct io_uring_sync_cancel_reg reg = {
        .fd = -1, .flags = IORING_ASYNC_CANCEL_ANY | IORING_ASYNC_CANCEL_ALL,
        .timeout = { 0, 0 },
    };

    io_uring_register_sync_cancel(&r->uring, &reg);
}

int ring_drain(struct ring *r, uint64_t grace_ns)
{
    uint64_t deadline = clock_now() + grace_ns;
    bool cancelled = false;

    for (;;) {
        ring_consume(r, ring_ready(r));
        if (ring_in_flight(r) == 0)
            return 0;
        if (clock_now() >= deadline)
            return -ETIME;
        ring_submit(r, 1, ENGINE_WAIT_NS / 10);
        if (!cancelled && ring_unsubmitted(r) == 0)
            cancel_all(r);
        cancelled = true;
    }
}

int ring_close(struct ring *r, uint64_t grace_ns)
{
    int err = ring_drain(r, grace_ns);

    if (err == -ETIME)
        return err;             /* leaked on purpose: the kernel may still write there */
    /* The kernel takes a ring apart later: what it holds is given back before, so that the next
     * job finds the device unclaimed and its locked memory free. */
    io_uring_unregister_files(&r->uring);
    io_uring_unregister_buffers(&r->uring);
    io_uring_queue_exit(&r->uring);
    free(r);
    return 0;
}
