#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "core/blk.h"
#include "core/busy.h"
#include "core/guard.h"

#define CONFIGFS_MAGIC 0x62656570u      /* not in linux/magic.h */

static int refuse(int err, char *message, size_t len, const char *text)
{
    snprintf(message, len, "%s", text);
    return err;
}

/* Start the message with "open PATH: "; what follows is written behind it. */
static void begin(char **message, size_t *len, const char *path)
{
    size_t n = (size_t)snprintf(*message, *len, "open %s: ", path[0] ? path : "\"\"");

    if (n >= *len)                      /* a path longer than the message: the reason matters */
        n = 0;
    *message += n;
    *len -= n;
}

/* Open what fd is open on once more: the same inode, whatever its name leads to by now. */
static int reopen(int fd, int flags)
{
    char path[32];
    int again;

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    again = open(path, flags | O_CLOEXEC);
    return again < 0 ? -errno : again;
}

/* Does destroy name this very device? Says in message why not. */
static int named(dev_t dev, const char *destroy, const char *holds, char *message, size_t len)
{
    struct stat st;

    if (!destroy) {
        snprintf(message, len, "holds %s: only destroy = \"the device's path\" lets it be "
                 "overwritten", holds);
        return -EEXIST;
    }
    if (stat(destroy, &st) < 0)
        snprintf(message, len, "holds %s, and destroy = \"%s\" names no device", holds, destroy);
    else if (!S_ISBLK(st.st_mode))
        snprintf(message, len, "holds %s, and destroy = \"%s\" is no block device", holds,
                 destroy);
    else if (st.st_rdev != dev)
        snprintf(message, len, "holds %s, and destroy = \"%s\" names another device", holds,
                 destroy);
    else
        return 0;
    return -EEXIST;
}

/* A claimed, buffered descriptor: is there data on it that nobody gave up? */
static int holds_data(int fd, dev_t dev, const char *destroy, char *message, size_t len)
{
    char holds[160];
    int found = blk_signature(holds, sizeof holds, fd);

    if (found == 0)
        return 0;
    if (found < 0)
        snprintf(holds, sizeof holds, "something that cannot be read");
    return named(dev, destroy, holds, message, len);
}

/* Claim the block device under fd and look at it. flags: O_SYNC or 0, which cannot be set
 * later, as O_DIRECT can. Returns the claiming descriptor. */
static int claim(int fd, dev_t dev, const char *destroy, int flags, char *message, size_t len)
{
    int read_only = 0, excl, err = busy_device("", dev, message, len);

    if (err < 0)
        return err;
    if (ioctl(fd, BLKROGET, &read_only) == 0 && read_only)
        return refuse(-EROFS, message, len, "the device is read-only");
    excl = reopen(fd, O_RDWR | O_EXCL | flags);
    if (excl == -EBUSY)
        return refuse(-EBUSY, message, len, "in use: claimed by the kernel or a program");
    if (excl < 0)
        return refuse(excl, message, len, strerrordesc_np(-excl));
    err = holds_data(excl, dev, destroy, message, len);
    if (err < 0)
        close(excl);
    return err < 0 ? err : excl;
}

/* Put the claim under the caller's number. */
static int keep(int fd, int excl, int flags, char *message, size_t len)
{
    int err = 0;

    if (fcntl(excl, F_SETFL, flags & O_DIRECT) < 0 || dup3(excl, fd, O_CLOEXEC) < 0)
        err = refuse(-errno, message, len, strerrordesc_np(errno));
    close(excl);
    return err;
}

static int block(int fd, dev_t dev, const struct guard_ask *ask, char *message, size_t len)
{
    int flags = fcntl(fd, F_GETFL), excl;

    excl = claim(fd, dev, ask->destroy, flags & (O_SYNC | O_DSYNC), message, len);
    return excl < 0 ? excl : keep(fd, excl, flags, message, len);
}

/* Is fd a file that the kernel makes up (sysfs, efivarfs ...)? Those are no place for I/O, and
 * some do harm when written. */
