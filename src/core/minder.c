/*
 * minder - place, start, wait for the whole tree, end it.
 */
#include <errno.h>
#include <linux/mempolicy.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/attr.h"
#include "core/clock.h"
#include "core/cpuset.h"
#include "core/minder.h"

#define NODES 1024u

extern char **environ;

struct minder {
    char **program;             /* its arguments */
    const char *cpus, *node, *cgroup, *dir;
    uint64_t grace_ns;
    int signals;                /* signalfd of SIGCHLD */
    pid_t pid;                  /* the program, 0 before the start */
    bool ended;                 /* the program is reaped */
    bool deaf;                  /* iolua is gone */
    unsigned stage;             /* of the ending: signals sent so far */
    uint64_t due_ns;            /* when the next is sent; 0: not ending */
    struct minder_note note;
};

/* The value of a word `key=value`, or NULL. */
static const char *value_of(const char *word, const char *key)
{
    size_t n = strlen(key);

    return strncmp(word, key, n) == 0 && word[n] == '=' ? word + n + 1 : NULL;
}

/* 0, or -EINVAL for words that make no sense. */
static int parse(struct minder *m, char **argv)
{
    const char *v;

    for (argv++; *argv && strcmp(*argv, "--") != 0; argv++) {
        if ((v = value_of(*argv, "cpus")))
            m->cpus = v;
        else if ((v = value_of(*argv, "node")))
            m->node = v;
        else if ((v = value_of(*argv, "cgroup")))
            m->cgroup = v;
        else if ((v = value_of(*argv, "dir")))
            m->dir = v;
        else if ((v = value_of(*argv, "grace")))
            m->grace_ns = strtoull(v, NULL, 10);
        else
            return -EINVAL;
    }
    if (!*argv || !argv[1])
        return -EINVAL;
    m->program = argv + 1;
    return 0;
}

static void tell(struct minder *m, enum minder_event event)
{
    m->note.event = event;
    if (send(MINDER_SOCKET, &m->note, sizeof m->note, MSG_NOSIGNAL) < 0)
        m->deaf = true;
}

static int fail(struct minder *m, int err, const char *what, const char *on)
{
    m->note.err = err;
    snprintf(m->note.message, sizeof m->note.message, "%s %s: %s", what, on,
             strerrordesc_np(-err));
    tell(m, MINDER_FAILED);
    return 1;
}

/* Onto the CPUs of the list, all of them or -EINVAL. */
static int place_on(const char *list)
{
    struct cpuset set, got;
    char message[64];
    int err = cpuset_parse(&set, list, strlen(list), message, sizeof message);

    if (err < 0)
        return err;
    if (sched_setaffinity(0, sizeof set.bits, (const cpu_set_t *)set.bits) < 0)
        return -errno;
    cpuset_zero(&got);
    if (sched_getaffinity(0, sizeof got.bits, (cpu_set_t *)got.bits) < 0)
        return -errno;
    return cpuset_equal(&set, &got) ? 0 : -EINVAL;
}

static int bind_memory(const char *number)
{
    unsigned long mask[NODES / (8 * sizeof(long))] = { 0 };
    unsigned long node = strtoul(number, NULL, 10);

    if (node >= NODES)
        return -EINVAL;
    mask[node / (8 * sizeof(long))] |= 1ul << node % (8 * sizeof(long));
    if (syscall(SYS_set_mempolicy, MPOL_BIND, mask, (unsigned long)NODES + 1) < 0)
        return errno == ENOSYS && node == 0 ? 0 : -errno;
    return 0;
}

static int join_cgroup(const char *folder)
{
    char path[4096];

    if ((size_t)snprintf(path, sizeof path, "%s/cgroup.procs", folder) >= sizeof path)
        return -ENAMETOOLONG;
    return attr_write(path, "0");
}

/* 0, or the exit status when it could not be done and that was told. */
static int place(struct minder *m)
{
    int err;

    if (m->cgroup && (err = join_cgroup(m->cgroup)) < 0)
        return fail(m, err, "cgroup", m->cgroup);
    if (m->cpus && (err = place_on(m->cpus)) < 0)
        return fail(m, err, "cpus", m->cpus);
    if (m->node && (err = bind_memory(m->node)) < 0)
        return fail(m, err, "node", m->node);
    if (m->dir && chdir(m->dir) < 0)
        return fail(m, -errno, "folder", m->dir);
    return 0;
}

