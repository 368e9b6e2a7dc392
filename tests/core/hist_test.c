/*
 * Right values: closed forms, and a sorted array in which rank k is element k.
 */
#include <math.h>
#include <stdlib.h>

#include "check.h"
#include "core/hist.h"
#include "core/rng.h"

static struct hist a, b, c;

static uint64_t percentile(const struct hist *h, double p)
{
    uint64_t v = 0;

    CHECK(hist_percentile(&v, h, p));
    return v;
}

static double mean(const struct hist *h)
{
    double v = NAN;

    CHECK(hist_mean(&v, h));
    return v;
}

static double deviation(const struct hist *h)
{
    double v = NAN;

    CHECK(hist_stddev(&v, h));
    return v;
}

/* The header's promise: v's bucket answers with v or up to 1/128 more. */
static int near_above(uint64_t got, uint64_t v)
{
    return got >= v && got - v <= v >> HIST_BITS;
}

static void check_bucket(uint64_t v)
{
    unsigned i = hist_bucket(v);
    uint64_t upper = hist_upper(i);

    CHECK(i < HIST_BUCKETS);
    CHECK(near_above(upper, v));
    CHECK(hist_bucket(upper) == i);                             /* the edge belongs to it */
    CHECK(upper == UINT64_MAX || hist_bucket(upper + 1) == i + 1);      /* and is its last */
}

static void every_value_has_a_bucket_within_the_bound(void)
{
    struct rng r;

    rng_seed(&r, 1, 0);
    for (uint64_t v = 0; v < 5000; v++)
        check_bucket(v);
    for (unsigned bit = 0; bit < 64; bit++)
        for (int i = 0; i < 100; i++)
            check_bucket(rng_next(&r) >> bit);
    for (unsigned bit = 1; bit < 64; bit++)
        check_bucket(((uint64_t)1 << bit) - 1), check_bucket((uint64_t)1 << bit);
    check_bucket(UINT64_MAX);
    CHECK_INT(hist_bucket(UINT64_MAX), HIST_BUCKETS - 1);
}

static void small_values_are_exact(void)
{
    for (unsigned v = 0; v < 2 * HIST_SUB; v++)
        CHECK_INT(hist_upper(hist_bucket(v)), v);
}

static void zero_and_very_long_values_are_counted(void)
{
    hist_reset(&a);
    hist_record(&a, 0, 1);
    hist_record(&a, 300000000000, 1);
    hist_record(&a, 1000000000000, 1);
    hist_record(&a, UINT64_MAX, 1);
    CHECK_INT(a.count, 4);
    CHECK(a.min == 0 && a.max == UINT64_MAX);
    CHECK(percentile(&a, 25) == 0);
    CHECK(near_above(percentile(&a, 50), 300000000000));
    CHECK(near_above(percentile(&a, 75), 1000000000000));
    CHECK(percentile(&a, 100) == UINT64_MAX);
}

static void nothing_recorded_gives_nothing(void)
{
    uint64_t v = 77;
    double d = 7.5;

    hist_reset(&a);
    CHECK(!hist_percentile(&v, &a, 50) && v == 77);
    CHECK(!hist_mean(&d, &a) && d == 7.5);
    CHECK(!hist_stddev(&d, &a) && d == 7.5);
    hist_record(&a, 5, 1);
    CHECK(mean(&a) == 5);
    CHECK(!hist_stddev(&d, &a) && d == 7.5);            /* one value spreads nowhere */
    hist_record(&a, 5, 1);
    CHECK(deviation(&a) == 0);
}

static void a_percentile_out_of_range_is_refused(void)
{
    static const double bad[] = { -1, -1e-9, 100.0000001, 101, 1e300, -INFINITY, INFINITY };
    uint64_t v = 77;

    hist_reset(&a);
    hist_record(&a, 5, 1);
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK(!hist_percentile(&v, &a, bad[i]));
    CHECK(!hist_percentile(&v, &a, NAN));
    CHECK_INT(v, 77);
}

static void one_to_ten_has_the_ranks_of_the_textbook(void)
{
    hist_reset(&a);
    for (uint64_t v = 1; v <= 10; v++)
        hist_record(&a, v, 1);
    CHECK_INT(percentile(&a, 0), 1);
    CHECK_INT(percentile(&a, 25), 3);
    CHECK_INT(percentile(&a, 50), 5);
    CHECK_INT(percentile(&a, 75), 8);
    CHECK_INT(percentile(&a, 99), 10);
    CHECK_INT(percentile(&a, 100), 10);
    CHECK_INT(percentile(&a, 30), 3);
    CHECK_INT(percentile(&a, 30.000001), 4);
    CHECK_INT(percentile(&a, 30.0000001), 3);           /* finer than 10^-6 % is rounded */
}

