/*
 * kmsg - what the kernel logs while something is tried: it gives its reasons there only.
 */
#ifndef IOLUA_CORE_KMSG_H
#define IOLUA_CORE_KMSG_H

#include <stddef.h>

struct kmsg {
    int fd;                     /* -1 where the log may not be read */
};

/* Look at the log from now on. Never fails: where it cannot be read, nothing is found. */
void kmsg_open(struct kmsg *k);

/* The first warning or error since then that holds `word`, from that word on and without it.
 * Its length, or 0 when there is none. */
size_t kmsg_find(char *text, size_t len, struct kmsg *k, const char *word);

void kmsg_close(struct kmsg *k);

#endif
