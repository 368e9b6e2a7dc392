#include "core/rng.h"

/* x^(2^128) modulo the generator's characteristic polynomial: the published jump. */
static const uint64_t JUMP[4] = {
    0x180ec6d33cfd0aba, 0xd5a61266f0c9392c, 0xa9582618e03fc9aa, 0x39abdc4529b1661c,
};

uint64_t rng_splitmix(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

void rng_jump(struct rng *r)
{
    struct rng sum = { { 0 } };

    for (int bit = 0; bit < 256; bit++) {
        uint64_t take = -(JUMP[bit / 64] >> bit % 64 & 1);

        for (int i = 0; i < 4; i++)
            sum.s[i] ^= r->s[i] & take;
        rng_next(r);
    }
    *r = sum;
}

void rng_seed(struct rng *r, uint64_t seed, unsigned stream)
{
    for (int i = 0; i < 4; i++)         /* splitmix64 never gives four zeros in a row */
        r->s[i] = rng_splitmix(&seed);
    while (stream-- > 0)
        rng_jump(r);
}
