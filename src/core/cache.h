/*
 * cache - the page cache of one file or device: written out, dropped, counted.
 */
#ifndef IOLUA_CORE_CACHE_H
#define IOLUA_CORE_CACHE_H

#include "core/file.h"

enum cache_means { CACHE_CACHESTAT, CACHE_MINCORE };

/* Write out what is dirty and wait for it, then drop clean pages (POSIX_FADV_DONTNEED). What
 * others use or have locked stays: ask cache_resident. 0 or -errno. */
int cache_flush(const struct file *f);

/* The same by BLKFLSBUF, of block devices only: needs root. */
int cache_flush_device(const struct file *f);

/* Bytes of [offset, offset + len) that are in the cache (len 0: to the end), and by which means
 * that was found: cachestat(2), or mincore(2) on kernels before 6.5. 0 or -errno. */
int cache_resident(uint64_t *bytes, enum cache_means *means, const struct file *f,
                   uint64_t offset, uint64_t len);

/* Every page of [offset, offset + len) by mincore alone. */
int cache_mincore(uint64_t *bytes, const struct file *f, uint64_t offset, uint64_t len);

#endif
