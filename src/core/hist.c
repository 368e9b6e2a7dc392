#include <math.h>
#include <string.h>

#include "core/hist.h"

#define LIMBS 4                 /* 256-bit integers, least significant limb first */
#define PERCENT 1000000u        /* 10^-6 % is the grain of a percentile */

void hist_reset(struct hist *h)
{
    memset(h, 0, sizeof *h);
    h->min = UINT64_MAX;
}

uint64_t hist_upper(unsigned bucket)
{
    unsigned shift;
    uint64_t top;

    if (bucket < 2 * HIST_SUB)
        return bucket;
    shift = bucket / HIST_SUB - 1;
    top = bucket - shift * HIST_SUB;
    return ((top + 1) << shift) - 1;    /* of the last bucket: 0 - 1, as it should be */
}

/* out = a * b, na + nb limbs of them; the product fits in LIMBS. */
static void multiply(uint64_t out[LIMBS], const uint64_t *a, int na, const uint64_t *b, int nb)
{
    memset(out, 0, LIMBS * sizeof *out);
    for (int i = 0; i < na; i++) {
        uint64_t carry = 0;

        for (int j = 0; j < nb; j++) {
            unsigned __int128 t = (unsigned __int128)a[i] * b[j] + out[i + j] + carry;

            out[i + j] = (uint64_t)t;
            carry = (uint64_t)(t >> 64);
        }
        if (i + nb < LIMBS)
            out[i + nb] = carry;
    }
}

/* a -= b, a >= b. */
static void subtract(uint64_t a[LIMBS], const uint64_t b[LIMBS])
{
    uint64_t borrow = 0;

    for (int i = 0; i < LIMBS; i++) {
        unsigned __int128 t = (unsigned __int128)a[i] - b[i] - borrow;

        a[i] = (uint64_t)t;
        borrow = (uint64_t)(t >> 64) & 1;
    }
}

static void add_square(struct hist *h, unsigned __int128 low, uint64_t high)
{
    h->square += low;
    h->square_high += high + (h->square < low);
}

void hist_add_square(struct hist *h, uint64_t ns, uint64_t count)
{
    unsigned __int128 square = (unsigned __int128)ns * ns;
    uint64_t s[2] = { (uint64_t)square, (uint64_t)(square >> 64) }, p[LIMBS];

    multiply(p, s, 2, &count, 1);
    add_square(h, (unsigned __int128)p[1] << 64 | p[0], p[2]);
}

void hist_merge(struct hist *into, const struct hist *from)
{
    into->count += from->count;
    into->min = from->min < into->min ? from->min : into->min;
    into->max = from->max > into->max ? from->max : into->max;
    into->sum += from->sum;
    add_square(into, from->square, from->square_high);
    for (unsigned i = 0; i < HIST_BUCKETS; i++)
        into->counts[i] += from->counts[i];
}

static uint64_t clamp(const struct hist *h, uint64_t v)
{
    return v < h->min ? h->min : v > h->max ? h->max : v;
}

bool hist_percentile(uint64_t *out, const struct hist *h, double p)
{
    const uint64_t whole = 100ull * PERCENT;
    uint64_t rank, seen = 0;
    unsigned i = 0;

    if (h->count == 0 || !(p >= 0 && p <= 100))
        return false;
    rank = (uint64_t)(((unsigned __int128)(uint64_t)llround(p * PERCENT) * h->count +
                       whole - 1) / whole);
    rank = rank ? rank : 1;
    while (rank - seen > h->counts[i])  /* no sum that could pass 2^64 */
        seen += h->counts[i++];
    *out = clamp(h, hist_upper(i));
    return true;
}

bool hist_mean(double *out, const struct hist *h)
{
    if (h->count == 0)
        return false;
    /* The integer part apart, so that nothing is lost to the width of the sum. */
    *out = (double)((long double)(uint64_t)(h->sum / h->count) +
                    (long double)(uint64_t)(h->sum % h->count) / h->count);
    return true;
}

bool hist_stddev(double *out, const struct hist *h)
{
    uint64_t square[3] = { (uint64_t)h->square, (uint64_t)(h->square >> 64), h->square_high };
    uint64_t sum[2] = { (uint64_t)h->sum, (uint64_t)(h->sum >> 64) };
    uint64_t d[LIMBS], s[LIMBS];
    long double v = 0;

    if (h->count < 2)
        return false;
    /* Variance = (n sum(x^2) - sum(x)^2) / (n (n - 1)), its numerator in exact integers. */
    multiply(d, square, 3, &h->count, 1);
    multiply(s, sum, 2, sum, 2);
    subtract(d, s);
    for (int i = LIMBS - 1; i >= 0; i--)
        v = v * 0x1p64L + d[i];
    *out = (double)sqrtl(v / h->count / (h->count - 1));
    return true;
}
