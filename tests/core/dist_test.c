/*
 * Right values: the shares 1 / k^theta / H and the closed forms of the other distributions;
 * 10^6 draws of fixed seeds keep within 4 sigma of them, all cells together by chi-square.
 */
#include <errno.h>

#include "check.h"
#include "core/dist.h"
#include "stat.h"

enum { DRAWS = 1000000, RANKS = 1000 };

/* Sum of k^-theta over 1 .. n: the first terms, then Euler and Maclaurin. */
static double harmonic(double n, double theta)
{
    double sum = 0, head = n < 100000 ? n : 100000, a = head, b = n;

    for (double k = 1; k <= head; k++)
        sum += pow(k, -theta);
    if (n > head)
        sum += (theta == 1 ? log(b / a) : (pow(b, 1 - theta) - pow(a, 1 - theta)) / (1 - theta)) +
               (pow(b, -theta) - pow(a, -theta)) / 2;
    return sum;
}

static unsigned first_ranks(unsigned *seen, uint64_t n, double theta, uint64_t seed)
{
    struct dist_zipf z;
    struct rng r;
    unsigned outside = 0;

    rng_seed(&r, seed, 0);
    CHECK(dist_zipf_init(&z, n, theta) == 0);
    for (int i = 0; i < DRAWS; i++) {
        uint64_t k = dist_zipf_next(&z, &r);

        outside += k < 1 || k > n;
        seen[k <= RANKS ? k : 0]++;
    }
    return outside;
}

static void rank_one_has_the_published_share(void)
{
    static const double theta[] = { 0.99, 1.0, 1.2 }, want[] = { 0.129384, 0.133592, 0.230640 };

    for (int i = 0; i < 3; i++) {
        unsigned seen[RANKS + 1] = { 0 };

        CHECK(first_ranks(seen, RANKS, theta[i], 1) == 0);
        CHECK(stat_count_fits(seen[1], DRAWS, want[i]));
        CHECK(fabs(1 / harmonic(RANKS, theta[i]) - want[i]) < 1e-6);
    }
}

/* Ranks from the front, those too rare to count put together with their neighbours. */
static void check_zipf(double theta)
{
    unsigned seen[RANKS + 1] = { 0 }, cells = 0;
    double h = harmonic(RANKS, theta), chi = 0, want = 0, got = 0, left = DRAWS;

    CHECK(first_ranks(seen, RANKS, theta, 2) == 0);
    for (int k = 1; k <= RANKS; k++) {
        want += DRAWS * pow(k, -theta) / h;
        got += seen[k];
        if (k < RANKS && (want < 20 || left - want < 20))
            continue;
        chi += (got - want) * (got - want) / (want > 1e-9 ? want : 1);
        left -= want;
        want = got = 0;
        cells++;
    }
    CHECK(cells < 2 || stat_chi_fits(chi, cells - 1));
}

static void every_rank_has_its_share(void)
{
    static const double theta[] = { 0, 0.1, 0.5, 0.8, 0.99, 0.9999999999, 1, 1.0000000001, 1.01,
                                    1.2, 1.5, 2, 3, 5, 20 };

    for (unsigned i = 0; i < sizeof theta / sizeof *theta; i++)
        check_zipf(theta[i]);
}

static void the_share_of_rank_one_is_right_among_a_trillion(void)
{
    static const uint64_t sizes[] = { 1, 2, 3, 100, 1000003, (uint64_t)1 << 32,
                                      (uint64_t)1 << 40 };
    static const double theta[] = { 0.5, 0.99, 1, 1.2 };

    for (unsigned s = 0; s < 7; s++)
        for (unsigned i = 0; i < 4; i++) {
            unsigned seen[RANKS + 1] = { 0 };
            double h = harmonic((double)sizes[s], theta[i]);

            CHECK(first_ranks(seen, sizes[s], theta[i], 3 + i) == 0);
            CHECK(stat_count_fits(seen[1], DRAWS, 1 / h));
            if (sizes[s] >= 3)
                CHECK(stat_count_fits(seen[3], DRAWS, pow(3, -theta[i]) / h));
        }
}

static void zipf_works_at_the_largest_size(void)
{
    static const double theta[] = { 0, 0.5, 1, 1.2, 20 };
    struct dist_zipf z;
    struct rng r;

    rng_seed(&r, 5, 0);
    for (unsigned i = 0; i < 5; i++) {
        CHECK(dist_zipf_init(&z, (uint64_t)1 << 63, theta[i]) == 0);
        for (int k = 0; k < 10000; k++) {
            uint64_t rank = dist_zipf_next(&z, &r);

            CHECK(rank >= 1 && rank <= (uint64_t)1 << 63);
        }
    }
}

