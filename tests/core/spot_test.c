/*
 * Right values: the orders by hand, the distributions by their shares.
 */
#include <errno.h>

#include "check.h"
#include "core/spot.h"
#include "stat.h"

enum { DRAWS = 1000000 };

static struct spot p;
static struct rng r;

static int start(struct spot_spec spec, uint64_t blocks)
{
    rng_seed(&r, 1, 0);
    return spot_init(&p, &spec, blocks, &r);
}

static void check_order(const uint64_t *want, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        CHECK_INT(spot_next(&p, &r), want[i]);
}

static void sequential_begins_again_after_the_last(void)
{
    CHECK(start((struct spot_spec){ .kind = SPOT_SEQUENTIAL }, 3) == 0);
    check_order((uint64_t[]){ 0, 1, 2, 0, 1, 2, 0 }, 7);
    CHECK(start((struct spot_spec){ .kind = SPOT_SEQUENTIAL }, 1) == 0);
    check_order((uint64_t[]){ 0, 0, 0 }, 3);
}

static void a_stride_meets_every_block_once_a_pass(void)
{
    CHECK(start((struct spot_spec){ .kind = SPOT_STRIDE, .stride = 3 }, 8) == 0);
    check_order((uint64_t[]){ 0, 3, 6, 1, 4, 7, 2, 5, 0, 3, 6, 1 }, 12);
    CHECK(start((struct spot_spec){ .kind = SPOT_STRIDE, .stride = 1 }, 3) == 0);
    check_order((uint64_t[]){ 0, 1, 2, 0, 1 }, 5);
    CHECK(start((struct spot_spec){ .kind = SPOT_STRIDE, .stride = 4 }, 4) == 0);
    check_order((uint64_t[]){ 0, 1, 2, 3, 0 }, 5);
    CHECK(start((struct spot_spec){ .kind = SPOT_STRIDE, .stride = UINT64_MAX }, 3) == 0);
    check_order((uint64_t[]){ 0, 1, 2, 0 }, 4);
    CHECK_INT(start((struct spot_spec){ .kind = SPOT_STRIDE }, 4), -EINVAL);
}

static void norepeat_covers_all_in_one_order_and_then_another(void)
{
    enum { N = 1000 };
    uint64_t first[N];
    unsigned same = 0;

    CHECK(start((struct spot_spec){ .kind = SPOT_NOREPEAT }, N) == 0);
    for (int pass = 0; pass < 3; pass++) {
        unsigned char seen[N] = { 0 };

        for (unsigned i = 0; i < N; i++) {
            uint64_t at = spot_next(&p, &r);

            CHECK(at < N && !seen[at]++);
            same += pass > 0 && at == first[i];
            first[i] = pass == 0 ? at : first[i];
        }
    }
    CHECK(same < 12);                   /* 2 by chance */
}

static void uniform_is_uniform(void)
{
    unsigned seen[100] = { 0 };

    CHECK(start((struct spot_spec){ .kind = SPOT_UNIFORM }, 100) == 0);
    for (int i = 0; i < DRAWS; i++)
        seen[spot_next(&p, &r)]++;
    CHECK(stat_chi_fits(stat_chi_equal(seen, 100, DRAWS), 99));
}

static void zones_get_their_shares(void)
{
    unsigned seen[3] = { 0 };

    CHECK(start((struct spot_spec){
        .kind = SPOT_ZONED, .zones = 3, .access = { 50000000, 30000000, 20000000 },
        .size = { 5000000, 15000000, 80000000 } }, 1000000) == 0);
    for (int i = 0; i < DRAWS; i++) {
        uint64_t at = spot_next(&p, &r);

        seen[at < 50000 ? 0 : at < 200000 ? 1 : 2]++;
        CHECK(at < 1000000);
    }
    CHECK(fabs(seen[0] - 500000.0) < 2000);             /* 0.2 % of 10^6 */
    CHECK(fabs(seen[1] - 300000.0) < 2000);
    CHECK(fabs(seen[2] - 200000.0) < 2000);
}

static void a_zone_is_uniform_inside_and_an_idle_one_is_never_met(void)
{
    unsigned seen[100] = { 0 };

    CHECK(start((struct spot_spec){
        .kind = SPOT_ZONED, .zones = 3, .access = { 0, 100000000, 0 },
        .size = { 20000000, 30000000, 50000000 } }, 100) == 0);
    for (int i = 0; i < DRAWS; i++)
        seen[spot_next(&p, &r)]++;
    CHECK(stat_chi_fits(stat_chi_equal(seen + 20, 30, DRAWS), 29));
    CHECK(seen[19] == 0 && seen[50] == 0);
}

static int zoned(uint32_t access, uint32_t size, uint32_t access2, uint32_t size2, uint64_t n)
{
    return start((struct spot_spec){ .kind = SPOT_ZONED, .zones = 2,
                                     .access = { access, access2 }, .size = { size, size2 } }, n);
}

static void zones_that_do_not_sum_up_are_refused(void)
{
    const uint32_t half = MIX_WHOLE / 2, hundredth = MIX_WHOLE / 100;

    CHECK_INT(zoned(half, half, half, half, 100), 0);
    CHECK_INT(zoned(half, half, half - 1, half, 100), -EINVAL);
    CHECK_INT(zoned(half, half, half, half + 1, 100), -EINVAL);
    CHECK_INT(zoned(UINT32_MAX, half, half, half, 100), -EINVAL);
    CHECK_INT(zoned(half, hundredth, half, hundredth * 99, 50), -ERANGE);
    CHECK_INT(zoned(0, hundredth, MIX_WHOLE, hundredth * 99, 50), 0);
    CHECK_INT(start((struct spot_spec){ .kind = SPOT_ZONED }, 100), -EINVAL);
    CHECK_INT(start((struct spot_spec){ .kind = SPOT_ZONED, .zones = MIX_MAX + 1 }, 100), -EINVAL);
}