static bool made_up(int fd)
{
    static const unsigned kinds[] = {
        PROC_SUPER_MAGIC, SYSFS_MAGIC, DEBUGFS_MAGIC, TRACEFS_MAGIC, SECURITYFS_MAGIC,
        EFIVARFS_MAGIC, CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, BPF_FS_MAGIC, CONFIGFS_MAGIC,
    };
    struct statfs fs;

    if (fstatfs(fd, &fs) < 0)
        return false;
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if ((unsigned)fs.f_type == kinds[i])
            return true;
    return false;
}

static int regular(int fd, const struct stat *st, const struct guard_ask *ask, char *message,
                   size_t len)
{
    int err = busy_file("", st, message, len);

    if (err < 0)
        return err;
    if (made_up(fd))
        return refuse(-EPERM, message, len, "a file that the kernel makes up");
    if (ask->made || ask->overwrite)
        return 0;
    return refuse(-EPERM, message, len, "the file exists: overwrite = true lets it be written");
}

/* mem, kmem and port are the machine's own memory: 1:1, 1:2, 1:4. */
static int character(dev_t dev, const struct guard_ask *ask, char *message, size_t len)
{
    if (major(dev) == 1 && (minor(dev) == 1 || minor(dev) == 2 || minor(dev) == 4))
        return refuse(-EPERM, message, len, "the machine's memory");
    if (ask->overwrite)
        return 0;
    return refuse(-EPERM, message, len, "a character device: overwrite = true lets it be written");
}

int guard_write(int fd, const struct guard_ask *ask, char *message, size_t len)
{
    struct stat st;

    begin(&message, &len, ask->path);
    if (fstat(fd, &st) < 0)
        return refuse(-errno, message, len, strerrordesc_np(errno));
    if (S_ISREG(st.st_mode))
        return regular(fd, &st, ask, message, len);
    if (S_ISBLK(st.st_mode))
        return block(fd, st.st_rdev, ask, message, len);
    if (S_ISCHR(st.st_mode))
        return character(st.st_rdev, ask, message, len);
    if (S_ISDIR(st.st_mode))
        return refuse(-EISDIR, message, len, "a directory");
    return refuse(-EINVAL, message, len, S_ISFIFO(st.st_mode) ? "a pipe" : "a socket");
}

/* Is folder (an absolute path without links) in /dev, where files are devices? */
static bool under_dev(const char *folder)
{
    if (strncmp(folder, "/dev/shm", 8) == 0 && (folder[8] == '/' || !folder[8]))
        return false;
    return strncmp(folder, "/dev", 4) == 0 && (folder[4] == '/' || !folder[4]);
}

int guard_create(const char *path, char *message, size_t len)
{
    char folder[PATH_MAX], real[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) : 0;

    begin(&message, &len, path);
    if (!path[0])
        return refuse(-ENOENT, message, len, "the path is empty");
    if (slash && !slash[1])
        return refuse(-EISDIR, message, len, "the path ends in a slash");
    if (n >= sizeof folder)
        return refuse(-ENAMETOOLONG, message, len, strerrordesc_np(ENAMETOOLONG));
    snprintf(folder, sizeof folder, "%.*s", (int)n, path);
    if (!realpath(!slash ? "." : n ? folder : "/", real))
        return refuse(-errno, message, len, strerrordesc_np(errno));
    if (under_dev(real))
        return refuse(-ENOENT, message, len, "no such device (no file is made in /dev)");
    return 0;
}

int guard_device(const char *path, const char *destroy, char *message, size_t len)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), excl;
    struct stat st;

    begin(&message, &len, path);
    if (fd < 0)
        return refuse(-errno, message, len, strerrordesc_np(errno));
    if (fstat(fd, &st) < 0 || !S_ISBLK(st.st_mode))
        excl = refuse(-ENOTBLK, message, len, strerrordesc_np(ENOTBLK));
    else
        excl = claim(fd, st.st_rdev, destroy, 0, message, len);
    close(fd);
    if (excl < 0)
        return excl;
    close(excl);
    return 0;
}
