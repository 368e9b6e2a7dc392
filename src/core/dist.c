#include "core/dist.h"

/* `bits` (1 .. 32) bits of half x under a key. */
static uint64_t mix(uint64_t x, uint64_t key, unsigned bits)
{
    x = (x ^ key) * 0x9e3779b97f4a7c15;
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93;
    return x >> (64 - bits);
}

void dist_perm_init(struct dist_perm *p, uint64_t n, struct rng *r)
{
    unsigned bits = n > 4 ? 64u - (unsigned)__builtin_clzll(n - 1) : 2;

    p->n = n;
    p->low = bits / 2;
    p->high = bits - p->low;
    p->rounds = bits > 8 ? 4 : DIST_ROUNDS;
    p->start = rng_below(r, n);
    for (unsigned i = 0; i < DIST_ROUNDS; i++)
        p->keys[i] = rng_next(r);
}

uint64_t dist_perm_at(const struct dist_perm *p, uint64_t i)
{
    uint64_t low, high;

    i = i >= p->n - p->start ? i - (p->n - p->start) : i + p->start;
    do {                                /* a step out of 0 .. n - 1 walks on along its cycle */
        low = i & (((uint64_t)1 << p->low) - 1);
        high = i >> p->low;
        for (unsigned round = 0; round < p->rounds; round += 2) {
            high ^= mix(low, p->keys[round], p->high);
            low ^= mix(high, p->keys[round + 1], p->low);
        }
        i = high << p->low | low;
    } while (i >= p->n);
    return i;
}
