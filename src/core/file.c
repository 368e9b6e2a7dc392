#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/file.h"
#include "core/guard.h"

#ifndef STATX_DIOALIGN          /* Linux 6.1; not in this C library's headers */
#define STATX_DIOALIGN 0x2000u
#endif

static int fail(char *message, size_t len, const char *path, int err)
{
    snprintf(message, len, "open %s: %s", path, strerrordesc_np(-err));
    return err;
}

static enum file_type type_of(mode_t mode)
{
    return S_ISREG(mode) ? FILE_REGULAR : S_ISBLK(mode) ? FILE_BLOCK :
           S_ISCHR(mode) ? FILE_CHAR : FILE_OTHER;
}

/* Alignment that direct I/O needs: the device's logical block, or what statx tells for a file
 * (the two words after stx_dio in newer headers), else the page-safe 4096. */
static void find_alignment(struct file *f)
{
    struct statx st;
    int bytes;

    f->block_size = 1;
    f->mem_align = 1;
    if (f->type == FILE_BLOCK && f->direct && ioctl(f->fd, BLKSSZGET, &bytes) == 0)
        f->block_size = f->mem_align = (uint32_t)bytes;
    if (f->type != FILE_REGULAR || !f->direct)
        return;
    f->block_size = f->mem_align = 512;
    if (statx(f->fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &st) == 0 &&
        st.stx_mask & STATX_DIOALIGN) {
        uint32_t align[2];      /* stx_dio_mem_align, stx_dio_offset_align */

        memcpy(align, (const char *)&st + 0x98, sizeof align);
        f->mem_align = align[0] ? align[0] : f->mem_align;
        f->block_size = align[1] ? align[1] : f->block_size;
    }
}

/* Reading must change nothing, not even the access time; only the owner may ask for that. */
static int open_quietly(const char *path, int flags)
{
    int fd = open(path, flags | O_NOATIME);

    return fd < 0 && errno == EPERM ? open(path, flags) : fd;
}

/* A writable descriptor for what f->fd is open on, once the guard has agreed: block devices it
 * has reopened itself; others are reached through /proc, so that it is the one checked. */
static int reopen_for_write(struct file *f, const char *path, const struct file_options *o,
                            char *message, size_t len)
{
    struct guard_ask ask = { path, o->overwrite, f->made, o->destroy };
    int flags = O_RDWR | O_CLOEXEC | (o->direct ? O_DIRECT : 0) | (o->sync ? O_SYNC : 0), fd;
    int err = guard_write(f->fd, &ask, message, len);
    char link[32];

    f->writable = err == 0;
    if (err < 0 || f->type == FILE_BLOCK)
        return err;
    snprintf(link, sizeof link, "/proc/self/fd/%d", f->fd);
    fd = open_quietly(link, flags);
    if (fd < 0 && errno == EACCES)
        fd = open(link, (flags & ~O_ACCMODE) | O_WRONLY);
    if (fd < 0)
        return fail(message, len, path, -errno);
    close(f->fd);
    f->fd = fd;
    return 0;
}

/* A new file, only where nothing is yet. */
static int create(struct file *f, const char *path, char *message, size_t len)
{
    int err = guard_create(path, message, len);

    if (err < 0)
        return err;
    f->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    f->made = f->fd >= 0;
    return f->made ? 0 : fail(message, len, path, -errno);
}

/* Open path for reading, or create it. */
static int open_first(struct file *f, const char *path, const struct file_options *o,
                      char *message, size_t len)
{
    int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | (o->direct ? O_DIRECT : 0) |
                (o->sync ? O_SYNC : 0);

    f->fd = open_quietly(path, flags);
    if (f->fd < 0 && errno == EACCES && o->write)
        f->fd = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK);      /* a write-only file */
    if (f->fd < 0 && errno == ENOENT && o->create && o->write)
        return create(f, path, message, len);
    return f->fd < 0 ? fail(message, len, path, -errno) : 0;
}

static int describe(struct file *f, const char *path)
{
    struct stat st;

    if (fstat(f->fd, &st) < 0)
        return -errno;
    if (S_ISDIR(st.st_mode))
        return -EISDIR;
    f->type = type_of(st.st_mode);
    f->rdev = st.st_rdev;
    f->path = strdup(path);
    return f->path ? 0 : -ENOMEM;
}

