/*
 * rng - xoshiro256++ (Blackman and Vigna, 2019) seeded through splitmix64.
 *
 * Streams of one seed are independent: stream i is the generator jumped i times 2^128 steps, so
 * that workers draw from one seed without overlap. Same seed and stream, same sequence, on
 * every machine.
 */
#ifndef IOLUA_CORE_RNG_H
#define IOLUA_CORE_RNG_H

#include <stdint.h>

struct rng {
    uint64_t s[4];
};

/* Stream `stream` of a seed. Takes about half a microsecond per stream number. */
void rng_seed(struct rng *r, uint64_t seed, unsigned stream);

/* Go 2^128 steps ahead. */
void rng_jump(struct rng *r);

/* splitmix64 (Steele, Lea and Flood, 2014): the next 64 bits of a one-word state. Any state is
 * a good one, so it turns seeds into states, and one seed into several. */
uint64_t rng_splitmix(uint64_t *state);

static inline uint64_t rng_rotl(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

/* 64 uniform bits. */
static inline uint64_t rng_next(struct rng *r)
{
    uint64_t *s = r->s, result = rng_rotl(s[0] + s[3], 23) + s[0], t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rng_rotl(s[3], 45);
    return result;
}

/* Unbiased integer in 0 .. n - 1, n >= 1 (multiply and reject: Lemire, 2019). */
static inline uint64_t rng_below(struct rng *r, uint64_t n)
{
    unsigned __int128 m = (unsigned __int128)rng_next(r) * n;

    if (__builtin_expect((uint64_t)m < n, 0)) {
        uint64_t floor = -n % n;

        while ((uint64_t)m < floor)
            m = (unsigned __int128)rng_next(r) * n;
    }
    return (uint64_t)(m >> 64);
}

/* Uniform double in [0, 1), 53 bits. */
static inline double rng_unit(struct rng *r)
{
    return (double)(rng_next(r) >> 11) * 0x1p-53;
}

#endif
