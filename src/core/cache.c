#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/cache.h"

#ifndef SYS_cachestat
#define SYS_cachestat 451       /* the same number on every architecture */
#endif

#define STRETCH ((uint64_t)1 << 28)     /* bytes that mincore maps at once */

struct cachestat_range {
    uint64_t off, len;
};

struct cachestat {
    uint64_t cached, dirty, writeback, evicted, recently_evicted;       /* pages */
};

int cache_flush(const struct file *f)
{
    if (f->writable && fdatasync(f->fd) < 0)
        return -errno;
    return -posix_fadvise(f->fd, 0, 0, POSIX_FADV_DONTNEED);
}

int cache_flush_device(const struct file *f)
{
    if (f->type != FILE_BLOCK)
        return -ENOTBLK;
    return ioctl(f->fd, BLKFLSBUF, 0) < 0 ? -errno : 0;
}

/* Pages of one stretch that are resident. */
static int count(uint64_t *pages, const struct file *f, uint64_t offset, uint64_t len,
                 uint64_t page)
{
    static const uint64_t most = STRETCH / 4096;
    unsigned char seen[4096];
    char *mem;
    int err = 0;

    if (len / page > most)
        return -EINVAL;
    mem = mmap(NULL, len, PROT_READ, MAP_SHARED, f->fd, (off_t)offset);
    if (mem == MAP_FAILED)
        return -errno;
    for (uint64_t at = 0; at < len && err == 0; at += sizeof seen * page) {
        uint64_t piece = len - at < sizeof seen * page ? len - at : sizeof seen * page;

        err = mincore(mem + at, piece, seen) < 0 ? -errno : 0;
        for (uint64_t i = 0; err == 0 && i < (piece + page - 1) / page; i++)
            *pages += seen[i] & 1;
    }
    munmap(mem, len);
    return err;
}

int cache_mincore(uint64_t *bytes, const struct file *f, uint64_t offset, uint64_t len)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), pages = 0, end, size;
    int err = file_size(&size, f);

    if (err < 0)
        return err;
    end = len && len < size - (offset < size ? offset : size) ? offset + len : size;
    for (uint64_t at = offset / page * page; at < end && err == 0; at += STRETCH)
        err = count(&pages, f, at, end - at < STRETCH ? end - at : STRETCH, page);
    if (err == 0)
        *bytes = pages * page;
    return err;
}

int cache_resident(uint64_t *bytes, enum cache_means *means, const struct file *f,
                   uint64_t offset, uint64_t len)
{
    struct cachestat_range range = { offset, len };
    struct cachestat found;

    if (syscall(SYS_cachestat, f->fd, &range, &found, 0) == 0) {
        *bytes = found.cached * (uint64_t)sysconf(_SC_PAGESIZE);
        *means = CACHE_CACHESTAT;
        return 0;
    }
    *means = CACHE_MINCORE;
    return cache_mincore(bytes, f, offset, len);
}