/* O_NONBLOCK was only for opening: a fifo without a writer would have hung. */
static void set_blocking(int fd)
{
    int flags = fcntl(fd, F_GETFL);

    if (flags >= 0 && flags & O_NONBLOCK)
        fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
}

static int open_all(struct file *f, const char *path, const struct file_options *o,
                    char *message, size_t len)
{
    int err = open_first(f, path, o, message, len);

    if (err < 0)
        return err;
    err = describe(f, path);
    if (err < 0)
        return fail(message, len, path, err);
    set_blocking(f->fd);
    return o->write ? reopen_for_write(f, path, o, message, len) : 0;
}

int file_open(struct file **out, const char *path, const struct file_options *o, char *message,
              size_t len)
{
    struct file *f;
    int err;

    if (!*path)
        return fail(message, len, "\"\"", -ENOENT);
    f = calloc(1, sizeof *f);
    if (!f)
        return fail(message, len, path, -ENOMEM);
    f->refs = 1;
    f->direct = o->direct;
    err = open_all(f, path, o, message, len);
    if (err < 0) {
        if (f->made)
            unlink(path);
        file_unref(f);
        return err;
    }
    find_alignment(f);
    *out = f;
    return 0;
}

/* A file without a name in dir; where the filesystem has no such thing, one whose name is
 * removed at once. Descriptor or -errno. */
static int open_nameless(const char *dir, int flags)
{
    char name[4096];
    int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC | flags, 0600), err;

    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT))
        return fd < 0 ? -errno : fd;
    if ((size_t)snprintf(name, sizeof name, "%s/iolua-XXXXXX", dir) >= sizeof name)
        return -ENAMETOOLONG;
    fd = mkostemp(name, O_CLOEXEC | flags);
    err = -errno;
    if (fd >= 0 || err == -EINVAL)      /* made, then refused: no direct I/O there */
        unlink(name);
    return fd < 0 ? err : fd;
}

int file_scratch(struct file **out, const char *dir, bool direct, char *message, size_t len)
{
    struct file *f = calloc(1, sizeof *f);
    char path[64];
    int err = -ENOMEM;

    if (!f)
        return fail(message, len, dir, err);
    f->refs = 1;
    f->direct = direct;
    f->made = f->writable = true;
    f->fd = err = open_nameless(dir, direct ? O_DIRECT : 0);
    if (err < 0)
        goto fail;
    snprintf(path, sizeof path, "/proc/%ld/fd/%d", (long)getpid(), f->fd);
    err = describe(f, path);
    if (err < 0)
        goto fail;
    find_alignment(f);
    *out = f;
    return 0;
fail:
    file_unref(f);
    return fail(message, len, dir, err);
}

int file_adopt(struct file **out, int fd, const char *path, bool writable)
{
    struct file *f = calloc(1, sizeof *f);
    struct stat st;

    if (!f || fstat(fd, &st) < 0 || !(f->path = strdup(path))) {
        free(f);
        close(fd);
        return -ENOMEM;
    }
    f->fd = fd;
    f->refs = 1;
    f->type = type_of(st.st_mode);
    f->rdev = st.st_rdev;
    f->writable = writable;
    f->block_size = f->mem_align = 1;
    *out = f;
    return 0;
}

struct file *file_ref(struct file *f)
{
    __atomic_add_fetch(&f->refs, 1, __ATOMIC_RELAXED);
    return f;
}

void file_unref(struct file *f)
{
    if (!f || __atomic_sub_fetch(&f->refs, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    if (f->fd >= 0)
        close(f->fd);
    free(f->path);
    free(f);
}

int file_size(uint64_t *bytes, const struct file *f)
{
    struct stat st;

    *bytes = 0;
    if (f->type == FILE_BLOCK)
        return ioctl(f->fd, BLKGETSIZE64, bytes) < 0 ? -errno : 0;
    if (fstat(f->fd, &st) < 0)
        return -errno;
    if (f->type == FILE_REGULAR)
        *bytes = (uint64_t)st.st_size;
    return 0;
}
