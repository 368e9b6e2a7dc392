/*
 * minder - the process between iolua and a program that it runs.
 *
 * It places itself (CPUs, node, cgroup), starts the program when told to, in a process group of
 * its own, and adopts every orphan below it, so it knows the whole tree: what the tree used,
 * and when nothing of it is left. It ends the tree when it is told to or when iolua is gone,
 * also after kill -9: the socket's end tells. It is this program run again under the name
 * MINDER_NAME, so memory that devices write to is never shared with a fork.
 */
#ifndef IOLUA_CORE_MINDER_H
#define IOLUA_CORE_MINDER_H

#include <stdint.h>

#define MINDER_NAME   "iolua-minder"
#define MINDER_SOCKET 3         /* the file descriptor it is talked to by */

/* What it is told: one byte a message. The end of the socket means MINDER_END. */
enum minder_order {
    MINDER_GO = 'g',            /* start the program */
    MINDER_END = 'e',           /* SIGINT, then SIGTERM, and SIGKILL after the grace */
    MINDER_KILL = 'k',          /* SIGKILL now */
};

enum minder_event {
    MINDER_READY,               /* placed, waits for MINDER_GO */
    MINDER_STARTED,             /* the program's exec is done: pid, at_ns */
    MINDER_ENDED,               /* nothing of the tree is left: all fields */
    MINDER_FAILED,              /* err and message say what could not be done */
};

/* What it tells: one note a message. Times are CLOCK_MONOTONIC, ns. */
struct minder_note {
    uint32_t event;             /* enum minder_event */
    int32_t err;                /* -errno */
    int32_t pid;
    int32_t status;             /* of the program, as waitpid has it */
    uint32_t left;              /* 1: processes were left when the program ended, and killed */
    uint64_t at_ns;             /* started; or the program's end */
    uint64_t user_ns;           /* of the whole tree, from here */
    uint64_t system_ns;
    uint64_t rss_bytes;         /* the largest process */
    uint64_t read_bytes;        /* fetched from storage */
    uint64_t write_bytes;       /* caused to be written to storage */
    uint64_t waits;             /* voluntary switches of context */
    uint64_t preemptions;
    char message[192];
};

/*
 * The program itself: argv is MINDER_NAME, then key=value words (cpus, node, cgroup, dir,
 * grace in ns), "--" and the program's own arguments, the first a path. Returns its exit status.
 */
int minder_main(char **argv);

#endif
