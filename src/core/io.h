/*
 * io - what one operation is, and how it is done by a plain system call.
 *
 * Every engine takes the same request: io_uring turns it into a submission entry, the threads
 * and sync engines call io_perform. The kinds a job uses have the numbers of io_uring's
 * opcodes, so that the loop has nothing to translate.
 */
#ifndef IOLUA_CORE_IO_H
#define IOLUA_CORE_IO_H

#include <stdint.h>

enum io_kind {                  /* IORING_OP_*: checked in ring.c */
    IO_NOP = 0,
    IO_READV = 1,               /* addr: iovec array, len: entries */
    IO_WRITEV = 2,
    IO_FSYNC = 3,               /* flags: IO_DATASYNC */
    IO_READ_FIXED = 4,          /* buf_index: registered buffer that holds [addr, addr + len) */
    IO_WRITE_FIXED = 5,
    IO_POLL = 6,                /* wait until fd is readable; flags: poll events */
    IO_SYNC_RANGE = 8,          /* sync_file_range(fd, pos, len, flags) */
    IO_TIMEOUT = 11,            /* internal to the ring */
    IO_CANCEL = 14,             /* internal to the ring */
    IO_FALLOCATE = 17,          /* fallocate(fd, flags, pos, addr2 as length) */
    IO_OPENAT = 18,             /* addr: path, len: mode, flags: open flags; result: fd */
    IO_CLOSE = 19,
    IO_STATX = 21,              /* addr: path, len: mask, addr2: struct statx, flags: AT_* */
    IO_READ = 22,
    IO_WRITE = 23,
    IO_FADVISE = 24,            /* posix_fadvise(fd, pos, len, flags) */
    IO_SPLICE = 30,             /* splice(fd2, addr2 as position, fd, pos, len, flags) */
    IO_RENAMEAT = 35,           /* addr: old path, addr2: new path */
    IO_UNLINKAT = 36,           /* addr: path, flags: AT_REMOVEDIR */
    IO_MKDIRAT = 37,            /* addr: path, len: mode */
    IO_SYMLINKAT = 38,          /* addr: target, addr2: path */
    IO_LINKAT = 39,             /* addr: old path, addr2: new path, flags: AT_* */
    IO_FTRUNCATE = 55,          /* pos: new length; an opcode from Linux 6.9 on */
    IO_READV_FIXED = 60,        /* as READV, within registered buffer buf_index; Linux 6.15 */
    IO_WRITEV_FIXED = 61,
    IO_DISCARD = 200,           /* BLKDISCARD or hole punch of [pos, pos + addr2); no opcode */
    IO_GETDENTS = 201,          /* addr: buffer, len: its bytes; no opcode */
};

#define IO_FIXED_FILE 1u        /* req_flags: fd is an index of the registered files */
#define IO_DATASYNC   1u        /* flags of IO_FSYNC: fdatasync */
#define IO_LEN_MAX    0x7ffff000u       /* the most one read or write moves: INT_MAX in pages */

/* One request. What a kind does not name is 0. Memory it points to stays valid until the
 * request is done, except paths and iovecs, which io_uring reads when it is submitted. */
struct io_req {
    uint8_t  kind;              /* enum io_kind */
    uint8_t  req_flags;         /* IO_FIXED_FILE */
    uint16_t buf_index;
    int32_t  fd;
    uint64_t pos;               /* bytes from the start */
    uint64_t addr;              /* pointer */
    uint32_t len;               /* bytes, entries or mode */
    uint32_t flags;
    uint64_t addr2;             /* second pointer or 64-bit argument */
    int32_t  fd2;
};

/* One completion. */
struct io_done {
    uint64_t tag;               /* as given with the request */
    int32_t  res;               /* >= 0, or -errno */
};

/* Do q now, in this thread, by a system call. Returns >= 0 or -errno; -EOPNOTSUPP for a kind
 * that has no system call. Waits for as long as the call does; IO_POLL until it is readable. */
int io_perform(const struct io_req *q);

#endif