/* 99.9 / 100 * 1000 is 999.0000000000001 in doubles: their ceiling is one rank too high. */
static void the_rank_does_not_fall_to_a_rounding_of_doubles(void)
{
    hist_reset(&a);
    for (uint64_t v = 1; v <= 1000; v++)
        hist_record(&a, v, 1);
    CHECK_INT(percentile(&a, 99.9), 999);               /* 1000 is in the next bucket */
    hist_reset(&a);
    hist_record(&a, 1, 999);
    hist_record(&a, 200, 1);
    CHECK_INT(percentile(&a, 99.9), 1);                 /* rank 999 */
    CHECK_INT(percentile(&a, 99.900001), 200);          /* rank 1000 */
}

/* For every count to 200 and every whole tenth of a per cent the rank is ceil(p n / 1000). */
static void no_rank_is_ever_off_by_one(void)
{
    for (unsigned n = 1; n <= 200; n++) {
        hist_reset(&a);
        for (uint64_t v = 1; v <= n; v++)
            hist_record(&a, v, 1);
        for (unsigned tenth = 0; tenth <= 1000; tenth++) {
            unsigned rank = (tenth * n + 999) / 1000;

            CHECK_INT(percentile(&a, tenth / 10.0), rank ? rank : 1);
        }
    }
}

static void ranks_are_exact_at_enormous_counts(void)
{
    const uint64_t most = UINT64_MAX;

    hist_reset(&a);
    hist_record(&a, 10, most / 100 * 99);
    hist_record(&a, 20, most - most / 100 * 99);        /* 1 % and 15 more */
    CHECK(a.count == most);
    CHECK_INT(percentile(&a, 99), 20);                  /* ceil(0.99 (2^64 - 1)) is one more */
    CHECK_INT(percentile(&a, 98.999999), 10);
    CHECK_INT(percentile(&a, 100), 20);
}

static int by_value(const void *x, const void *y)
{
    uint64_t u = *(const uint64_t *)x, v = *(const uint64_t *)y;

    return u < v ? -1 : u > v;
}

static void check_against_sorted(const uint64_t *v, unsigned n, struct rng *r)
{
    long double sum = 0, square = 0;

    CHECK(a.count == n && a.min == v[0] && a.max == v[n - 1]);
    for (int i = 0; i < 200; i++) {
        uint64_t p = i < 2 ? i * 100000000ull : rng_below(r, 100000001);
        uint64_t rank = (p * n + 99999999) / 100000000;

        CHECK(near_above(percentile(&a, (double)p / 1e6), v[rank ? rank - 1 : 0]));
        CHECK(percentile(&a, (double)p / 1e6) <= a.max);
    }
    for (unsigned i = 0; i < n; i++)
        sum += v[i];
    for (unsigned i = 0; i < n; i++)
        square += (v[i] - sum / n) * (v[i] - sum / n);
    CHECK(fabsl(mean(&a) - sum / n) <= 1e-15L * (sum / n));
    CHECK(n < 2 || fabsl(deviation(&a) - sqrtl(square / (n - 1))) <= 1e-14L * (sum / n));
}

static void random_values_of_all_sizes_agree_with_a_sorted_array(void)
{
    enum { MOST = 1000 };
    uint64_t v[MOST];
    struct rng r;

    rng_seed(&r, 2, 0);
    for (int round = 0; round < 100; round++) {
        unsigned n = 1 + (unsigned)rng_below(&r, MOST), drop = (unsigned)rng_below(&r, 64);

        hist_reset(&a);
        for (unsigned i = 0; i < n; i++) {
            v[i] = rng_next(&r) >> (round & 1 ? drop : rng_below(&r, 64));
            hist_record(&a, v[i], 1);
        }
        qsort(v, n, sizeof *v, by_value);
        check_against_sorted(v, n, &r);
    }
}

static void mean_and_deviation_are_those_of_the_closed_forms(void)
{
    const double n = 1000;

    hist_reset(&a);
    for (uint64_t v = 1; v <= 1000; v++)
        hist_record(&a, v, 1);
    CHECK(mean(&a) == 500.5);
    CHECK(fabs(deviation(&a) - sqrt(n * (n + 1) / 12)) < 1e-12);
}

/* In doubles 2^63 + 1 is 2^63, and a difference of their squares is anything. */
static void a_small_spread_far_from_zero_is_exact(void)
{
    const uint64_t far = (uint64_t)1 << 63;

    hist_reset(&a);
    for (uint64_t v = 0; v < 3; v++)
        hist_record(&a, far + v, 1);
    CHECK(deviation(&a) == 1);
    CHECK(mean(&a) == (double)far);
    hist_reset(&a);
    for (uint64_t v = 0; v < 5; v++)
        hist_record(&a, 1000000000000 + v, 1);
    CHECK(deviation(&a) == sqrt(2.5));
    CHECK(mean(&a) == 1000000000002);
}

