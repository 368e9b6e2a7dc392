#include <string.h>
#include <sys/mman.h>

#include "core/simdata.h"

unsigned char *simdata_open(uint64_t size)
{
    void *mem = mmap(NULL, size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return mem == MAP_FAILED ? NULL : mem;
}

void simdata_close(unsigned char *data, uint64_t size)
{
    if (data)
        munmap(data, size);
}

/* The corruption of this write, or NULL. */
static const struct sim_corruption *corruption(struct sim_device *d)
{
    d->writes++;
    for (unsigned i = 0; i < d->spec.corruptions; i++)
        if (d->spec.corruption[i].write == d->writes)
            return &d->spec.corruption[i];
    return NULL;
}

static void corrupt(struct sim_device *d, const struct sim_corruption *c, uint64_t pos,
                    const void *from, size_t bytes)
{
    uint64_t byte = c->byte < bytes ? c->byte : bytes - 1;

    switch (c->kind) {
    case SIM_FLIP:
        memcpy(d->data + pos, from, bytes);
        d->data[pos + byte] ^= 1;
        break;
    case SIM_TORN:
        memcpy(d->data + pos, from, byte);
        break;
    case SIM_MISPLACED:
        if (c->byte <= d->spec.size - bytes - pos)
            memcpy(d->data + pos + c->byte, from, bytes);
        break;
    case SIM_LOST:
        break;
    }
}

void simdata_move(struct sim_device *d, const struct io_req *q, size_t bytes, bool write)
{
    void *mem = (void *)(uintptr_t)q->addr;
    const struct sim_corruption *c;

    if (!mem)
        return;
    if (!write) {
        memcpy(mem, d->data + q->pos, bytes);
        return;
    }
    c = corruption(d);
    if (c)
        corrupt(d, c, q->pos, mem, bytes);
    else
        memcpy(d->data + q->pos, mem, bytes);
}
