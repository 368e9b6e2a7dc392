#include <fcntl.h>

#include "core/ringop.h"

struct io_req ringop(const struct io_req *q)
{
    struct io_req r = *q;

    switch ((enum io_kind)q->kind) {
    case IO_FALLOCATE:
        r.addr = q->addr2;
        r.len = q->flags;
        r.flags = 0;
        break;
    case IO_OPENAT:
        r.flags |= O_CLOEXEC;
        break;
    case IO_STATX: case IO_SYMLINKAT:
        r.pos = q->addr2;
        break;
    case IO_RENAMEAT: case IO_LINKAT:
        r.pos = q->addr2;
        r.len = (uint32_t)q->fd2;
        r.fd2 = 0;              /* the entry's field means something else here */
        break;
    case IO_SPLICE:
        r.addr = q->addr2;
        break;
    case IO_NOP: case IO_READV: case IO_WRITEV: case IO_FSYNC: case IO_READ_FIXED:
    case IO_WRITE_FIXED: case IO_POLL: case IO_SYNC_RANGE: case IO_TIMEOUT: case IO_CANCEL:
    case IO_CLOSE: case IO_READ: case IO_WRITE: case IO_FADVISE: case IO_UNLINKAT:
    case IO_MKDIRAT: case IO_FTRUNCATE: case IO_DISCARD: case IO_GETDENTS: case IO_READV_FIXED:
    case IO_WRITEV_FIXED:
        break;
    }
    return r;
}
