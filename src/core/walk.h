/*
 * walk - a list of transfers of one file, done one after another by blocking calls.
 *
 * Several threads take the next step in turn, each with a buffer of its own. A step moves all
 * its bytes or is an error. For loads whose order is a list: seeks that sometimes write back,
 * sizes that change, a pass that rewrites what it has read.
 */
#ifndef IOLUA_CORE_WALK_H
#define IOLUA_CORE_WALK_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "core/file.h"
#include "core/hist.h"

enum walk_kind {
    WALK_READ,
    WALK_WRITE,
    WALK_UPDATE,                /* read, change a byte, write back to the same place */
};

struct walk_step {
    uint64_t pos;
    uint32_t bytes;
    uint32_t kind;              /* enum walk_kind */
};

struct walk {
    struct file *file;          /* a reference of its own */
    struct walk_step *step;
    size_t n;
    uint32_t largest;           /* bytes of a step */
    unsigned threads;
    atomic_size_t next;
    struct hist *hist;          /* one a thread: a step's time, ns */
    unsigned char **buf;        /* one a thread */
    atomic_uint_least64_t bad_pos;      /* where a step failed */
};

/* Copy n steps. -EINVAL for none, for an unknown kind, for no bytes or more than 64 MiB, and
 * for writing to a file that is open for reading. */
int walk_open(struct walk **out, struct file *f, const struct walk_step *step, size_t n,
              unsigned threads);

/* An errand_fn: arg is a struct walk. */
int walk_run(void *arg, unsigned thread, const atomic_bool *stop);

void walk_close(struct walk *w);        /* NULL allowed */

#endif
