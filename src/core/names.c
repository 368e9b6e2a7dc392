/*
 * names - openat, fstatat, unlinkat down a list.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/names.h"

#define CHUNK_MAX (1u << 20)

/* Point at the names in s->text. */
static int split(struct names *s, size_t len)
{
    const char *at = s->text, *end = s->text + len;

    for (size_t i = 0; i < s->n; i++) {
        const char *nul = at < end ? memchr(at, 0, (size_t)(end - at)) : NULL;

        if (!nul || nul == at || memchr(at, '/', (size_t)(nul - at)))
            return -EINVAL;
        s->name[i] = at;
        at = nul + 1;
    }
    return at == end ? 0 : -EINVAL;
}

static int fill(struct names *s, const char *path, const char *text, size_t len,
                const uint32_t *bytes)
{
    s->name = malloc(s->n * sizeof *s->name);
    s->text = malloc(len ? len : 1);
    s->buf = calloc(1, CHUNK_MAX);
    s->bytes = bytes ? malloc(s->n * sizeof *bytes) : NULL;
    if (!s->name || !s->text || !s->buf || (bytes && !s->bytes))
        return -ENOMEM;
    memcpy(s->text, text, len);
    if (bytes)
        memcpy(s->bytes, bytes, s->n * sizeof *bytes);
    s->folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return s->folder < 0 ? -errno : split(s, len);
}

int names_open(struct names **out, const char *path, const char *text, size_t len, size_t n,
               const uint32_t *bytes)
{
    struct names *s;
    int err;

    if (n == 0 || n > len)
        return -EINVAL;
    s = calloc(1, sizeof *s);
    if (!s)
        return -ENOMEM;
    s->n = n;
    s->folder = -1;
    s->chunk = 8192;
    hist_reset(&s->hist);
    err = fill(s, path, text, len, bytes);
    if (err < 0)
        names_close(s);
    else
        *out = s;
    return err;
}

/* Write the file's bytes, or read until its end. */
static int transfer(struct names *s, int fd, uint32_t bytes, bool write_it)
{
    uint32_t chunk = s->chunk < CHUNK_MAX ? s->chunk : CHUNK_MAX, left = bytes;

    while (left > 0) {
        size_t want = left < chunk ? left : chunk;
        ssize_t n = write_it ? write(fd, s->buf, want) : read(fd, s->buf, want);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            return -ENODATA;
        left -= (uint32_t)n;
    }
    return 0;
}

/* Open, move its bytes, close. */
static int with_file(struct names *s, size_t i, int flags, bool write_it)
{
    int fd = openat(s->folder, s->name[i], flags | O_CLOEXEC | O_NOFOLLOW, 0600), err;

    if (fd < 0)
        return -errno;
    err = transfer(s, fd, s->bytes ? s->bytes[i] : 0, write_it);
    if (err == 0 && write_it && s->fsync && (fsync(fd) < 0 || fsync(s->folder) < 0))
        err = -errno;
    if (close(fd) < 0 && err == 0)
        err = -errno;
    return err;
}

static int look(struct names *s, size_t i)
{
    struct stat st;

    if (fstatat(s->folder, s->name[i], &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    return s->bytes && s->bytes[i] > 0 ? with_file(s, i, O_RDONLY, false) : 0;
}

static int remove_one(struct names *s, size_t i)
{
    if (unlinkat(s->folder, s->name[i], 0) < 0)
        return -errno;
    return s->fsync && fsync(s->folder) < 0 ? -errno : 0;
}

static int visit(struct names *s, size_t i)
{
    switch (s->what) {
    case NAMES_CREATE:
        return with_file(s, i, O_WRONLY | O_CREAT | O_EXCL, true);
    case NAMES_STAT:
        return look(s, i);
    case NAMES_REMOVE:
        return remove_one(s, i);
    }
    return -EINVAL;
}

int names_run(void *arg, unsigned thread, const atomic_bool *stop)
{
    struct names *s = arg;

    (void)thread;
    for (; s->done < s->n; s->done++) {
        uint64_t from = clock_now();
        int err = visit(s, s->done);

        if (err < 0)
            return err;
        hist_record(&s->hist, clock_now() - from, 1);
        if (atomic_load_explicit(stop, memory_order_relaxed))
            return -ECANCELED;
    }
    return s->flush && syncfs(s->folder) < 0 ? -errno : 0;
}

/* Remove what is in the folder fd, which is closed; folders in it while depth > 0. */
static int empty(int fd, unsigned depth)
{
    DIR *d = fdopendir(fd);
    struct dirent *e;
    int err = 0;

    if (!d) {
        err = -errno;
        close(fd);
        return err;
    }
    while ((e = readdir(d))) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        if (unlinkat(fd, e->d_name, 0) == 0)
            continue;
        if (errno == EISDIR && depth > 0) {
            int inner = openat(fd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
            int below = inner < 0 ? -errno : empty(inner, depth - 1);

            if (below == 0 && unlinkat(fd, e->d_name, AT_REMOVEDIR) < 0)
                below = -errno;
            err = err ? err : below;
        } else if (err == 0) {
            err = -errno;
        }
    }
    closedir(d);
    return err;
}

int names_remove_tree(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int err = fd < 0 ? -errno : empty(fd, 1);

    return err == 0 && rmdir(path) < 0 ? -errno : err;
}

void names_close(struct names *s)
{
    if (!s)
        return;
    if (s->folder >= 0)
        close(s->folder);
    free(s->name);
    free(s->bytes);
    free(s->text);
    free(s->buf);
    free(s);
}
