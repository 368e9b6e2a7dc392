/*
 * load - what the next operation is: direction, place, size. How it is done is the engine's.
 *
 * A load draws operations of bs bytes from the region [offset, offset + blocks * bs) of a
 * target. Sequential loads wrap at the end of the region; a random load without repeats visits
 * every block once, then draws a new order.
 *
 * With a mix of sizes, bs is the grain of the places: an operation begins at a multiple of it
 * and ends inside the region (a place where it does not fit is drawn again). A sequential one
 * begins where the one before it ended.
 */
#ifndef IOLUA_CORE_LOAD_H
#define IOLUA_CORE_LOAD_H

#include "core/io.h"
#include "core/sizes.h"
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
    uint32_t bs;                /* bytes an operation, 1 .. IO_LEN_MAX; grain of a mix */
    struct sizes_spec sizes;    /* count > 0: a mix of sizes */
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
    uint64_t size;              /* of the region; the rest is for mixes of sizes only */
    uint64_t cursor;            /* where a sequential one goes on */
    struct sizes sizes;
};

struct load_op {
    bool write;
    uint32_t len;
    uint64_t pos;
};

/* 0; -ERANGE when the region is smaller than one block, or too small for a zone; -EINVAL for a
 * distribution's parameter that is out of its range; each with a sentence in message. */
int load_init(struct load *l, const struct load_spec *spec, char *message, size_t len);

/* Where the next operation of bs bytes begins; and one of len bytes, which the region has. */
static inline uint64_t load_place(struct load *l)
{
    return l->offset + spot_next(&l->spot, &l->rng) * l->bs;
}

uint64_t load_place_for(struct load *l, uint32_t len);

static inline struct load_op load_next(struct load *l)
{
    struct load_op op = { l->writes, l->bs, load_place(l) };

    if (l->mixed)
        op.write = rng_below(&l->rng, 100) >= l->read_percent;
    return op;
}

/* The same for a load with a mix of sizes. */
struct load_op load_next_sized(struct load *l);

/* From now on read_percent (0 .. 100) of the operations are reads. */
void load_set_mix(struct load *l, unsigned read_percent);

#endif
