/*
 * mix - which of a few things comes next, by their shares of the operations.
 *
 * Shares are integers that sum up to MIX_WHOLE, so that they are exact to 10^-6 %.
 */
#ifndef IOLUA_CORE_MIX_H
#define IOLUA_CORE_MIX_H

#include "core/rng.h"

#define MIX_MAX   256u
#define MIX_WHOLE 100000000u            /* 100 % in 10^-6 % */

struct mix {
    unsigned count;
    uint32_t below[MIX_MAX];            /* sums of the shares up to and with this one */
};

/* 0, or -EINVAL when count is not 1 .. MIX_MAX or the shares do not sum up to MIX_WHOLE. */
int mix_init(struct mix *m, const uint32_t *shares, unsigned count);

/* The index of the next thing; one with a share of 0 never comes. */
static inline unsigned mix_next(const struct mix *m, struct rng *r)
{
    uint64_t draw = rng_below(r, MIX_WHOLE);
    unsigned i = 0;

    while (draw >= m->below[i])
        i++;
    return i;
}

#endif
