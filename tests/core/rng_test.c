/*
 * Right values: the outputs that the generators' authors published, and the state after a jump
 * that another implementation gives (Fortran, and matrices over GF(2) raised to 2^128).
 */
#include "check.h"
#include "core/rng.h"

static void xoshiro_gives_the_published_sequence(void)
{
    static const uint64_t want[] = {
        41943041u, 58720359u, 3588806011781223u, 3591011842654386u, 9228616714210784205u,
        9973669472204895162u, 14011001112246962877u, 12406186145184390807u,
        15849039046786891736u, 10450023813501588000u,
    };
    struct rng r = { { 1, 2, 3, 4 } };

    for (unsigned i = 0; i < 10; i++)
        CHECK(rng_next(&r) == want[i]);
}

static void splitmix_gives_the_published_sequence(void)
{
    static const uint64_t want[] = {
        6457827717110365317u, 3203168211198807973u, 9817491932198370423u,
        4593380528125082431u, 16408922859458223821u,
    };
    uint64_t state = 1234567;

    for (unsigned i = 0; i < 5; i++)
        CHECK(rng_splitmix(&state) == want[i]);
}

static void a_jump_is_two_to_the_128_steps(void)
{
    struct rng r = { { 0, 0, 0, 1 } };

    rng_jump(&r);
    CHECK(r.s[0] == 0x934d05e8b2076310);
    CHECK(r.s[1] == 0xeabdd0bf76a1be51);
    CHECK(r.s[2] == 0x75dd6a992accb1e8);
    CHECK(r.s[3] == 0xc660c602a7330187);
}

static void a_seed_is_spread_by_splitmix_and_streams_are_jumps(void)
{
    struct rng a, b;
    uint64_t state = 7;

    rng_seed(&a, 7, 0);
    for (int i = 0; i < 4; i++)
        CHECK(a.s[i] == rng_splitmix(&state));
    for (unsigned stream = 1; stream <= 64; stream++) {
        rng_jump(&a);
        rng_seed(&b, 7, stream);
        CHECK(memcmp(&a, &b, sizeof a) == 0);
    }
}

static void one_seed_gives_one_sequence(void)
{
    struct rng a, b, c;
    int same = 0;

    rng_seed(&a, 0, 3);
    rng_seed(&b, 0, 3);
    rng_seed(&c, 1, 3);
    for (int i = 0; i < 1000; i++) {
        uint64_t v = rng_next(&a);

        CHECK(v == rng_next(&b));
        same += v == rng_next(&c);
    }
    CHECK_INT(same, 0);
}

/* Bits in which two streams agree: half of them, 4 sigma = 2 sqrt(bits). */
static void streams_and_neighbouring_seeds_are_uncorrelated(void)
{
    enum { DRAWS = 16384, BITS = DRAWS * 64 };

    for (unsigned i = 0; i < 16; i++) {
        struct rng a, b;
        long agree = 0;

        rng_seed(&a, 5, i);
        rng_seed(&b, i & 1 ? 6 : 5, i & 1 ? i : i + 1);
        for (int k = 0; k < DRAWS; k++)
            agree += 64 - __builtin_popcountll(rng_next(&a) ^ rng_next(&b));
        CHECK(agree > BITS / 2 - 2048 && agree < BITS / 2 + 2048);
    }
}

static void below_stays_below(void)
{
    static const uint64_t n[] = { 1, 2, 3, 1000, (uint64_t)1 << 32, ((uint64_t)1 << 63) + 1,
                                  UINT64_MAX };
    struct rng r;

    rng_seed(&r, 1, 0);
    for (unsigned k = 0; k < sizeof n / sizeof *n; k++)
        for (int i = 0; i < 1000; i++)
            CHECK(rng_below(&r, n[k]) < n[k]);
}

/* Chi-square of `draws` over n cells stays within 4 sigma of its mean n - 1. */
static void below_is_uniform(void)
{
    static const unsigned sizes[] = { 2, 3, 7, 10, 100, 1000 };
    struct rng r;

    rng_seed(&r, 2, 0);
    for (unsigned k = 0; k < 6; k++) {
        unsigned n = sizes[k], seen[1000] = { 0 };
        double draws = 1000.0 * n, chi = 0, off;

        for (unsigned i = 0; i < 1000 * n; i++)
            seen[rng_below(&r, n)]++;
        for (unsigned i = 0; i < n; i++)
            chi += (seen[i] - draws / n) * (seen[i] - draws / n) / (draws / n);
        off = chi - (n - 1);
        CHECK(off * off < 16 * 2 * (n - 1));
    }
}

/* n = 3 * 2^62: a plain modulo or multiplication would give the first third twice as often. */
static void below_is_unbiased_for_large_ranges(void)
{
    const uint64_t part = (uint64_t)1 << 62;
    unsigned seen[3] = { 0 };
    struct rng r;

    rng_seed(&r, 3, 0);
    for (int i = 0; i < 300000; i++)
        seen[rng_below(&r, 3 * part) / part]++;
    for (int i = 0; i < 3; i++)         /* sigma = sqrt(300000 * 2/9) = 258 */
        CHECK(seen[i] > 100000 - 1033 && seen[i] < 100000 + 1033);
}

static void unit_is_uniform_and_below_one(void)
{
    double sum = 0, square = 0;
    struct rng r;

    rng_seed(&r, 4, 0);
    for (int i = 0; i < 1000000; i++) {
        double u = rng_unit(&r);

        if (!(u >= 0 && u < 1))
            CHECK(!"outside [0, 1)");
        sum += u;
        square += u * u;
    }
    CHECK(sum > 500000 - 1155 && sum < 500000 + 1155);          /* 4 sqrt(10^6 / 12) */
    CHECK(square > 333333 - 1193 && square < 333333 + 1193);    /* 4 sqrt(10^6 * 4 / 45) */
}

int main(void)
{
    CASE(xoshiro_gives_the_published_sequence);
    CASE(splitmix_gives_the_published_sequence);
    CASE(a_jump_is_two_to_the_128_steps);
    CASE(a_seed_is_spread_by_splitmix_and_streams_are_jumps);
    CASE(one_seed_gives_one_sequence);
    CASE(streams_and_neighbouring_seeds_are_uncorrelated);
    CASE(below_stays_below);
    CASE(below_is_uniform);
    CASE(below_is_unbiased_for_large_ranges);
    CASE(unit_is_uniform_and_below_one);
    return DONE();
}
