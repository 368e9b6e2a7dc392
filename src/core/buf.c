#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/buf.h"

#define HUGE_PAGE ((size_t)2 << 20)

static atomic_size_t alive, bytes;      /* what buf_alive and buf_bytes tell; no other state */

/* Map len bytes at a multiple of align by cutting a larger mapping. */
static void *map_aligned(size_t len, size_t align)
{
    size_t extra = align > (size_t)sysconf(_SC_PAGESIZE) ? align : 0;
    unsigned char *p = mmap(NULL, len + extra, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    size_t skip;

    if (p == MAP_FAILED || extra == 0)
        return p;
    skip = (align - (uintptr_t)p % align) % align;
    if (skip)
        munmap(p, skip);
    if (extra > skip)
        munmap(p + skip + len, extra - skip);
    return p + skip;
}

int buf_open(struct buf **out, size_t len)
{
    size_t align = len >= HUGE_PAGE ? HUGE_PAGE : (size_t)sysconf(_SC_PAGESIZE);
    struct buf *b;

    if (len == 0 || len > BUF_LEN_MAX)
        return -EINVAL;
    b = calloc(1, sizeof *b);
    if (!b)
        return -ENOMEM;
    b->mapped = (len + align - 1) / align * align;
    b->mem = map_aligned(b->mapped, align);
    if (b->mem == MAP_FAILED) {
        free(b);
        return -ENOMEM;
    }
    madvise(b->mem, b->mapped, MADV_DONTFORK);
    if (align == HUGE_PAGE)
        madvise(b->mem, b->mapped, MADV_HUGEPAGE);      /* a hint: refused is fine */
    b->len = len;
    b->refs = 1;
    atomic_fetch_add(&alive, 1);
    atomic_fetch_add(&bytes, b->mapped);
    *out = b;
    return 0;
}

struct buf *buf_ref(struct buf *b)
{
    __atomic_add_fetch(&b->refs, 1, __ATOMIC_RELAXED);
    return b;
}

void buf_unref(struct buf *b)
{
    if (!b || __atomic_sub_fetch(&b->refs, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    atomic_fetch_sub(&alive, 1);
    atomic_fetch_sub(&bytes, b->mapped);
    munmap(b->mem, b->mapped);
    free(b);
}

size_t buf_alive(void)
{
    return atomic_load(&alive);
}

size_t buf_bytes(void)
{
    return atomic_load(&bytes);
}
