/*
 * dist - random numbers of a distribution, and permutations without a table.
 *
 * All draw from a struct rng, so that a seed repeats them. Those that use logarithms repeat to
 * the bit on machines whose C libraries round alike.
 */
#ifndef IOLUA_CORE_DIST_H
#define IOLUA_CORE_DIST_H

#include "core/rng.h"

#include <stdbool.h>
#include <stdint.h>

#define DIST_ROUNDS    12       /* of a small network; a larger one is as random after 4 */
#define DIST_THETA_MAX 20.0     /* beyond it only the first rank is ever drawn */

/*
 * Permutation of 0 .. n - 1: every number exactly once in O(1) memory, for any n up to 2^63. A
 * Feistel network over the next power of two with cycle walking (less than two turns on
 * average), begun at a place drawn at random, so that over all seeds each index is equally
 * likely to go to each number.
 */
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

/*
 * Zipf: rank k of 1 .. n has a share of 1 / k^theta, for any theta from 0 (uniform) to
 * DIST_THETA_MAX, 1 included. Rejection-inversion (Hörmann and Derflinger, 1996): constant time
 * and memory. Ranks above 2^53 are rounded to 53 bits.
 */
struct dist_zipf {
    uint64_t n;
    double theta;
    double first, last;         /* the range inverted: integrals up to rank 1 and to n */
    double squeeze;             /* closer to its rank than this, a draw is taken at once */
};

/* 0, or -EINVAL for n = 0 or a theta out of range. */
int dist_zipf_init(struct dist_zipf *z, uint64_t n, double theta);

/* A rank, 1 .. n. */
uint64_t dist_zipf_next(const struct dist_zipf *z, struct rng *r);

/*
 * Pareto as storage tools mean it, self-similar: the first part h of 0 .. n - 1 gets the share
 * 1 - h of the draws, and so has its own first part of it. h 0.2 is "80 % on 20 %".
 */
struct dist_pareto {
    uint64_t n;
    double power;
};

/* 0, or -EINVAL for n = 0 or an h not between 0 and 1. */
int dist_pareto_init(struct dist_pareto *p, uint64_t n, double h);

/* 0 .. n - 1. */
uint64_t dist_pareto_next(const struct dist_pareto *p, struct rng *r);

/* Mean 0, standard deviation 1. */
double dist_normal(struct rng *r);

/* Time between events that come at random, `mean` apart on average; 0 or more. */
double dist_exponential(struct rng *r, double mean);

#endif
