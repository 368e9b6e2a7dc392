/*
 * load - what the next operation is: direction and place. How it is done is the engine's.
 *
 * A load draws operations of bs bytes from the region [offset, offset + blocks * bs) of a
 * target. Sequential loads wrap at the end of the region; a random load without repeats visits
 * every block once, then draws a new order.
 */
#ifndef IOLUA_CORE_LOAD_H
#define IOLUA_CORE_LOAD_H

#include "core/dist.h"
#include "core/io.h"

#include <stdbool.h>
#include <stdint.h>

enum load_order {
    LOAD_SEQUENTIAL,
    LOAD_RANDOM,                /* uniform, with repeats */
    LOAD_NOREPEAT,              /* uniform permutation */
};

struct load_spec {
    enum load_order order;
    bool nop;                   /* no data at all: the engine alone */
    unsigned read_percent;      /* 0 .. 100 of the operations are reads */
    uint64_t offset, size;      /* region in bytes; what is no whole block is never touched */
    uint32_t bs;                /* bytes an operation, 1 .. IO_LEN_MAX */
    uint64_t seed;
    unsigned stream;            /* of the seed: the worker's number */
};

struct load {
    enum load_order order;
    bool mixed, writes;
    unsigned read_percent;
    uint64_t offset, blocks;
    uint32_t bs;
    uint64_t next;              /* sequential and permuted: index of the next block */
    struct rng rng;
    struct dist_perm perm;
};

struct load_op {
    bool write;
    uint64_t pos;
};

/* 0, or -ERANGE when the region is smaller than one block. */
int load_init(struct load *l, const struct load_spec *spec);

/* Out of line: draws the next permutation when one is used up. */
uint64_t load_permuted(struct load *l);

static inline uint64_t load_block(struct load *l)
{
    uint64_t block;

    if (l->order == LOAD_RANDOM)
        return rng_below(&l->rng, l->blocks);
    if (l->order == LOAD_NOREPEAT)
        return load_permuted(l);
    block = l->next;
    l->next = block + 1 == l->blocks ? 0 : block + 1;
    return block;
}

static inline struct load_op load_next(struct load *l)
{
    struct load_op op = { l->writes, l->offset + load_block(l) * l->bs };

    if (l->mixed)
        op.write = rng_below(&l->rng, 100) >= l->read_percent;
    return op;
}

#endif
