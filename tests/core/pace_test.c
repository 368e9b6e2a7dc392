/* When operations are due: rates without drift, gaps of a Poisson process, backlogs. */
#include <errno.h>
#include <math.h>

#include "check.h"
#include "core/pace.h"

#define SECOND 1000000000ull

static struct pace start(enum pace_kind kind, double rate, bool bytes)
{
    struct pace_spec spec = { .kind = kind, .rate = rate, .bytes = bytes };
    struct pace p;

    CHECK_INT(pace_init(&p, &spec, 7, 0), 0);
    pace_start(&p, 0, 4096);
    return p;
}

/* 3 a second: 333 333 333.3 ns. After 3 million the time is 10^6 s, to the ns. */
static void a_fixed_rate_does_not_drift(void)
{
    struct pace p = start(PACE_FIXED, 3, false);

    CHECK_INT(pace_take(&p, 4096), 0);
    CHECK_INT(pace_take(&p, 4096), 333333333);
    CHECK_INT(pace_take(&p, 65536), 666666666);
    for (unsigned i = 3; i < 3000000; i++)
        pace_take(&p, 4096);
    CHECK(p.next >= 1000000 * SECOND - 1 && p.next <= 1000000 * SECOND + 1);
}

/* 1 MB/s: an operation of 1000 bytes is followed after 1 ms, one of 4000 after 4. */
static void a_rate_of_bytes_goes_by_what_each_moves(void)
{
    struct pace p = start(PACE_FIXED, 1e6, true);

    CHECK_INT(pace_take(&p, 1000), 0);
    CHECK_INT(pace_take(&p, 4000), 1000000);
    CHECK_INT(pace_take(&p, 1000), 5000000);
}

/* Mean and coefficient of variation of 10^6 exponential gaps, within 4 sigma. */
static void gaps_of_a_poisson_process_are_exponential(void)
{
    struct pace p = start(PACE_POISSON, 1000, false);
    double sum = 0, square = 0, n = 1000000, mean, cv;
    uint64_t last = p.next;

    for (unsigned i = 0; i < 1000000; i++) {
        double gap;

        pace_take(&p, 4096);
        gap = (double)(p.next - last);
        last = p.next;
        sum += gap;
        square += gap * gap;
    }
    mean = sum / n;
    cv = sqrt(square / n - mean * mean) / mean;
    CHECK(fabs(mean - 1e6) < 4 * 1e6 / sqrt(n));
    CHECK(fabs(cv - 1) < 4 / sqrt(n));
}

static void what_is_due_and_not_taken_is_the_backlog(void)
{
    struct pace p = start(PACE_FIXED, 100, false);

    CHECK_INT(pace_backlog(&p, 0), 1);
    pace_take(&p, 1);
    CHECK_INT(pace_backlog(&p, 9999999), 0);
    CHECK_INT(pace_backlog(&p, 10000000), 1);
    CHECK_INT(pace_backlog(&p, 1000000000), 100);
}

/* At 10 a second, 50 ms before the next start, doubled: 25 ms are left. */
static void a_new_rate_holds_from_now_on(void)
{
    struct pace p = start(PACE_FIXED, 10, false);

    pace_take(&p, 1);
    pace_set_rate(&p, 20, 50000000);
    CHECK_INT(pace_take(&p, 1), 75000000);
    CHECK_INT(pace_take(&p, 1), 125000000);
    pace_set_rate(&p, 0, 130000000);                    /* no rate: nothing changes */
    CHECK_INT(pace_take(&p, 1), 175000000);
}

static void a_rate_out_of_range_is_refused(void)
{
    static const double rates[] = { 0, -1, 1e13, NAN, INFINITY };
    struct pace p;

    for (unsigned i = 0; i < 5; i++) {
        struct pace_spec spec = { .kind = PACE_FIXED, .rate = rates[i] };

        CHECK_INT(pace_init(&p, &spec, 1, 0), -EINVAL);
    }
}

int main(void)
{
    CASE(a_fixed_rate_does_not_drift);
    CASE(a_rate_of_bytes_goes_by_what_each_moves);
    CASE(gaps_of_a_poisson_process_are_exponential);
    CASE(what_is_due_and_not_taken_is_the_backlog);
    CASE(a_new_rate_holds_from_now_on);
    CASE(a_rate_out_of_range_is_refused);
    return DONE();
}
