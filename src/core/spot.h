/*
 * spot - which block of a region comes next.
 *
 * Blocks are numbered 0 .. blocks - 1. Distributions by rank (zipf, pareto) put the hottest
 * blocks at the start; `scatter` sends every block to one of its own by a permutation, so that
 * hot ones lie all over the region and on all members of a striped volume alike.
 */
#ifndef IOLUA_CORE_SPOT_H
#define IOLUA_CORE_SPOT_H

#include "core/dist.h"
#include "core/mix.h"

enum spot_kind {
    SPOT_SEQUENTIAL,           /* 0, 1, 2 ..., again from 0 after the last */
    SPOT_UNIFORM,              /* any block, with repeats */
    SPOT_NOREPEAT,             /* every block once in random order, then in another */
    SPOT_STRIDE,               /* 0, s, 2s ..., then 1, 1 + s ...: every block once a pass */
    SPOT_ZIPF,                 /* parameter theta, 0 .. DIST_THETA_MAX */
    SPOT_PARETO,               /* parameter h, between 0 and 1 */
    SPOT_NORMAL,               /* around the middle; parameter deviation, % of the region */
    SPOT_ZONED,                /* so many % of operations on the next so many % of blocks */
};

struct spot_spec {
    enum spot_kind kind;
    double parameter;           /* of zipf, pareto, normal */
    uint64_t stride;            /* blocks, 1 or more */
    bool scatter;               /* of zipf, pareto, normal, zoned; the others know no hot place */
    uint64_t scatter_seed;      /* the same for all who share a region: the same hot places */
    unsigned zones;             /* of zoned: their number, 1 .. MIX_MAX */
    uint32_t access[MIX_MAX];   /* each zone's share of operations and of blocks: both sum up */
    uint32_t size[MIX_MAX];     /* to MIX_WHOLE */
};

struct spot {
    enum spot_kind kind;
    bool scatter;
    uint64_t blocks;
    uint64_t next, lap, stride; /* of the orders: next block or index; first block of this lap */
    struct dist_perm perm;      /* of norepeat, or the scattering */
    union {
        struct dist_zipf zipf;
        struct dist_pareto pareto;
        double deviation;       /* blocks */
        struct {
            struct mix access;
            uint64_t end[MIX_MAX];      /* the block after each zone's last */
        } zoned;
    } u;
};

/*
 * Start over `blocks` (1 .. 2^63) blocks; r draws the first order of SPOT_NOREPEAT. 0; -EINVAL
 * for a parameter out of its range or zones that do not sum up; -ERANGE when a zone that is to
 * be accessed is too small to hold a block.
 */
int spot_init(struct spot *p, const struct spot_spec *spec, uint64_t blocks, struct rng *r);

/* All kinds, out of line. */
uint64_t spot_draw(struct spot *p, struct rng *r);

/* The next block; the cheap kinds in line. */
static inline uint64_t spot_next(struct spot *p, struct rng *r)
{
    if (p->kind == SPOT_UNIFORM)
        return rng_below(r, p->blocks);
    if (p->kind == SPOT_SEQUENTIAL) {
        uint64_t at = p->next;

        p->next = at + 1 == p->blocks ? 0 : at + 1;
        return at;
    }
    return spot_draw(p, r);
}

#endif
