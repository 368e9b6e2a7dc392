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
 * Check the open descriptor fd (opened read-only; block devices are then reopened by the guard
 * with O_EXCL to claim them) against the ask. 0 when it may be written; -EBUSY in use, -EEXIST
 * holds data, -EROFS read-only, -EPERM needs overwrite, or another -errno, each with a sentence
 * in message that names the mount point, holder or signature.
 */
int guard_write(int fd, const struct guard_ask *ask, char *message, size_t len);

#endif
