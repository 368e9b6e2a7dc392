/*
 * spawn - a child program, minded by a process of ours (core/minder.h).
 *
 * spawn_open starts the minder, which places itself; spawn_go starts the program. Notes come
 * through spawn_fd, which is readable when there is one. However this process ends, the
 * program and all that it started end too. One thread at a time.
 */
#ifndef IOLUA_CORE_SPAWN_H
#define IOLUA_CORE_SPAWN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "core/minder.h"

struct spawn {
    pid_t minder;               /* 0: none */
    int fd;                     /* socket to it, or -1 */
};

struct spawn_spec {
    const char *minder;         /* path of a program that runs minder_main */
    const char *const *words;   /* key=value words of minder_main, ended by NULL */
    unsigned n_words;
    const char *const *argv;    /* the program: a path, its arguments, NULL */
    unsigned argc;
    char *const *env;           /* NULL: as here */
    int in, out, err;           /* its standard streams; they stay the caller's */
};

/* What spawn_open cleans up when it is refused. */
#define SPAWN_CLOSED ((struct spawn){ 0, -1 })

/* Start the minder. 0 or -errno; *s is written only on success. */
int spawn_open(struct spawn *s, const struct spawn_spec *spec);

int spawn_fd(const struct spawn *s);

/* Give an order. 0, or -EPIPE when the minder has ended. */
int spawn_order(const struct spawn *s, enum minder_order order);

/* The next note: 1; 0 when there is none yet; -EPIPE when no more will come. */
int spawn_next(const struct spawn *s, struct minder_note *note);

/* End what still runs by MINDER_END or MINDER_KILL, wait until it is gone (at most 5 s after the
 * last note: a process that hangs in the kernel ends when that lets it go) and reap the minder.
 * Closing twice is allowed. */
void spawn_close(struct spawn *s, enum minder_order how);

/* The path of a program: name itself where it has a slash, else looked for in PATH and the
 * folders of root's programs. 0, -ENOENT or -ENAMETOOLONG. */
int spawn_which(char *path, size_t len, const char *name);

/* An anonymous file for a program's output or, holding data, its input. Its descriptor is
 * above 9 and closed on exec. -errno. */
int spawn_memory(const void *data, size_t len);

/* The program that runs minder_main: this one, or the one that the loaded module was built
 * with. 0 or -errno. */
int spawn_minder(char *path, size_t len);

#endif
