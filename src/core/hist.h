/*
 * hist - counts of durations in log-linear buckets.
 *
 * A value v of b significant bits falls in the bucket named by its top HIST_BITS + 1 bits, so a
 * bucket is never wider than v / 2^HIST_BITS: with HIST_BITS = 7 any percentile is less than
 * 1/128 above the recorded value of that rank. Values below 2^(HIST_BITS + 1) are exact. Every
 * uint64_t has a bucket: nothing is clipped. Count, minimum, maximum, mean and standard
 * deviation come from exact integer sums, not from the buckets.
 *
 * Not thread-safe: give each thread its own and merge when they have stopped.
 */
#ifndef IOLUA_CORE_HIST_H
#define IOLUA_CORE_HIST_H

#include <stdbool.h>
#include <stdint.h>

#define HIST_BITS    7
#define HIST_SUB     (1u << HIST_BITS)
#define HIST_BUCKETS ((64u - HIST_BITS + 1) * HIST_SUB)

/* A userdata of Lua is aligned to 8 bytes only, and a histogram may be one. */
typedef unsigned __int128 hist_sum __attribute__((aligned(8)));

struct hist {
    uint64_t count;
    uint64_t min, max;          /* of no value: UINT64_MAX and 0 */
    hist_sum sum;
    hist_sum square;            /* low 128 bits of the sum of squares */
    uint64_t square_high;       /* and what overflowed them */
    uint64_t counts[HIST_BUCKETS];
};

void hist_reset(struct hist *h);

/* Bucket of a value, and the largest value of a bucket. */
static inline unsigned hist_bucket(uint64_t v)
{
    unsigned shift;

    if (v < 2 * HIST_SUB)
        return (unsigned)v;
    shift = 63u - (unsigned)__builtin_clzll(v) - HIST_BITS;
    return shift * HIST_SUB + (unsigned)(v >> shift);
}

uint64_t hist_upper(unsigned bucket);

/* Add `squares` = ns * ns * count without losing the bits above 128. */
void hist_add_square(struct hist *h, uint64_t ns, uint64_t count);

/* Count `count` (1 or more) durations of ns each. */
static inline void hist_record(struct hist *h, uint64_t ns, uint64_t count)
{
    unsigned __int128 add;

    h->counts[hist_bucket(ns)] += count;
    h->count += count;
    h->min = ns < h->min ? ns : h->min;
    h->max = ns > h->max ? ns : h->max;
    h->sum += (unsigned __int128)ns * count;
    if (__builtin_expect((ns | count) >> 32, 0)) {
        hist_add_square(h, ns, count);
        return;
    }
    add = (unsigned __int128)(ns * ns) * count;
    h->square += add;
    h->square_high += h->square < add;
}

/* into += from. Exact, commutative and associative. */
void hist_merge(struct hist *into, const struct hist *from);

/* p in percent, 0 .. 100, rounded to 10^-6; nearest rank in exact integers, rank 1 at least.
 * false (out untouched) when nothing was recorded or p is out of range or NaN. */
bool hist_percentile(uint64_t *out, const struct hist *h, double p);

/* false when there are too few values: 1 for the mean, 2 for the deviation (of the sample). */
bool hist_mean(double *out, const struct hist *h);
bool hist_stddev(double *out, const struct hist *h);

#endif
