/*
 * mounts - every mount that some process sees: the rows of /proc/PID/mountinfo, each mount
 * namespace once. What this process may not look into (other users' processes) is left out.
 */
#ifndef IOLUA_CORE_MOUNTS_H
#define IOLUA_CORE_MOUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

struct mount {
    int id;
    dev_t dev;                  /* of its files (st_dev); anonymous for btrfs, overlay ... */
    const char *point;          /* where, as seen in that namespace */
    const char *type;           /* "ext4" */
    const char *source;         /* "/dev/sda1", "overlay", ... */
    int pid;                    /* a process that sees it, 0: this one */
};

struct mounts {
    const char *root;           /* prefix of /proc: "" is the real one */
    bool own;                   /* this process's namespace only */
    void *proc;                 /* DIR */
    FILE *file;                 /* mountinfo of the namespace being read */
    int pid;
    unsigned long *seen;        /* namespaces read, by inode */
    unsigned seen_n, seen_cap;
    char *line;
    size_t line_cap;
};

/* Start with this process's namespace; `own` stops there. -errno when it cannot be read. */
int mounts_open(struct mounts *m, const char *root, bool own);

/* The next row, valid until the call after; false at the end. */
bool mounts_next(struct mounts *m, struct mount *row);

void mounts_close(struct mounts *m);

/* Undo the octal escapes (\040) of the kernel's tables in place; returns text. */
char *mounts_unescape(char *text);

#endif
