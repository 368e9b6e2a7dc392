/*
 * guard - may this be written? The one place that decides (design: Safety).
 *
 * Allowed: a regular file this process made, or any with `overwrite`; a character device with
 * `overwrite`; a block device that is not in use and holds no data, or whose signature is
 * lifted by naming that very device in `destroy`. What is in use stays refused.
 */
#ifndef IOLUA_CORE_GUARD_H
#define IOLUA_CORE_GUARD_H

#include <stdbool.h>
#include <stddef.h>

struct guard_ask {
    const char *path;           /* as the user gave it */
    bool overwrite;             /* regular files and character devices */
    bool made;                  /* this process created the regular file just now */
    const char *destroy;        /* device named by the user, or NULL */
};

/*
 * Check the open descriptor fd (opened read-only) against the ask. 0 when it may be written.
 * fd is then, for a block device, the same number reopened O_RDWR | O_EXCL with the O_DIRECT
 * and O_SYNC it had: it is the claim, keep it open while anything writes; others of this
 * process open the device again without O_EXCL. For other files fd is as it was: open
 * /proc/self/fd/N to write.
 * -EBUSY in use, -EEXIST holds data, -EROFS read-only, -EPERM needs overwrite, or another
 * -errno, with a sentence in message that names the mount point, holder or signature
 * ("open /dev/sda: in use: its partition sda1 is mounted on /home").
 */
int guard_write(int fd, const struct guard_ask *ask, char *message, size_t len);

/*
 * May a missing regular file be made at path? 0, or -errno with the reason: not "", not a
 * name that ends in a slash, and not under /dev (but /dev/shm), where a missing device would
 * become a file that fills memory.
 */
int guard_create(const char *path, char *message, size_t len);

/* Check a block device as guard_write does, without keeping it: for tables of device-mapper,
 * which claim their devices themselves. path is opened here. */
int guard_device(const char *path, const char *destroy, char *message, size_t len);

#endif
