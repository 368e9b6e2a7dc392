/*
 * mapped - the mmap engine: reads through a mapping of the file, as page faults.
 *
 * A request is copied out of the mapping by process_vm_readv on ourselves: pages are faulted in
 * as an access would, with the read-ahead of faults, and where one cannot be read the call says
 * so instead of a signal that ends the process.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/mapped.h"

struct mapped {
    struct clock clock;
    char *mem;
    uint64_t size;
    pid_t self;
    struct io_req q;
    struct io_done done;
    bool queued, finished;
};

int mapped_open(struct mapped **out, const struct file *f)
{
    struct mapped *m;
    uint64_t size;
    int err = file_size(&size, f);

    if (err < 0 || size == 0)
        return err < 0 ? err : -ENODATA;
    m = calloc(1, sizeof *m);
    if (!m)
        return -ENOMEM;
    m->mem = mmap(NULL, size, PROT_READ, MAP_SHARED, f->fd, 0);
    if (m->mem == MAP_FAILED) {
        err = -errno;
        free(m);
        return err;
    }
    m->size = size;
    m->self = getpid();
    clock_calibrate(&m->clock);
    *out = m;
    return 0;
}

static int prepare(void *self, const struct io_req *q, uint64_t tag)
{
    struct mapped *m = self;

    if (m->queued || m->finished)
        return -EBUSY;
    m->q = *q;
    m->done.tag = tag;
    m->queued = true;
    return 0;
}

/* Bytes read, 0 past the end as a read gives, -EIO where a page cannot be had. */
static int perform(struct mapped *m)
{
    uint64_t left = m->q.pos < m->size ? m->size - m->q.pos : 0;
    size_t len = m->q.len < left ? m->q.len : (size_t)left;
    struct iovec to = { (void *)(uintptr_t)m->q.addr, len };
    struct iovec from = { m->mem + m->q.pos, len };
    ssize_t n;

    if (m->q.kind != IO_READ && m->q.kind != IO_READ_FIXED)
        return -EOPNOTSUPP;
    if (len == 0)
        return 0;
    n = process_vm_readv(m->self, &to, 1, &from, 1, 0);
    if (n < 0)
        return errno == EFAULT ? -EIO : -errno;
    return (int)n;
}

static int submit(void *self, unsigned wait, uint64_t wait_ns)
{
    struct mapped *m = self;

    if (m->queued) {
        m->done.res = perform(m);
        m->finished = true;
        m->queued = false;
    } else if (!m->finished && wait && wait_ns) {
        clock_sleep_until(clock_now() + wait_ns);
        return -ETIME;
    }
    return 0;
}

static unsigned ready(void *self)
{
    return ((struct mapped *)self)->finished;
}

static struct io_done at(void *self, unsigned i)
{
    (void)i;
    return ((struct mapped *)self)->done;
}

static void consume(void *self, unsigned n)
{
    struct mapped *m = self;

    m->finished = m->finished && n == 0;
}

static uint64_t now(void *self)
{
    return clock_read(&((struct mapped *)self)->clock);
}

static int mapped_close(void *self, uint64_t grace_ns)
{
    struct mapped *m = self;

    (void)grace_ns;
    munmap(m->mem, m->size);
    free(m);
    return 0;
}

const struct engine mapped_engine = {
    "mmap", prepare, submit, ready, at, consume, now, mapped_close,
};
