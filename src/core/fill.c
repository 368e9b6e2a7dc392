#define XXH_INLINE_ALL
#include <string.h>
#include <xxhash.h>

#include "core/fill.h"

void fill_random(void *mem, size_t len, struct rng *r)
{
    unsigned char *p = mem;
    uint64_t bits;

    for (; len >= sizeof bits; p += sizeof bits, len -= sizeof bits) {
        bits = rng_next(r);
        memcpy(p, &bits, sizeof bits);
    }
    bits = rng_next(r);
    memcpy(p, &bits, len);
}

void fill_compressible(void *mem, size_t len, unsigned percent, struct rng *r)
{
    unsigned char *p = mem;

    while (len > 0) {
        size_t piece = len < 4096 ? len : 4096, zeros = piece * percent / 100;

        memset(p + piece - zeros, 0, zeros);
        if (piece > zeros)
            fill_random(p, piece - zeros, r);
        p += piece;
        len -= piece;
    }
}

uint64_t fill_hash(const void *mem, size_t len)
{
    return XXH3_64bits(mem, len);
}
