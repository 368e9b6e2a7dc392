/*
 * sizes - how many bytes the next operation moves, when not all move the same.
 *
 * A list of sizes and ranges with shares of the operations. A range gives each of low,
 * low + step ... up to high alike.
 */
#ifndef IOLUA_CORE_SIZES_H
#define IOLUA_CORE_SIZES_H

#include "core/mix.h"

struct sizes_range {
    uint32_t low, high, step;   /* bytes; low == high: one size */
};

struct sizes_spec {
    unsigned count;             /* 0: no mix, all operations have the same size */
    uint32_t share[MIX_MAX];    /* sum up to MIX_WHOLE */
    struct sizes_range range[MIX_MAX];
};

struct sizes {
    struct mix mix;
    struct sizes_range range[MIX_MAX];
    uint32_t max;               /* the largest size there is */
};

/* 0, or -EINVAL for shares that do not sum up, an empty range or a size of 0. */
int sizes_init(struct sizes *s, const struct sizes_spec *spec);

/* The size of the next operation. */
uint32_t sizes_next(const struct sizes *s, struct rng *r);

#endif
