/*
 * names - many small files in one folder: created, looked at, removed by blocking calls.
 */
#ifndef IOLUA_CORE_NAMES_H
#define IOLUA_CORE_NAMES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/hist.h"

enum names_what {
    NAMES_CREATE,               /* a new file (O_EXCL), its bytes written, closed */
    NAMES_STAT,                 /* fstatat; with bytes also opened, read and closed */
    NAMES_REMOVE,
};

struct names {
    enum names_what what;
    int folder;                 /* descriptor */
    bool fsync;                 /* after each, the file's and the folder's */
    bool flush;                 /* the filesystem's at the end, within the time */
    uint32_t chunk;             /* bytes a write or read */
    size_t n;
    const char **name;          /* in the order they are visited */
    uint32_t *bytes;            /* of each, NULL: empty */
    struct hist hist;           /* ns an operation */
    size_t done;
    char *text;                 /* that name points into */
    unsigned char *buf;
};

/*
 * The n names in text, each ended by a NUL, in the folder at path. bytes: of each file, or
 * NULL. 0 or -errno; -EINVAL where text does not hold n names, or one has a slash.
 */
int names_open(struct names **out, const char *path, const char *text, size_t len, size_t n,
               const uint32_t *bytes);

/* An errand_fn for one thread: arg is a struct names. */
int names_run(void *arg, unsigned thread, const atomic_bool *stop);

/* Remove a folder of ours with the files in it and the folders of files below it: two levels,
 * no links followed. 0 or the first -errno. */
int names_remove_tree(const char *path);

void names_close(struct names *s);      /* NULL allowed */

#endif
