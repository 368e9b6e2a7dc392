/*
 * flush - what is dirty goes to the disk, what is cached is dropped: before a run that is to
 * meet the disk. These block the calling thread, and other processes that use the disk.
 */
#ifndef IOLUA_CORE_FLUSH_H
#define IOLUA_CORE_FLUSH_H

#include "core/file.h"

/* Write out what the filesystem that holds path has in memory. 0 or -errno. */
int flush_filesystem(const char *path);

/* Write out and drop the cached pages of an open file or block device. 0, or -errno; -EACCES
 * where only root may drop a device's. */
int flush_file(const struct file *f);

#endif
