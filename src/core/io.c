#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "core/io.h"

static void *pointer(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

static int64_t discard(const struct io_req *q)
{
    uint64_t range[2] = { q->pos, q->addr2 };
    struct stat st;

    if (fstat(q->fd, &st) < 0)
        return -1;
    if (S_ISBLK(st.st_mode))
        return ioctl(q->fd, BLKDISCARD, range);
    return fallocate(q->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)q->pos,
                     (off_t)q->addr2);
}

static int64_t wait_readable(const struct io_req *q)
{
    struct pollfd p = { .fd = q->fd, .events = (short)q->flags };

    return poll(&p, 1, -1) < 0 ? -1 : p.revents;
}

static int64_t splice_at(const struct io_req *q)
{
    off64_t in = (off64_t)q->addr2, out = (off64_t)q->pos;

    return splice(q->fd2, in < 0 ? NULL : &in, q->fd, out < 0 ? NULL : &out, q->len, q->flags);
}

/* One read or write; pos of all ones means the current position, as io_uring has it. */
static int64_t transfer(const struct io_req *q)
{
    struct iovec one = { pointer(q->addr), q->len };
    const struct iovec *iov = &one;
    int count = 1;

    if (q->kind == IO_READV || q->kind == IO_WRITEV || q->kind == IO_READV_FIXED ||
        q->kind == IO_WRITEV_FIXED) {
        iov = pointer(q->addr);
        count = (int)q->len;
    }
    if (q->kind == IO_READ || q->kind == IO_READ_FIXED || q->kind == IO_READV ||
        q->kind == IO_READV_FIXED)
        return preadv2(q->fd, iov, count, (off_t)q->pos, (int)q->flags);
    return pwritev2(q->fd, iov, count, (off_t)q->pos, (int)q->flags);
}

static int64_t in_directory(const struct io_req *q)
{
    const char *path = pointer(q->addr), *other = pointer(q->addr2);

    switch ((enum io_kind)q->kind) {
    case IO_OPENAT:
        return openat(q->fd, path, (int)q->flags | O_CLOEXEC, (mode_t)q->len);
    case IO_STATX:
        return statx(q->fd, path, (int)q->flags, q->len, pointer(q->addr2));
    case IO_RENAMEAT:
        return renameat2(q->fd, path, q->fd2, other, q->flags);
    case IO_UNLINKAT:
        return unlinkat(q->fd, path, (int)q->flags);
    case IO_MKDIRAT:
        return mkdirat(q->fd, path, (mode_t)q->len);
    case IO_SYMLINKAT:
        return symlinkat(path, q->fd, other);
    case IO_LINKAT:
        return linkat(q->fd, path, q->fd2, other, (int)q->flags);
    default:
        errno = EOPNOTSUPP;
        return -1;
    }
}

static int64_t perform(const struct io_req *q)
{
    switch ((enum io_kind)q->kind) {
    case IO_NOP:
        return 0;
    case IO_READ: case IO_WRITE: case IO_READV: case IO_WRITEV: case IO_READ_FIXED:
    case IO_WRITE_FIXED: case IO_READV_FIXED: case IO_WRITEV_FIXED:
        return transfer(q);
    case IO_FSYNC:
        return q->flags & IO_DATASYNC ? fdatasync(q->fd) : fsync(q->fd);
    case IO_POLL:
        return wait_readable(q);
    case IO_SYNC_RANGE:
        return sync_file_range(q->fd, (off64_t)q->pos, q->len, q->flags);
    case IO_FALLOCATE:
        return fallocate(q->fd, (int)q->flags, (off_t)q->pos, (off_t)q->addr2);
    case IO_CLOSE:
        return close(q->fd);
    case IO_FADVISE:
        errno = posix_fadvise(q->fd, (off_t)q->pos, q->len, (int)q->flags);
        return errno ? -1 : 0;
    case IO_SPLICE:
        return splice_at(q);
    case IO_FTRUNCATE:
        return ftruncate(q->fd, (off_t)q->pos);
    case IO_DISCARD:
        return discard(q);
    case IO_GETDENTS:
        return syscall(SYS_getdents64, q->fd, pointer(q->addr), q->len);
    default:
        return in_directory(q);
    }
}

int io_perform(const struct io_req *q)
{
    int64_t res;

    do
        res = perform(q);
    while (res < 0 && errno == EINTR && q->kind != IO_CLOSE && q->kind != IO_POLL);
    return res < 0 ? -errno : (int)res;
}
