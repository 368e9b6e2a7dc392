#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/ringmap.h"

static void *map(int fd, size_t size, off_t what)
{
    return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, what);
}

/* Both rings are one mapping (Linux 5.4). */
static size_t rings_size(const struct io_uring_params *p)
{
    size_t sq = p->sq_off.array + p->sq_entries * sizeof(unsigned);
    size_t cq = p->cq_off.cqes + p->cq_entries * sizeof(struct io_uring_cqe);

    return sq > cq ? sq : cq;
}

static void point_submission(struct io_uring_sq *sq, char *rings, const struct io_uring_params *p)
{
    sq->khead = (unsigned *)(rings + p->sq_off.head);
    sq->ktail = (unsigned *)(rings + p->sq_off.tail);
    sq->kring_mask = (unsigned *)(rings + p->sq_off.ring_mask);
    sq->kring_entries = (unsigned *)(rings + p->sq_off.ring_entries);
    sq->kflags = (unsigned *)(rings + p->sq_off.flags);
    sq->kdropped = (unsigned *)(rings + p->sq_off.dropped);
    sq->ring_mask = *sq->kring_mask;
    sq->ring_entries = *sq->kring_entries;
    sq->ring_ptr = rings;
    sq->ring_sz = rings_size(p);
    if (p->flags & RINGMAP_NO_SQARRAY)
        return;
    sq->array = (unsigned *)(rings + p->sq_off.array);
    for (unsigned i = 0; i < sq->ring_entries; i++)
        sq->array[i] = i;
}

static void point_completion(struct io_uring_cq *cq, char *rings, const struct io_uring_params *p)
{
    cq->khead = (unsigned *)(rings + p->cq_off.head);
    cq->ktail = (unsigned *)(rings + p->cq_off.tail);
    cq->kring_mask = (unsigned *)(rings + p->cq_off.ring_mask);
    cq->kring_entries = (unsigned *)(rings + p->cq_off.ring_entries);
    cq->koverflow = (unsigned *)(rings + p->cq_off.overflow);
    cq->kflags = p->cq_off.flags ? (unsigned *)(rings + p->cq_off.flags) : NULL;
    cq->cqes = (struct io_uring_cqe *)(rings + p->cq_off.cqes);
    cq->ring_mask = *cq->kring_mask;
    cq->ring_entries = *cq->kring_entries;
    cq->ring_ptr = rings;
    cq->ring_sz = rings_size(p);
}

static int map_all(struct io_uring *u, int fd, const struct io_uring_params *p)
{
    size_t size = rings_size(p);
    char *rings = map(fd, size, IORING_OFF_SQ_RING);
    void *entries;

    if (rings == MAP_FAILED)
        return -errno;
    entries = map(fd, p->sq_entries * sizeof(struct io_uring_sqe), IORING_OFF_SQES);
    if (entries == MAP_FAILED) {
        munmap(rings, size);
        return -ENOMEM;
    }
    memset(u, 0, sizeof *u);
    point_submission(&u->sq, rings, p);
    point_completion(&u->cq, rings, p);
    u->sq.sqes = entries;
    u->flags = p->flags;
    u->features = p->features;
    u->ring_fd = u->enter_ring_fd = fd;
    return 0;
}

int ringmap_open(struct io_uring *u, unsigned entries, struct io_uring_params *p)
{
    int fd = (int)syscall(SYS_io_uring_setup, entries, p), err;

    if (fd < 0)
        return -errno;
    err = p->features & IORING_FEAT_EXT_ARG ? map_all(u, fd, p) : -ENOSYS;
    if (err < 0)
        close(fd);
    return err;
}
