/*
 * flush - syncfs, posix_fadvise and BLKFLSBUF.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/flush.h"

int flush_filesystem(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err;

    if (fd < 0)
        return -errno;
    err = syncfs(fd) < 0 ? -errno : 0;
    close(fd);
    return err;
}

int flush_file(const struct file *f)
{
    if (f->type == FILE_CHAR)
        return 0;
    if (f->type == FILE_BLOCK)
        return ioctl(f->fd, BLKFLSBUF, 0) < 0 ? -errno : 0;
    if (f->writable && fdatasync(f->fd) < 0)
        return -errno;
    return -posix_fadvise(f->fd, 0, 0, POSIX_FADV_DONTNEED);
}