static void a_theta_out_of_range_is_refused(void)
{
    struct dist_zipf z;

    CHECK_INT(dist_zipf_init(&z, 10, -0.5), -EINVAL);
    CHECK_INT(dist_zipf_init(&z, 10, NAN), -EINVAL);
    CHECK_INT(dist_zipf_init(&z, 10, INFINITY), -EINVAL);
    CHECK_INT(dist_zipf_init(&z, 0, 1), -EINVAL);
    CHECK_INT(dist_zipf_init(&z, 10, 0), 0);
}

/* P(place < k) = (k / n)^(1 / power): cells of equal share are those between n (i / m)^power. */
static void check_pareto(double h, uint64_t n)
{
    enum { CELLS = 100 };
    unsigned seen[CELLS] = { 0 }, hot = 0, outside = 0;
    double power = log(h) / log(1 - h);
    struct dist_pareto p;
    struct rng r;

    rng_seed(&r, 6, 0);
    CHECK(dist_pareto_init(&p, n, h) == 0);
    for (int i = 0; i < DRAWS; i++) {
        uint64_t at = dist_pareto_next(&p, &r);
        double part = pow(((double)at + 0.5) / (double)n, 1 / power);

        outside += at >= n;
        hot += (double)at < h * (double)n;
        seen[(unsigned)(part * CELLS)]++;
    }
    CHECK_INT(outside, 0);
    CHECK(stat_count_fits(hot, DRAWS, 1 - h));
    CHECK(stat_chi_fits(stat_chi_equal(seen, CELLS, DRAWS), CELLS - 1));
}

static void pareto_sends_eighty_per_cent_to_the_first_fifth(void)
{
    check_pareto(0.2, (uint64_t)1 << 62);
    check_pareto(0.5, (uint64_t)1 << 40);
    check_pareto(0.3, (uint64_t)1 << 50);
}

static void an_h_out_of_range_is_refused(void)
{
    static const double bad[] = { 0, 1, -0.2, 1.5, NAN };
    struct dist_pareto p;

    for (int i = 0; i < 5; i++)
        CHECK_INT(dist_pareto_init(&p, 10, bad[i]), -EINVAL);
    CHECK_INT(dist_pareto_init(&p, 0, 0.2), -EINVAL);
}

static void normal_is_normal(void)
{
    enum { CELLS = 100 };
    unsigned seen[CELLS] = { 0 };
    double sum = 0, square = 0;
    struct rng r;

    rng_seed(&r, 7, 0);
    for (int i = 0; i < DRAWS; i++) {
        double v = dist_normal(&r), below = erfc(-v * 0.7071067811865476) / 2;

        sum += v;
        square += v * v;
        seen[below >= 1 ? CELLS - 1 : (unsigned)(below * CELLS)]++;
    }
    CHECK(fabs(sum) < 4 * sqrt(DRAWS));
    CHECK(fabs(square - DRAWS) < 4 * sqrt(2.0 * DRAWS));
    CHECK(stat_chi_fits(stat_chi_equal(seen, CELLS, DRAWS), CELLS - 1));
}

/* Mean m, standard deviation m: the coefficient of variation of Poisson arrivals is 1. */
static void exponential_is_exponential(void)
{
    enum { CELLS = 100 };
    unsigned seen[CELLS] = { 0 };
    double sum = 0, square = 0, mean = 250000;
    struct rng r;

    rng_seed(&r, 8, 0);
    for (int i = 0; i < DRAWS; i++) {
        double v = dist_exponential(&r, mean) / mean;

        if (!(v >= 0))
            CHECK(!"negative");
        sum += v;
        square += v * v;
        seen[(unsigned)(-expm1(-v) * CELLS)]++;
    }
    CHECK(fabs(sum / DRAWS - 1) < 4 / sqrt(DRAWS));
    CHECK(fabs(square / DRAWS - 2) < 4 * sqrt(20.0 / DRAWS));   /* variance of v^2: 24 - 4 */
    CHECK(stat_chi_fits(stat_chi_equal(seen, CELLS, DRAWS), CELLS - 1));
}

int main(void)
{
    CASE(rank_one_has_the_published_share);
    CASE(every_rank_has_its_share);
    CASE(the_share_of_rank_one_is_right_among_a_trillion);
    CASE(zipf_works_at_the_largest_size);
    CASE(a_theta_out_of_range_is_refused);
    CASE(pareto_sends_eighty_per_cent_to_the_first_fifth);
    CASE(an_h_out_of_range_is_refused);
    CASE(normal_is_normal);
    CASE(exponential_is_exponential);
    return DONE();
}