/* Signals come by the signalfd or not at all; orphans below come here. */
static int prepare(struct minder *m)
{
    sigset_t all, child;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    m->signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    if (m->signals < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        return -errno;
    return 0;
}

/* Start the program with default signals, in a group of its own. */
static int start(struct minder *m)
{
    posix_spawnattr_t attr;
    posix_spawn_file_actions_t files;
    sigset_t none, all;
    int err;

    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_init(&attr);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                    POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&attr, 0);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &all);
    posix_spawn_file_actions_addclosefrom_np(&files, MINDER_SOCKET);
    m->note.at_ns = clock_now();
    err = posix_spawn(&m->pid, m->program[0], &files, &attr, m->program, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attr);
    if (err)
        m->pid = 0;
    m->note.pid = m->pid;
    return -err;
}

/* Send sig to every child of this process; orphans of those become children in turn. */
static void signal_children(int sig)
{
    char path[64], text[ATTR_MAX], *at = text, *end;

    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    if (attr_read(text, sizeof text, path) < 0)
        return;
    for (;;) {
        long pid = strtol(at, &end, 10);

        if (end == at)
            return;
        kill((pid_t)pid, sig);
        at = end;
    }
}

/* The next signal of the ending: ask, ask again, kill. */
static void end_further(struct minder *m)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGKILL };
    int sig = signals[m->stage < 2 ? m->stage : 2];

    if (m->ended) {
        sig = SIGKILL;
    } else {                    /* its group cannot be another's while it is not reaped */
        kill(-m->pid, sig);
        kill(-m->pid, SIGCONT);
    }
    if (sig == SIGKILL)
        signal_children(sig);
    m->stage++;
    m->due_ns = clock_now() + (sig == SIGKILL ? 20 * CLOCK_SECOND / 1000 : m->grace_ns / 2);
}

static void end_now(struct minder *m, bool ask)
{
    if (!ask && m->stage < 2)
        m->stage = 2;
    else if (m->due_ns)
        return;
    end_further(m);
}

/* Read an order. */
static void listen_once(struct minder *m)
{
    char order;
    ssize_t n = recv(MINDER_SOCKET, &order, 1, MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0)
        m->deaf = true;
    if (n <= 0 || order != MINDER_GO)
        end_now(m, n <= 0 || order != MINDER_KILL);
}

/* Reap what has ended. False once no child is left. */
static bool reap(struct minder *m)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        if (pid == m->pid) {
            m->ended = true;
            m->note.at_ns = clock_now();
            m->note.status = status;
        }
    return pid == 0;
}

static int wait_ms(const struct minder *m)
{
    uint64_t now = clock_now();

    if (!m->due_ns)
        return -1;
    return m->due_ns <= now ? 0 : (int)((m->due_ns - now) / 1000000) + 1;
}

/* Until nothing of the tree is left. */
static void mind(struct minder *m)
{
    while (reap(m)) {
        struct pollfd p[2] = { { .fd = m->signals, .events = POLLIN },
                               { .fd = m->deaf ? -1 : MINDER_SOCKET, .events = POLLIN } };
        struct signalfd_siginfo info;

        if (m->ended && m->stage < 3) {
            m->note.left = m->stage == 0;
            end_now(m, false);
        }
        if (poll(p, 2, wait_ms(m)) == 0)
            end_further(m);
        while (read(m->signals, &info, sizeof info) > 0)
            continue;
        if (p[1].revents)
            listen_once(m);
    }
}

static uint64_t ns_of(struct timeval t)
{
    return (uint64_t)t.tv_sec * CLOCK_SECOND + (uint64_t)t.tv_usec * 1000;
}

static void add_usage(struct minder_note *n)
{
    struct rusage u;

    getrusage(RUSAGE_CHILDREN, &u);
    n->user_ns = ns_of(u.ru_utime);
    n->system_ns = ns_of(u.ru_stime);
    n->rss_bytes = (uint64_t)u.ru_maxrss * 1024;
    n->read_bytes = (uint64_t)u.ru_inblock * 512;
    n->write_bytes = (uint64_t)u.ru_oublock * 512;
    n->waits = (uint64_t)u.ru_nvcsw;
    n->preemptions = (uint64_t)u.ru_nivcsw;
}

/* Wait for the order to start. False: it is not wanted any more. */
static bool told_to_go(void)
{
    char order;
    ssize_t n;

    do
        n = recv(MINDER_SOCKET, &order, 1, 0);
    while (n < 0 && errno == EINTR);
    return n == 1 && order == MINDER_GO;
}

int minder_main(char **argv)
{
    struct minder m = { .grace_ns = CLOCK_SECOND };
    int err = parse(&m, argv);

    if (err == 0)
        err = prepare(&m);
    if (err < 0)
        return fail(&m, err, "minder", "start");
    if (place(&m) != 0)
        return 1;
    tell(&m, MINDER_READY);
    if (!told_to_go())
        return 0;
    err = start(&m);
    if (err < 0)
        return fail(&m, err, "start", m.program[0]);
    tell(&m, MINDER_STARTED);
    mind(&m);
    add_usage(&m.note);
    tell(&m, MINDER_ENDED);
    return 0;
}
