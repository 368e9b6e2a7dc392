#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/loopmake.h"

#define TRIES 64                /* others take free devices too */

/* Configure the device under fd: 0, -EBUSY when somebody else was faster, or another -errno. */
static int configure(int fd, int file, uint32_t block_size)
{
    struct loop_config c = { .fd = (uint32_t)file, .block_size = block_size };

    /* Only where the file itself could be opened for it: an overlay over tmpfs lets the device
     * have direct I/O, and then fails every read. */
    c.info.lo_flags = LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO;
    if (fcntl(file, F_GETFL) & O_DIRECT) {
        if (ioctl(fd, LOOP_CONFIGURE, &c) == 0)
            return 0;
        if (errno != EINVAL)
            return -errno;
    }
    c.info.lo_flags = LO_FLAGS_AUTOCLEAR;       /* a file that knows no direct I/O */
    return ioctl(fd, LOOP_CONFIGURE, &c) == 0 ? 0 : -errno;
}

/* Some files take direct I/O when they are asked and refuse it when it comes: one on an overlay
 * over a tmpfs. A read tells; then the device goes through the page cache. */
static void check_direct(int fd)
{
    char byte;

    if (pread(fd, &byte, 1, 0) < 0)
        ioctl(fd, LOOP_SET_DIRECT_IO, 0ul);
}

static int try_one(int *fd, char *path, int control, int file, uint32_t block_size)
{
    int n = ioctl(control, LOOP_CTL_GET_FREE), err;

    if (n < 0)
        return -errno;
    snprintf(path, 64, "/dev/loop%d", n);
    *fd = open(path, O_RDWR | O_CLOEXEC);
    if (*fd < 0)
        return -errno;
    err = configure(*fd, file, block_size);
    if (err < 0)
        close(*fd);
    else
        check_direct(*fd);
    return err;
}

int loop_make(int *fd, char *path, int file, uint32_t block_size, char *message, size_t len)
{
    int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC), err = -EBUSY, got = -1;

    if (control < 0) {
        err = -errno;
        snprintf(message, len, "/dev/loop-control: %s", strerrordesc_np(-err));
        return err;
    }
    for (unsigned i = 0; i < TRIES && err == -EBUSY; i++)
        err = try_one(&got, path, control, file, block_size);
    close(control);
    if (err < 0)
        snprintf(message, len, "loop device: %s", strerrordesc_np(-err));
    else
        *fd = got;
    return err;
}
