#include <errno.h>
#include <math.h>

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

/* (e^x - 1) / x and log(1 + x) / x, smooth through 0: theta = 1 is no pole. */
static double growth(double x)
{
    return fabs(x) > 1e-8 ? expm1(x) / x : 1 + x / 2;
}

static double decay(double x)
{
    return fabs(x) > 1e-8 ? log1p(x) / x : 1 - x / 2;
}

static double share(double theta, double x)     /* x^-theta */
{
    return exp(-theta * log(x));
}

static double integral(double theta, double x)  /* of the share, from 1 to x */
{
    double l = log(x);

    return l * growth((1 - theta) * l);
}

static double inverse(double theta, double y)
{
    double t = (1 - theta) * y;

    return exp(y * decay(t < -1 ? -1 : t));     /* below -1 only by rounding */
}

int dist_zipf_init(struct dist_zipf *z, uint64_t n, double theta)
{
    if (n == 0 || !(theta >= 0 && theta <= DIST_THETA_MAX))
        return -EINVAL;
    z->n = n;
    z->theta = theta;
    z->first = integral(theta, 1.5) - 1;
    z->last = integral(theta, (double)n + 0.5);
    z->squeeze = 2 - inverse(theta, integral(theta, 2.5) - share(theta, 2));
    return 0;
}

uint64_t dist_zipf_next(const struct dist_zipf *z, struct rng *r)
{
    for (;;) {
        double u = z->last + rng_unit(r) * (z->first - z->last);
        double x = inverse(z->theta, u), k = floor(x + 0.5);

        k = k < 1 ? 1 : k;
        if (k > (double)z->n)
            k = (double)z->n;
        if (k - x <= z->squeeze ||
            u >= integral(z->theta, k + 0.5) - share(z->theta, k))
            return k >= 0x1p64 || (uint64_t)k > z->n ? z->n : (uint64_t)k;
    }
}

int dist_pareto_init(struct dist_pareto *p, uint64_t n, double h)
{
    if (n == 0 || !(h > 0 && h < 1))
        return -EINVAL;
    p->n = n;
    p->power = log(h) / log1p(-h);
    return 0;
}

uint64_t dist_pareto_next(const struct dist_pareto *p, struct rng *r)
{
    double at = (double)p->n * pow(rng_unit(r), p->power);

    return at >= (double)p->n ? p->n - 1 : (uint64_t)at;
}

double dist_normal(struct rng *r)
{
    double radius = sqrt(-2 * log1p(-rng_unit(r)));     /* Box and Muller, 1958 */

    return radius * cos(6.283185307179586 * rng_unit(r));
}

double dist_exponential(struct rng *r, double mean)
{
    return -mean * log1p(-rng_unit(r));
}
