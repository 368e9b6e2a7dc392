/* Points of a series add up to the whole, exactly; arrays keep what several threads add. */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "check.h"
#include "core/array.h"
#include "core/later.h"
#include "core/rng.h"
#include "core/series.h"

static struct job_count whole[JOB_SIDES], part[JOB_SIDES], sum[JOB_SIDES];

static void reset(struct job_count *counts)
{
    memset(counts, 0, JOB_SIDES * sizeof *counts);
    for (unsigned i = 0; i < JOB_SIDES; i++)
        hist_reset(&counts[i].lat);
}

static void record(struct job_count *c, uint64_t ns)
{
    c->ios++;
    c->bytes += 4096;
    hist_record(&c->lat, ns, 1);
}

/* 600 points (more than two chunks) of latencies up to 2^40 ns, some of them empty. */
static void points_add_up_to_the_whole(void)
{
    struct series *s = NULL;
    struct rng r;

    rng_seed(&r, 1, 0);
    reset(whole);
    reset(sum);
    CHECK_INT(series_open(&s), 0);
    for (unsigned i = 0; i < 600; i++) {
        reset(part);
        for (unsigned n = i % 7 * 10; n > 0; n--) {
            uint64_t ns = rng_next(&r) >> (24 + rng_below(&r, 30));
            unsigned side = (unsigned)rng_below(&r, 2);

            record(&part[side], ns);
            record(&whole[side], ns);
        }
        CHECK_INT(series_add(s, i * 100, i * 100 + 100, i, part), 0);
    }
    CHECK_INT(series_count(s), 600);
    for (unsigned i = 0; i < 600; i++) {
        const struct series_point *p = series_at(s, i);

        CHECK(p->begin == i * 100 && p->end == i * 100 + 100 && p->depth_mean == i);
        for (unsigned k = 0; k < JOB_SIDES; k++)
            series_take(&sum[k], p, k);
    }
    CHECK_INT(memcmp(sum, whole, sizeof sum), 0);
    series_close(s);
}

static void errors_alone_make_a_point_too(void)
{
    struct series *s = NULL;

    reset(part);
    reset(sum);
    part[JOB_WRITE].errors = 3;
    CHECK_INT(series_open(&s), 0);
    CHECK_INT(series_add(s, 0, 1, 0, part), 0);
    series_take(&sum[JOB_WRITE], series_at(s, 0), JOB_WRITE);
    CHECK_INT(sum[JOB_WRITE].errors, 3);
    CHECK_INT(sum[JOB_WRITE].lat.count, 0);
    CHECK(series_at(s, 0)->side[JOB_READ] == NULL);
    series_close(s);
}

static void operations_that_think_start_in_order(void)
{
    struct later_op heap[64];
    struct later l = { heap, 0, 0 };
    uint64_t last = 0;

    for (uint64_t i = 0; i < 64; i++)
        later_push(&l, i * 37 % 16, &(struct job_op){ .pos = (i * 37 % 16) * 100 + i });
    for (unsigned i = 0; i < 64; i++) {
        uint64_t pos = later_pop(&l).pos;       /* by moment, then as they came */

        CHECK(pos >= last);
        last = pos;
    }
    CHECK_INT(l.count, 0);
}

static void *add(void *arg)
{
    struct array **a = arg;

    for (unsigned i = 0; i < 100000; i++) {
        array_add_integer(a[0], 1, 3);
        array_add_double(a[1], 0, 0.5);
    }
    return NULL;
}

static void no_addition_of_two_threads_is_lost(void)
{
    struct array *a[2] = { NULL, NULL };
    pthread_t thread[2];

    CHECK_INT(array_new(&a[0], 2, false), 0);
    CHECK_INT(array_new(&a[1], 1, true), 0);
    CHECK_INT(array_new(&a[0], 0, false), -EINVAL);
    for (unsigned i = 0; i < 2; i++)
        CHECK_INT(pthread_create(&thread[i], NULL, add, a), 0);
    for (unsigned i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    CHECK_INT(array_integer(a[0], 1), 600000);
    CHECK_INT(array_integer(a[0], 0), 0);
    CHECK(array_double(a[1], 0) == 100000);
    array_unref(a[0]);
    array_unref(a[1]);
}

int main(void)
{
    CASE(points_add_up_to_the_whole);
    CASE(errors_alone_make_a_point_too);
    CASE(operations_that_think_start_in_order);
    CASE(no_addition_of_two_threads_is_lost);
    return DONE();
}
