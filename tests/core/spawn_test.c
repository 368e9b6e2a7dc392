/*
 * spawn_test - a program and all that it starts end with the minder's order, and are counted.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/spawn.h"
#include "check.h"

static int in, out, err;

static int begin(struct spawn *s, const char *const *words, const char *script)
{
    const char *argv[] = { "/bin/sh", "-c", script, NULL };
    struct spawn_spec spec = { .minder = "/proc/self/exe", .words = words, .argv = argv,
                               .argc = 3, .in = in, .out = out, .err = err };

    while (words && words[spec.n_words])
        spec.n_words++;
    return spawn_open(s, &spec);
}

/* The next note within 10 s, or its event is 99. */
static struct minder_note next(const struct spawn *s)
{
    struct minder_note note = { .event = 99 };
    struct pollfd p = { .fd = spawn_fd(s), .events = POLLIN };

    poll(&p, 1, 10000);
    if (spawn_next(s, &note) != 1)
        note.event = 99;
    return note;
}

static void the_tree_is_counted(void)
{
    struct spawn s = SPAWN_CLOSED;
    struct minder_note note;

    /* A grandchild burns CPU: 200 000 rounds of a shell loop take more than 10 ms. */
    CHECK_INT(begin(&s, NULL, "sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done'; "
                    "exit 7"), 0);
    CHECK_INT(next(&s).event, MINDER_READY);
    CHECK_INT(spawn_order(&s, MINDER_GO), 0);
    note = next(&s);
    CHECK_INT(note.event, MINDER_STARTED);
    CHECK(note.pid > 0);
    note = next(&s);
    CHECK_INT(note.event, MINDER_ENDED);
    CHECK(WIFEXITED(note.status) && WEXITSTATUS(note.status) == 7);
    CHECK(note.user_ns + note.system_ns > 10000000);
    CHECK_INT(note.left, 0);
    CHECK_INT(next(&s).event, 99);                      /* the socket's end */
    CHECK_INT(spawn_next(&s, &note), -EPIPE);
    spawn_close(&s, MINDER_END);
    spawn_close(&s, MINDER_END);
}

/* A program that leaves a process in a session of its own, which ignores what can be ignored. */
static void what_is_left_behind_is_killed(void)
{
    struct spawn s = SPAWN_CLOSED;
    struct minder_note note;

    CHECK_INT(begin(&s, NULL, "trap '' INT TERM HUP; setsid sleep 1000 & exit 0"), 0);
    next(&s);
    spawn_order(&s, MINDER_GO);
    next(&s);
    note = next(&s);
    CHECK_INT(note.event, MINDER_ENDED);
    CHECK_INT(note.left, 1);
    spawn_close(&s, MINDER_END);
}

static void closing_ends_what_ignores_signals(void)
{
    static const char *const words[] = { "grace=100000000", NULL };
    struct spawn s = SPAWN_CLOSED;
    pid_t pid;

    CHECK_INT(begin(&s, words, "trap '' INT TERM; while :; do sleep 1000; done"), 0);
    next(&s);
    spawn_order(&s, MINDER_GO);
    pid = next(&s).pid;
    CHECK(pid > 0 && kill(pid, 0) == 0);
    spawn_close(&s, MINDER_END);
    CHECK(kill(pid, 0) < 0 && errno == ESRCH);
    CHECK_INT(waitpid(-1, NULL, WNOHANG), -1);          /* nothing is left to reap */
}

static void a_program_that_was_never_started_costs_nothing(void)
{
    struct spawn s = SPAWN_CLOSED;

    CHECK_INT(begin(&s, NULL, "exit 1"), 0);
    next(&s);
    spawn_close(&s, MINDER_KILL);
    CHECK_INT(waitpid(-1, NULL, WNOHANG), -1);
}

static void what_cannot_be_placed_is_told(void)
{
    static const char *const cases[][2] = {
        { "cpus=8000", NULL }, { "node=1000", NULL }, { "cgroup=/nowhere", NULL },
        { "dir=/nowhere", NULL }, { "nonsense=1", NULL },
    };

    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct spawn s = SPAWN_CLOSED;
        struct minder_note note;

        CHECK_INT(begin(&s, cases[i], "exit 0"), 0);
        note = next(&s);
        CHECK_INT(note.event, MINDER_FAILED);
        CHECK(note.err < 0 && note.message[0]);
        spawn_close(&s, MINDER_END);
    }
}

static void programs_are_found(void)
{
    char path[256], tiny[4];

    CHECK_INT(spawn_which(path, sizeof path, "sh"), 0);
    CHECK(path[0] == '/');
    CHECK_INT(spawn_which(path, sizeof path, "/bin/sh"), 0);
    CHECK_STR(path, "/bin/sh");
    CHECK_INT(spawn_which(path, sizeof path, "no-such-program-anywhere"), -ENOENT);
    CHECK_INT(spawn_which(path, sizeof path, "/etc"), -ENOENT);         /* a folder */
    CHECK_INT(spawn_which(path, sizeof path, "/etc/passwd"), -ENOENT);  /* not a program */
    CHECK_INT(spawn_which(tiny, sizeof tiny, "/bin/sh"), -ENAMETOOLONG);
}

int main(int argc, char **argv)
{
    if (argc > 0 && strcmp(argv[0], MINDER_NAME) == 0)
        return minder_main(argv);
    in = spawn_memory("", 0);
    out = spawn_memory("", 0);
    err = spawn_memory("", 0);
    CASE(the_tree_is_counted);
    CASE(what_is_left_behind_is_killed);
    CASE(closing_ends_what_ignores_signals);
    CASE(a_program_that_was_never_started_costs_nothing);
    CASE(what_cannot_be_placed_is_told);
    CASE(programs_are_found);
    return DONE();
}
