/*
 * buf - aligned memory for I/O, counted while the kernel may touch it.
 *
 * A buffer lives until its last reference is dropped: Lua holds one, each request in flight
 * another. So a collected or closed buffer is freed only when its I/O has ended. References
 * may be dropped on any thread. Memory is zeroed, page aligned (2 MiB aligned from 2 MiB on,
 * where transparent huge pages are asked for) and not inherited by fork.
 */
#ifndef IOLUA_CORE_BUF_H
#define IOLUA_CORE_BUF_H

#include <stdbool.h>
#include <stddef.h>

#define BUF_LEN_MAX ((size_t)1 << 40)

struct buf {
    unsigned char *mem;
    size_t len;
    size_t mapped;              /* bytes of the mapping, len rounded up */
    unsigned refs;              /* atomic */
    unsigned lent;              /* requests of the Lua thread's loop that use it (bind/lend.h) */
    bool dropped;               /* Lua let go of it while it was lent */
    unsigned fixed;             /* 1 + its place in the loop's registered buffers, 0: none */
};

/* A buffer of len bytes (1 .. BUF_LEN_MAX) with one reference. 0 or -errno. */
int buf_open(struct buf **out, size_t len);

struct buf *buf_ref(struct buf *b);

/* Drop a reference; b may be NULL. */
void buf_unref(struct buf *b);

/* Buffers alive in the process, and their bytes. */
size_t buf_alive(void);
size_t buf_bytes(void);

#endif
