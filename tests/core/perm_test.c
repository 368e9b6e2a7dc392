/*
 * The right value of a permutation is every block once; of its order, what chance gives.
 */
#include <stdlib.h>

#include "check.h"
#include "core/dist.h"
#include "stat.h"

#define CELLS 64

static unsigned char taken[1 << 21];

/* Every index of 0 .. n - 1 goes to a block of its own. */
static int covers(uint64_t n, struct rng *r)
{
    struct dist_perm p;

    dist_perm_init(&p, n, r);
    memset(taken, 0, n);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at = dist_perm_at(&p, i);

        if (at >= n || taken[at]++)
            return 0;
    }
    return 1;
}

static void every_small_size_is_covered_exactly_once(void)
{
    struct rng r;

    rng_seed(&r, 1, 0);
    for (uint64_t n = 1; n <= 2000; n++)
        CHECK(covers(n, &r));
}

static void sizes_around_powers_of_two_are_covered_exactly_once(void)
{
    struct rng r;

    rng_seed(&r, 2, 0);
    for (unsigned bit = 11; bit <= 20; bit++)
        for (int off = -1; off <= 1; off++)
            CHECK(covers(((uint64_t)1 << bit) + (uint64_t)(int64_t)off, &r));
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* 2^18 places out of 2^32 drawn independently would repeat 8 times. */
static void beyond_two_to_the_32_nothing_repeats(void)
{
    enum { DRAWS = 1 << 18 };
    static const uint64_t sizes[] = {
        0xffffffff, 0x100000000, 0x100000001, 0x1ffffffff, 10000000019, (uint64_t)1 << 63,
    };
    uint64_t *at = malloc(DRAWS * sizeof *at);
    struct rng r;

    rng_seed(&r, 3, 0);
    for (unsigned k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        struct dist_perm p;
        int repeats = 0;

        dist_perm_init(&p, sizes[k], &r);
        for (uint64_t i = 0; i < DRAWS; i++)        /* half from the front, half from the end */
            at[i] = dist_perm_at(&p, i & 1 ? sizes[k] - 1 - i / 2 : i / 2);
        qsort(at, DRAWS, sizeof *at, by_value);
        for (unsigned i = 1; i < DRAWS; i++)
            repeats += at[i] == at[i - 1];
        CHECK_INT(repeats, 0);
        CHECK(at[DRAWS - 1] < sizes[k]);
        CHECK(at[DRAWS - 1] > sizes[k] / 100 * 99 && at[0] < sizes[k] / 100);
    }
    free(at);
}

static void the_order_is_none(void)
{
    static const uint64_t sizes[] = { 1000, 4096, 100000, 10000000000 };
    struct rng r;

    rng_seed(&r, 4, 0);
    for (unsigned k = 0; k < 4; k++) {
        struct dist_perm p;
        unsigned rises = 0, follows = 0;

        dist_perm_init(&p, sizes[k], &r);
        for (uint64_t i = 0; i < 999; i++) {
            uint64_t a = dist_perm_at(&p, i), b = dist_perm_at(&p, i + 1);

            rises += b > a;
            follows += b == a + 1;
        }
        CHECK(fabs(rises - 499.5) < 4 * sqrt(1001 / 12.0));     /* of a random permutation */
        CHECK(follows <= 6);                                    /* Poisson, mean 1 or less */
    }
}

static void each_index_goes_anywhere_over_the_seeds(void)
{
    for (unsigned n = 2; n <= CELLS; n += 1 + n / 8)
        for (unsigned i = 0; i < n; i += n - 1) {
            unsigned seen[CELLS] = { 0 };

            for (unsigned seed = 0; seed < 200 * n; seed++) {
                struct dist_perm p;
                struct rng r;

                rng_seed(&r, seed, 0);
                dist_perm_init(&p, n, &r);
                seen[dist_perm_at(&p, i)]++;
            }
            CHECK(stat_chi_fits(stat_chi_equal(seen, n, 200.0 * n), n - 1));
        }
}

/* Four rounds on a few bits would favour some pairs by far: chi-square 5 times its mean. */
static void neighbours_go_anywhere_over_the_seeds(void)
{
    static const unsigned sizes[] = { 3, 4, 5, 7, 9, 12, 16, 33 };
    struct rng r;

    rng_seed(&r, 5, 0);
    for (unsigned k = 0; k < 8; k++) {
        unsigned n = sizes[k], pairs = n * (n - 1), seen[CELLS * CELLS] = { 0 };

        for (unsigned t = 0; t < 100 * pairs; t++) {
            struct dist_perm p;
            uint64_t a, b;

            dist_perm_init(&p, n, &r);
            a = dist_perm_at(&p, 0);
            b = dist_perm_at(&p, 1);
            seen[a * (n - 1) + b - (b > a)]++;
        }
        CHECK(stat_chi_fits(stat_chi_equal(seen, pairs, 100.0 * pairs), pairs - 1));
    }
}

/* Part of a pass over a stripe of `width` members falls on all of them alike, whatever the
 * chunk; drawn without repeats, so chi-square may only be smaller than chance's. */
static void no_member_of_a_stripe_is_favoured(void)
{
    static const uint64_t sizes[] = { 1 << 20, 1000003, 3 << 19, (uint64_t)1 << 34 };
    struct rng r;

    rng_seed(&r, 6, 0);
    for (unsigned k = 0; k < 4; k++)
        for (unsigned width = 2; width <= 10; width++)
            for (unsigned chunk = 1; chunk <= 64; chunk *= 4) {
                struct dist_perm p;
                unsigned seen[10] = { 0 };

                dist_perm_init(&p, sizes[k], &r);
                for (unsigned i = 0; i < 10000; i++)
                    seen[dist_perm_at(&p, i) / chunk % width]++;
                CHECK(stat_chi_fits(stat_chi_equal(seen, width, 10000), width - 1));
            }
}

static void one_seed_gives_one_permutation_another_another(void)
{
    struct rng a, b, c;
    struct dist_perm p, q, s;
    unsigned same = 0;

    rng_seed(&a, 9, 1);
    rng_seed(&b, 9, 1);
    rng_seed(&c, 9, 2);
    dist_perm_init(&p, 100000, &a);
    dist_perm_init(&q, 100000, &b);
    dist_perm_init(&s, 100000, &c);
    for (unsigned i = 0; i < 1000; i++) {
        CHECK(dist_perm_at(&p, i) == dist_perm_at(&q, i));
        same += dist_perm_at(&p, i) == dist_perm_at(&s, i);
    }
    CHECK(same < 5);
}

int main(void)
{
    CASE(every_small_size_is_covered_exactly_once);
    CASE(sizes_around_powers_of_two_are_covered_exactly_once);
    CASE(beyond_two_to_the_32_nothing_repeats);
    CASE(the_order_is_none);
    CASE(each_index_goes_anywhere_over_the_seeds);
    CASE(neighbours_go_anywhere_over_the_seeds);
    CASE(no_member_of_a_stripe_is_favoured);
    CASE(one_seed_gives_one_permutation_another_another);
    return DONE();
}
