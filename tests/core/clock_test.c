/*
 * CLOCK_MONOTONIC is the right value: the scaled counter has to keep its rate.
 */
#include <errno.h>
#include <signal.h>
#include <sys/time.h>

#include "check.h"
#include "core/clock.h"

#define MS 1000000ull

static uint64_t apart(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* How far two clocks have moved apart over 200 ms, less what reading them takes: of a few
 * readings close together the nearest one counts, as a preempted one says nothing. */
static uint64_t offset(const struct clock *c)
{
    uint64_t best = UINT64_MAX, at = 0;

    for (int i = 0; i < 200; i++) {
        uint64_t before = clock_now(), read = clock_read(c), after = clock_now();

        if (after - before < best) {
            best = after - before;
            at = read - before - best / 2;
        }
    }
    return at;                          /* modulo 2^64 */
}

static void keeps_rate(const struct clock *c)
{
    uint64_t first = offset(c), last;

    CHECK(clock_sleep_until(clock_now() + 200 * MS) == 0);
    last = offset(c);
    CHECK((int64_t)(last - first) < 4000 && (int64_t)(last - first) > -4000);   /* 20 ppm */
    CHECK(apart(clock_read(c), clock_now()) < MS);
}

static void a_calibrated_clock_keeps_the_rate_of_the_kernels(void)
{
    struct clock c;

    clock_calibrate(&c);
    keeps_rate(&c);
}

static void a_measured_clock_keeps_the_rate_of_the_kernels(void)
{
    struct clock c;

    clock_calibrate(&c);
    if (!c.tsc)
        SKIP("no invariant time stamp counter that the kernel trusts");
    clock_measure(&c);
    CHECK(c.tsc);
    keeps_rate(&c);
}

static void calibration_takes_ten_milliseconds_at_most(void)
{
    uint64_t best = UINT64_MAX;
    struct clock c;

    for (int i = 0; i < 5; i++) {       /* the best of five: others use this CPU too */
        uint64_t t = clock_now();

        clock_calibrate(&c);
        t = clock_now() - t;
        best = t < best ? t : best;
    }
    CHECK(best <= 10 * MS);
}

static void readings_never_go_back(void)
{
    struct clock c;
    uint64_t last = 0;

    clock_calibrate(&c);
    for (int i = 0; i < 100000; i++) {
        uint64_t now = clock_read(&c);

        if (now < last)
            CHECK(!"went back");
        last = now;
    }
    CHECK(last > 0);
}

static void a_clock_without_the_counter_is_the_kernels(void)
{
    struct clock c = { .tsc = false };
    uint64_t before = clock_now(), read = clock_read(&c);

    CHECK(before <= read && read <= clock_now());
}

static void sleep_ends_at_its_time_or_later(void)
{
    uint64_t until = clock_now() + 5 * MS;

    CHECK(clock_sleep_until(until) == 0);
    CHECK(clock_now() >= until);
    CHECK(clock_sleep_until(until) == 0);           /* in the past: at once */
    CHECK(clock_sleep_until(0) == 0);
}

static void nothing(int signal)
{
    (void)signal;
}

static void sleep_ends_with_a_signal(void)
{
    struct sigaction catch = { .sa_handler = nothing }, before;
    struct itimerval soon = { .it_value = { .tv_usec = 2000 } };

    sigaction(SIGALRM, &catch, &before);
    setitimer(ITIMER_REAL, &soon, NULL);
    CHECK_INT(clock_sleep_until(clock_now() + 10 * CLOCK_SECOND), -EINTR);
    sigaction(SIGALRM, &before, NULL);
}

int main(void)
{
    CASE(a_calibrated_clock_keeps_the_rate_of_the_kernels);
    CASE(a_measured_clock_keeps_the_rate_of_the_kernels);
    CASE(calibration_takes_ten_milliseconds_at_most);
    CASE(readings_never_go_back);
    CASE(a_clock_without_the_counter_is_the_kernels);
    CASE(sleep_ends_at_its_time_or_later);
    CASE(sleep_ends_with_a_signal);
    return DONE();
}
