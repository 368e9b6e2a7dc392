/*
 * dist - places in a region: which block comes next.
 *
 * Blocks are numbered 0 .. blocks - 1. The permutation covers every block exactly once in O(1)
 * memory, for any count up to 2^63: a Feistel network over the next power of two with cycle
 * walking (less than two turns on average), begun at a place drawn at random, so that over all
 * seeds each index is equally likely to go to each block.
 */
#ifndef IOLUA_CORE_DIST_H
#define IOLUA_CORE_DIST_H

#include "core/rng.h"

#include <stdint.h>

#define DIST_ROUNDS 12          /* of a small network; a larger one is as random after 4 */

/* Full-coverage permutation of 0 .. n - 1. */
struct dist_perm {
    uint64_t n;
    uint64_t start;             /* added to the index first, modulo n */
    unsigned low, high;         /* bits of the two halves */
    unsigned rounds;            /* even */
    uint64_t keys[DIST_ROUNDS];
};

/* A permutation of 0 .. n - 1, n >= 1, drawn with r. */
void dist_perm_init(struct dist_perm *p, uint64_t n, struct rng *r);

/* Where index i (0 .. n - 1) goes: a bijection on 0 .. n - 1. */
uint64_t dist_perm_at(const struct dist_perm *p, uint64_t i);

#endif