static double bell_below(double x)      /* deviation 20 % of the region around its middle */
{
    return erfc(-(x - 0.5) / 0.2 * 0.7071067811865476) / 2;
}

static void normal_is_a_bell_cut_off_at_the_ends(void)
{
    enum { CELLS = 50 };
    unsigned seen[CELLS] = { 0 };
    double whole = bell_below(1) - bell_below(0), chi = 0;

    CHECK(start((struct spot_spec){ .kind = SPOT_NORMAL, .parameter = 20 }, 1000000) == 0);
    for (int i = 0; i < DRAWS; i++)
        seen[spot_next(&p, &r) * CELLS / 1000000]++;
    for (int i = 0; i < CELLS; i++) {
        double want = (bell_below((i + 1.0) / CELLS) - bell_below((double)i / CELLS)) / whole;

        chi += (seen[i] - DRAWS * want) * (seen[i] - DRAWS * want) / (DRAWS * want);
    }
    CHECK(stat_chi_fits(chi, CELLS - 1));
}

static void normal_takes_deviations_up_to_the_whole_region(void)
{
    static const double bad[] = { 0, -1, 100.5, NAN };

    for (int i = 0; i < 4; i++)
        CHECK_INT(start((struct spot_spec){ .kind = SPOT_NORMAL, .parameter = bad[i] }, 9),
                  -EINVAL);
    CHECK(start((struct spot_spec){ .kind = SPOT_NORMAL, .parameter = 100 }, 9) == 0);
    for (int i = 0; i < 1000; i++)
        CHECK(spot_next(&p, &r) < 9);
    CHECK(start((struct spot_spec){ .kind = SPOT_NORMAL, .parameter = 1e-6 }, 9) == 0);
    CHECK_INT(spot_next(&p, &r), 4);
}

static void zipf_in_place_has_its_hottest_block_first(void)
{
    unsigned seen[1000] = { 0 };

    CHECK(start((struct spot_spec){ .kind = SPOT_ZIPF, .parameter = 0.99 }, 1000) == 0);
    for (int i = 0; i < DRAWS; i++)
        seen[spot_next(&p, &r)]++;
    CHECK(stat_count_fits(seen[0], DRAWS, 0.129384));
    CHECK(stat_count_fits(seen[1], DRAWS, 0.129384 / pow(2, 0.99)));
}

/* The same shares, but the hottest tenth lies on 4 members alike: each block is counted once,
 * so this is a test of where they lie. */
static void scattered_hot_blocks_lie_everywhere(void)
{
    enum { N = 20000 };
    static unsigned seen[N];
    unsigned hot[4] = { 0 }, all = 0, most = 0;

    CHECK(start((struct spot_spec){ .kind = SPOT_ZIPF, .parameter = 1.2, .scatter = true,
                                    .scatter_seed = 4 }, N) == 0);
    for (int i = 0; i < DRAWS; i++)
        seen[spot_next(&p, &r)]++;
    for (unsigned i = 0; i < N; i++) {
        most = seen[i] > most ? seen[i] : most;
        if (seen[i] >= 50)
            hot[i / 16 % 4]++, all++;
    }
    CHECK(stat_count_fits(most, DRAWS, 1 / 4.902));     /* sum of k^-1.2 to 20000 */
    CHECK(all > 1000);
    CHECK(stat_chi_fits(stat_chi_equal(hot, 4, all), 3));
}

static void who_shares_the_scatter_seed_shares_the_hot_blocks(void)
{
    struct spot_spec spec = { .kind = SPOT_PARETO, .parameter = 0.2, .scatter = true,
                              .scatter_seed = 9 };
    unsigned char hot[1000] = { 0 };
    struct spot q;
    struct rng other;
    unsigned met = 0;

    rng_seed(&other, 77, 5);
    CHECK(start(spec, 1000) == 0);
    CHECK(spot_init(&q, &spec, 1000, &other) == 0);
    for (unsigned i = 0; i < 200; i++)                  /* the first fifth, wherever it went */
        hot[dist_perm_at(&p.perm, i)] = 1;
    for (unsigned i = 0; i < 10000; i++)
        met += hot[spot_next(&q, &other)];
    CHECK(stat_count_fits(met, 10000, 0.8));
}

static void a_region_without_blocks_is_refused(void)
{
    CHECK_INT(start((struct spot_spec){ .kind = SPOT_UNIFORM }, 0), -EINVAL);
    CHECK_INT(start((struct spot_spec){ .kind = SPOT_ZIPF, .parameter = -1 }, 5), -EINVAL);
    CHECK_INT(start((struct spot_spec){ .kind = SPOT_PARETO, .parameter = 1 }, 5), -EINVAL);
}

int main(void)
{
    CASE(sequential_begins_again_after_the_last);
    CASE(a_stride_meets_every_block_once_a_pass);
    CASE(norepeat_covers_all_in_one_order_and_then_another);
    CASE(uniform_is_uniform);
    CASE(zones_get_their_shares);
    CASE(a_zone_is_uniform_inside_and_an_idle_one_is_never_met);
    CASE(zones_that_do_not_sum_up_are_refused);
    CASE(normal_is_a_bell_cut_off_at_the_ends);
    CASE(normal_takes_deviations_up_to_the_whole_region);
    CASE(zipf_in_place_has_its_hottest_block_first);
    CASE(scattered_hot_blocks_lie_everywhere);
    CASE(who_shares_the_scatter_seed_shares_the_hot_blocks);
    CASE(a_region_without_blocks_is_refused);
    return DONE();
}
