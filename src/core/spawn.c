/*
 * spawn - start and talk to a minder.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/spawn.h"

#define LOWEST_FD 10            /* ours are above the streams they are copied to */
#define CLOSE_MS  5000

extern char **environ;

/* The same file at a descriptor above the streams; closes fd. */
static int raise_fd(int fd)
{
    int high = fd < 0 ? -errno : fcntl(fd, F_DUPFD_CLOEXEC, LOWEST_FD);

    if (fd < 0)
        return high;
    if (high < 0)
        high = -errno;
    close(fd);
    return high;
}

int spawn_memory(const void *data, size_t len)
{
    int fd = raise_fd(memfd_create("iolua", MFD_CLOEXEC));
    size_t done = 0;

    while (fd >= 0 && done < len) {
        ssize_t n = write(fd, (const char *)data + done, len - done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            int err = -errno;

            close(fd);
            return err;
        }
        done += (size_t)n;
    }
    if (fd >= 0)
        lseek(fd, 0, SEEK_SET);
    return fd;
}

/* MINDER_NAME, the words, "--", the program. Malloced. */
static char **arguments(const struct spawn_spec *spec)
{
    char **argv = malloc((spec->n_words + spec->argc + 3) * sizeof *argv);
    unsigned n = 0;

    if (!argv)
        return NULL;
    /* posix_spawn does not write to them, though its type would let it. */
    argv[n++] = (char *)(uintptr_t)MINDER_NAME;
    for (unsigned i = 0; i < spec->n_words; i++)
        argv[n++] = (char *)(uintptr_t)spec->words[i];
    argv[n++] = (char *)(uintptr_t)"--";
    for (unsigned i = 0; i < spec->argc; i++)
        argv[n++] = (char *)(uintptr_t)spec->argv[i];
    argv[n] = NULL;
    return argv;
}

static int launch(pid_t *pid, const struct spawn_spec *spec, int socket, char **argv)
{
    const int from[] = { spec->in, spec->out, spec->err, socket };
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    int err = 0;

    posix_spawnattr_init(&attr);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP);     /* ^C is not for it */
    posix_spawnattr_setpgroup(&attr, 0);
    for (int i = 0; i < 4 && err == 0; i++)
        err = posix_spawn_file_actions_adddup2(&files, from[i], i);
    if (err == 0)
        err = posix_spawn_file_actions_addclosefrom_np(&files, MINDER_SOCKET + 1);
    if (err == 0)
        err = posix_spawn(pid, spec->minder, &files, &attr, argv,
                          spec->env ? spec->env : environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attr);
    return -err;
}

int spawn_open(struct spawn *s, const struct spawn_spec *spec)
{
    int pair[2], ours, theirs, err;
    char **argv = NULL;
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return -errno;
    ours = raise_fd(pair[0]);
    theirs = raise_fd(pair[1]);
    err = ours < 0 ? ours : theirs < 0 ? theirs : 0;
    if (err == 0) {
        argv = arguments(spec);
        err = argv ? launch(&pid, spec, theirs, argv) : -ENOMEM;
    }
    free(argv);
    if (theirs >= 0)
        close(theirs);
    if (err < 0) {
        if (ours >= 0)
            close(ours);
        return err;
    }
    *s = (struct spawn){ pid, ours };
    return 0;
}

int spawn_fd(const struct spawn *s)
{
    return s->fd;
}

int spawn_order(const struct spawn *s, enum minder_order order)
{
    char c = (char)order;

    return send(s->fd, &c, 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1 ? 0 : -errno;
}

int spawn_next(const struct spawn *s, struct minder_note *note)
{
    ssize_t n = recv(s->fd, note, sizeof *note, MSG_DONTWAIT);

    if (n == (ssize_t)sizeof *note)
        return 1;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    return -EPIPE;
}

/* Wait for the minder's end of the socket to close. False after CLOSE_MS without a note. */
static bool wait_for_end(const struct spawn *s)
{
    struct minder_note note;
    struct pollfd p = { .fd = s->fd, .events = POLLIN };
    int n;

    do {
        n = poll(&p, 1, CLOSE_MS);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
    } while (spawn_next(s, &note) >= 0);
    return true;
}

void spawn_close(struct spawn *s, enum minder_order how)
{
    struct spawn old = *s;

    *s = SPAWN_CLOSED;
    if (old.minder == 0)
        return;
    spawn_order(&old, how);
    if (wait_for_end(&old))
        while (waitpid(old.minder, NULL, 0) < 0 && errno == EINTR)
            continue;
    close(old.fd);
}

static bool is_program(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

int spawn_which(char *path, size_t len, const char *name)
{
    static const char folders[] = "/usr/local/sbin:/usr/sbin:/sbin";
    const char *lists[] = { getenv("PATH"), folders };

    if (strchr(name, '/')) {
        if ((size_t)snprintf(path, len, "%s", name) >= len)
            return -ENAMETOOLONG;
        return is_program(path) ? 0 : -ENOENT;
    }
    for (unsigned i = 0; i < 2; i++)
        for (const char *at = lists[i]; at && *at; at += strspn(at, ":")) {
            int n = (int)strcspn(at, ":");

            if ((size_t)snprintf(path, len, "%.*s/%s", n, at, name) < len && is_program(path))
                return 0;
            at += n;
        }
    return -ENOENT;
}

int spawn_minder(char *path, size_t len)
{
    static const char module[] = "/lua/iolua/core.so";
    const size_t tail = sizeof module - 1;
    Dl_info info;
    size_t n;

    if (!dladdr(module, &info))         /* what this file is linked into */
        return -ENOENT;
    n = strlen(info.dli_fname);
    if (n < tail || strcmp(info.dli_fname + n - tail, module) != 0)
        snprintf(path, len, "/proc/self/exe");
    else if ((size_t)snprintf(path, len, "%.*s/iolua", (int)(n - tail), info.dli_fname) >= len)
        return -ENAMETOOLONG;
    return is_program(path) ? 0 : -ENOENT;
}