static void the_largest_values_and_counts_overflow_nothing(void)
{
    const uint64_t half = UINT64_MAX / 2;

    hist_reset(&a);
    hist_record(&a, UINT64_MAX, UINT64_MAX);
    CHECK(mean(&a) == 0x1p64 && deviation(&a) == 0);
    CHECK(percentile(&a, 50) == UINT64_MAX);
    hist_reset(&a);
    hist_record(&a, 0, half);
    hist_record(&a, UINT64_MAX, half);
    CHECK(mean(&a) == 0x1p63);
    CHECK(deviation(&a) == 0x1p63);
    hist_reset(&a);
    hist_record(&a, 0, 1);
    hist_record(&a, UINT64_MAX, 1);
    CHECK(deviation(&a) == 0x1p64 * sqrt(0.5));
}

static void counting_n_at_once_is_counting_n_times(void)
{
    static const uint64_t v[] = { 0, 1, 4294967295, 4294967296, 4294967297, UINT64_MAX };

    hist_reset(&a);
    hist_reset(&b);
    for (unsigned k = 0; k < 6; k++) {
        hist_record(&a, v[k], 300);
        for (int i = 0; i < 300; i++)
            hist_record(&b, v[k], 1);
    }
    CHECK(memcmp(&a, &b, sizeof a) == 0);
    CHECK(a.square_high > 0);
}

/* Values that carry out of 128 bits of squares, so that the high word counts too. */
static void merging_is_recording_into_one_and_in_any_order(void)
{
    static struct hist all, ab, ba;
    struct rng r;

    rng_seed(&r, 3, 0);
    hist_reset(&a), hist_reset(&b), hist_reset(&c), hist_reset(&all);
    for (int i = 0; i < 3000; i++) {
        uint64_t v = rng_next(&r) >> (i & 1 ? 0 : rng_below(&r, 64));

        hist_record(i % 3 == 0 ? &a : i % 3 == 1 ? &b : &c, v, 1);
        hist_record(&all, v, 1);
    }
    ab = a, hist_merge(&ab, &b), hist_merge(&ab, &c);
    ba = c, hist_merge(&ba, &b), hist_merge(&ba, &a);
    CHECK(memcmp(&ab, &all, sizeof all) == 0);
    CHECK(memcmp(&ba, &all, sizeof all) == 0);
    CHECK(all.square_high > 0);
}

static void merging_nothing_changes_nothing(void)
{
    hist_reset(&a), hist_reset(&b), hist_reset(&c);
    hist_record(&a, 12345, 3);
    c = a;
    hist_merge(&a, &b);
    CHECK(memcmp(&a, &c, sizeof a) == 0);
    hist_merge(&b, &a);
    CHECK(memcmp(&b, &c, sizeof b) == 0);
}

static void an_answer_lies_between_minimum_and_maximum(void)
{
    hist_reset(&a);
    hist_record(&a, 1000001, 2);
    CHECK_INT(percentile(&a, 0), 1000001);
    CHECK_INT(percentile(&a, 100), 1000001);
}

/* Where Lua may put one; UBSan tells. */
static void a_histogram_needs_eight_byte_alignment_only(void)
{
    static uint64_t room[2 + sizeof(struct hist) / 8];
    struct hist *h = (void *)(room + ((uintptr_t)room % 16 == 0));

    CHECK((uintptr_t)h % 16 == 8);
    hist_reset(h);
    hist_record(h, UINT64_MAX, 2);
    hist_merge(h, h);
    CHECK(h->count == 4 && deviation(h) == 0 && mean(h) == 0x1p64);
}

int main(void)
{
    CASE(every_value_has_a_bucket_within_the_bound);
    CASE(small_values_are_exact);
    CASE(zero_and_very_long_values_are_counted);
    CASE(nothing_recorded_gives_nothing);
    CASE(a_percentile_out_of_range_is_refused);
    CASE(one_to_ten_has_the_ranks_of_the_textbook);
    CASE(the_rank_does_not_fall_to_a_rounding_of_doubles);
    CASE(no_rank_is_ever_off_by_one);
    CASE(ranks_are_exact_at_enormous_counts);
    CASE(random_values_of_all_sizes_agree_with_a_sorted_array);
    CASE(mean_and_deviation_are_those_of_the_closed_forms);
    CASE(a_small_spread_far_from_zero_is_exact);
    CASE(the_largest_values_and_counts_overflow_nothing);
    CASE(counting_n_at_once_is_counting_n_times);
    CASE(merging_is_recording_into_one_and_in_any_order);
    CASE(merging_nothing_changes_nothing);
    CASE(an_answer_lies_between_minimum_and_maximum);
    CASE(a_histogram_needs_eight_byte_alignment_only);
    return DONE();
}
