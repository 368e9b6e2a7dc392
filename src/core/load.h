/*
 * load - what the next operation is: direction and place. How it is done is the engine's.
 *
 * A load draws operations of bs bytes from the region [offset, offset + blocks * bs) of a
 * target. Sequential loads wrap at the end of the region; a random load without repeats visits
 * every block once, then draws a new order.
 */
#ifndef IOLUA_CORE_LOAD_H
#define IOLUA_CORE_LOAD_H

#include "core/io.h"
#include "core/spot.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum load_order {
    LOAD_SEQUENTIAL,
    LOAD_RANDOM,                /* uniform, with repeats */
    LOAD_NOREPEAT,              /* uniform permutation */
    LOAD_SPOT,                  /* as `spot` says: hot places, strides */
};

struct load_spec {
    enum load_order order;
    struct spot_spec spot;      /* read for LOAD_SPOT only */
    bool nop;                   /* no data at all: the engine alone */
    unsigned read_percent;      /* 0 .. 100 of the operations are reads */
    uint64_t offset, size;      /* region in bytes; what is no whole block is never touched */
    uint32_t bs;                /* bytes an operation, 1 .. IO_LEN_MAX */
    uint64_t seed;
    unsigned stream;            /* of the seed: the worker's number */
};

struct load {
    bool mixed, writes;
    unsigned read_percent;
    uint64_t offset;
    uint32_t bs;
    struct rng rng;
    struct spot spot;
};

struct load_op {
    bool write;
    uint64_t pos;
};

/* 0; -ERANGE when the region is smaller than one block, or too small for a zone; -EINVAL for a
 * distribution's parameter that is out of its range; each with a sentence in message. */
int load_init(struct load *l, const struct load_spec *spec, char *message, size_t len);

static inline struct load_op load_next(struct load *l)
{
    struct load_op op = { l->writes, l->offset + spot_next(&l->spot, &l->rng) * l->bs };

    if (l->mixed)
        op.write = rng_below(&l->rng, 100) >= l->read_percent;
    return op;
}

#endif
