/*
 * file - a file or device that is open for I/O, counted like a buffer.
 *
 * The descriptor stays open until the last reference is dropped: a request in flight holds
 * one, so that the number cannot be reused under it. Opening for write passes core/guard.
 * All descriptors are O_CLOEXEC.
 */
#ifndef IOLUA_CORE_FILE_H
#define IOLUA_CORE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct file_options {
    bool write;                 /* else read only */
    bool create;                /* make it if missing (regular files only); needs write */
    bool overwrite;             /* a regular file or character device that exists may be written */
    bool direct;                /* O_DIRECT */
    bool sync;                  /* O_SYNC */
    const char *destroy;        /* device whose signature does not protect it, or NULL */
};

enum file_type { FILE_REGULAR, FILE_BLOCK, FILE_CHAR, FILE_OTHER };

struct file {
    int fd;
    unsigned refs;              /* atomic */
    unsigned lent;              /* requests of the Lua thread's loop that use it (bind/lend.h) */
    bool dropped;               /* Lua let go of it while it was lent */
    unsigned fixed;             /* 1 + its place in the loop's registered files, 0: none */
    unsigned uses;              /* by the loop, while it is not registered */
    char *path;                 /* as given */
    enum file_type type;
    bool direct, writable;
    bool made;                  /* created by this open */
    dev_t rdev;                 /* block and character devices */
    uint32_t block_size;        /* logical block: positions and lengths of direct I/O */
    uint32_t mem_align;         /* memory alignment of direct I/O */
};

/*
 * Open path. On failure returns -errno with a sentence in message ("open PATH: reason", at most
 * len bytes), which for a refusal names what protects the file. Nothing is created or truncated
 * on failure. With `create`, a missing file under /dev is an error, not a new file.
 */
int file_open(struct file **out, const char *path, const struct file_options *o,
              char *message, size_t len);

/*
 * A scratch file in the folder dir, open for reading and writing, empty. It has no name, so
 * nothing is left of it when the last descriptor is closed, even by kill -9. Its path is
 * /proc/PID/fd/N, which leads to it while it is open. -EINVAL: no direct I/O there.
 */
int file_scratch(struct file **out, const char *dir, bool direct, char *message, size_t len);

/* A file around the open descriptor fd, which it owns also when this fails: for reading, or
 * for writing what this process has made itself (a pipe). 0 or -errno. */
int file_adopt(struct file **out, int fd, const char *path, bool writable);

struct file *file_ref(struct file *f);
void file_unref(struct file *f);        /* NULL allowed; closes with the last reference */

/* Bytes that can be read: st_size, or the size of the device; 0 for character devices. */
int file_size(uint64_t *bytes, const struct file *f);

#endif
