/* The join of block events against histories written down by hand. */
#include <errno.h>

#include "check.h"
#include "core/join.h"

static struct join *j;
static const struct join_result *r;

static void begin(void)
{
    join_close(j);
    join_open(&j, 4);
    r = join_result(j);
}

static void at(uint64_t ns, enum join_kind kind, uint64_t sector, uint32_t sectors, uint32_t cpu)
{
    struct join_event e = { .ns = ns, .kind = (uint8_t)kind, .sector = sector, .op = 'R',
                            .sectors = sectors, .cpu = cpu, .dev = 7 << 20 };

    CHECK_INT(join_feed(j, &e), 0);
}

static void split_at(uint64_t ns, uint64_t sector, uint64_t other)
{
    struct join_event e = { .ns = ns, .kind = JOIN_SPLIT, .sector = sector, .other = other,
                            .op = 'R', .dev = 7 << 20 };

    CHECK_INT(join_feed(j, &e), 0);
}

/* A histogram of exactly these values (small ones are exact). */
static void times(const struct hist *h, unsigned n, uint64_t min, uint64_t max, uint64_t sum)
{
    CHECK_INT(h->count, n);
    CHECK_INT((uint64_t)h->sum, sum);
    if (n > 0) {
        CHECK_INT(h->min, min);
        CHECK_INT(h->max, max);
    }
}

static void one_request_through_the_scheduler(void)
{
    begin();
    at(100, JOIN_QUEUE, 8, 8, 1);
    at(103, JOIN_INSERT, 8, 8, 1);
    at(110, JOIN_ISSUE, 8, 8, 1);
    at(150, JOIN_COMPLETE, 8, 8, 3);
    times(&r->q2i, 1, 3, 3, 3);
    times(&r->i2d, 1, 7, 7, 7);
    times(&r->q2d, 1, 10, 10, 10);
    times(&r->d2c, 1, 40, 40, 40);
    times(&r->q2c, 1, 50, 50, 50);
    CHECK_INT(r->q2q.count, 0);         /* one arrival has no distance */
    CHECK_INT(r->pairs[1 * 4 + 3], 1);
    CHECK_INT(r->in_flight, 0);
    CHECK_INT(r->unmatched, 0);
}

static void without_a_scheduler_there_is_no_insertion(void)
{
    begin();
    at(100, JOIN_QUEUE, 0, 8, 0);
    at(105, JOIN_ISSUE, 0, 8, 0);
    at(125, JOIN_COMPLETE, 0, 8, 0);
    at(130, JOIN_QUEUE, 8, 8, 0);
    at(131, JOIN_ISSUE, 8, 8, 0);
    at(141, JOIN_COMPLETE, 8, 8, 0);
    times(&r->q2q, 1, 30, 30, 30);
    times(&r->q2i, 0, 0, 0, 0);
    times(&r->i2d, 0, 0, 0, 0);
    times(&r->q2d, 2, 1, 5, 6);
    times(&r->d2c, 2, 10, 20, 30);
    times(&r->q2c, 2, 11, 25, 36);
}

static void merged_bios_have_their_own_times_and_one_request(void)
{
    begin();
    at(100, JOIN_QUEUE, 0, 8, 0);
    at(101, JOIN_INSERT, 0, 8, 0);
    at(110, JOIN_QUEUE, 8, 8, 2);
    at(110, JOIN_BACKMERGE, 8, 8, 2);
    at(120, JOIN_ISSUE, 0, 16, 0);
    at(160, JOIN_COMPLETE, 0, 16, 1);
    times(&r->q2d, 2, 10, 20, 30);
    times(&r->i2d, 1, 19, 19, 19);
    times(&r->d2c, 1, 40, 40, 40);
    times(&r->q2c, 2, 50, 60, 110);
    CHECK_INT(r->events[JOIN_BACKMERGE], 1);
    CHECK_INT(r->pairs[0 * 4 + 1], 1);
    CHECK_INT(r->pairs[2 * 4 + 1], 1);
}

static void a_split_bio_is_complete_with_its_last_piece(void)
{
    begin();
    at(100, JOIN_QUEUE, 0, 24, 1);
    split_at(101, 0, 8);
    at(102, JOIN_ISSUE, 0, 8, 1);
    split_at(103, 8, 16);
    at(104, JOIN_ISSUE, 8, 8, 1);
    at(105, JOIN_ISSUE, 16, 8, 1);
    at(150, JOIN_COMPLETE, 16, 8, 2);
    at(151, JOIN_COMPLETE, 0, 8, 2);
    CHECK_INT(r->in_flight, 1);
    at(190, JOIN_COMPLETE, 8, 8, 3);
    times(&r->q2d, 3, 2, 5, 11);
    times(&r->d2c, 3, 45, 86, 180);
    times(&r->q2c, 1, 90, 90, 90);
    CHECK_INT(r->pairs[1 * 4 + 3], 1);
    CHECK_INT(r->in_flight, 0);
}

static void a_request_may_complete_in_parts(void)
{
    begin();
    at(100, JOIN_QUEUE, 0, 16, 0);
    at(101, JOIN_ISSUE, 0, 16, 0);
    at(110, JOIN_COMPLETE, 0, 4, 0);    /* ends within the bio */
    CHECK_INT(r->q2c.count, 0);
    at(130, JOIN_COMPLETE, 4, 12, 0);
    times(&r->d2c, 1, 29, 29, 29);
    times(&r->q2c, 1, 30, 30, 30);
    CHECK_INT(r->unmatched, 0);
}

static void a_request_that_comes_back_is_issued_again(void)
{
    begin();
    at(100, JOIN_QUEUE, 0, 8, 0);
    at(101, JOIN_INSERT, 0, 8, 0);
    at(105, JOIN_ISSUE, 0, 8, 0);
    at(110, JOIN_INSERT, 0, 8, 0);      /* requeued */
    at(120, JOIN_ISSUE, 0, 8, 0);
    at(150, JOIN_COMPLETE, 0, 8, 0);
    times(&r->q2d, 1, 5, 5, 5);
    times(&r->i2d, 2, 4, 10, 14);
    times(&r->d2c, 1, 30, 30, 30);
    times(&r->q2c, 1, 50, 50, 50);
    CHECK_INT(r->unmatched, 0);
}

static void equal_places_are_taken_in_order_and_sizes_told_apart(void)
{
    begin();
    at(100, JOIN_QUEUE, 0, 8, 0);
    at(110, JOIN_QUEUE, 0, 8, 0);
    at(120, JOIN_QUEUE, 0, 16, 0);
    at(121, JOIN_ISSUE, 0, 16, 0);
    at(122, JOIN_ISSUE, 0, 8, 0);
    at(123, JOIN_ISSUE, 0, 8, 0);
    at(140, JOIN_COMPLETE, 0, 16, 0);   /* 20 */
    at(150, JOIN_COMPLETE, 0, 8, 0);    /* 50 */
    at(190, JOIN_COMPLETE, 0, 8, 0);    /* 80 */
    times(&r->q2d, 3, 1, 22, 36);
    times(&r->q2c, 3, 20, 80, 150);
    CHECK_INT(r->in_flight, 0);
}

static void directions_and_devices_are_told_apart(void)
{
    struct join_event e = { .ns = 100, .kind = JOIN_QUEUE, .sectors = 8, .op = 'R', .dev = 1 };

    begin();
    join_feed(j, &e);
    e.kind = JOIN_ISSUE, e.ns = 101, e.op = 'W';
    join_feed(j, &e);
    e.op = 'R', e.dev = 2;
    join_feed(j, &e);
    CHECK_INT(r->q2d.count, 0);
    e.dev = 1, e.ns = 104;
    join_feed(j, &e);
    times(&r->q2d, 1, 4, 4, 4);
}

static void a_device_without_requests_has_its_whole_times(void)
{
    begin();
    at(100, JOIN_QUEUE, 0, 8, 1);
    at(103, JOIN_QUEUE, 8, 16, 1);
    split_at(104, 8, 16);
    at(107, JOIN_BIO_COMPLETE, 0, 8, 1);
    at(113, JOIN_BIO_COMPLETE, 16, 8, 2);       /* device-mapper names the last piece */
    times(&r->q2q, 1, 3, 3, 3);
    times(&r->q2c, 2, 7, 10, 17);
    times(&r->d2c, 0, 0, 0, 0);
    CHECK_INT(r->in_flight, 0);
    CHECK_INT(r->pairs[1 * 4 + 2], 1);
}

static void what_was_under_way_when_it_began_is_unmatched(void)
{
    begin();
    at(100, JOIN_COMPLETE, 0, 8, 0);
    at(101, JOIN_BIO_COMPLETE, 0, 8, 0);
    CHECK_INT(r->unmatched, 2);
    CHECK_INT(r->q2c.count, 0);
}

static void after_a_loss_nothing_old_is_believed(void)
{
    begin();
    at(100, JOIN_QUEUE, 0, 8, 0);
    at(101, JOIN_ISSUE, 0, 8, 0);
    at(200, JOIN_LOST, 0, 37, 0);
    at(300, JOIN_QUEUE, 0, 8, 0);
    at(301, JOIN_ISSUE, 0, 8, 0);
    at(310, JOIN_COMPLETE, 0, 8, 0);
    CHECK_INT(r->events[JOIN_LOST], 37);
    CHECK_INT(r->forgotten, 2);         /* a bio and its request */
    times(&r->q2q, 0, 0, 0, 0);
    times(&r->q2c, 1, 10, 10, 10);
    times(&r->d2c, 1, 9, 9, 9);
}

static void a_flush_has_no_data_and_no_times(void)
{
    begin();
    at(100, JOIN_QUEUE, 0, 0, 0);
    at(101, JOIN_ISSUE, 0, 0, 0);
    at(110, JOIN_COMPLETE, 0, 0, 0);
    CHECK_INT(r->flushes, 1);
    CHECK_INT(r->q2c.count, 0);
    CHECK_INT(r->unmatched, 0);
}

/* More at once than the table starts with, in an order unlike that of their arrival. */
static void a_hundred_thousand_at_once_are_all_found(void)
{
    enum { N = 100000 };

    begin();
    for (uint64_t i = 0; i < N; i++)
        at(i, JOIN_QUEUE, i * 8, 8, 0);
    for (uint64_t i = 0; i < N; i++)
        at(N, JOIN_ISSUE, (i * 7919 % N) * 8, 8, 0);
    for (uint64_t i = 0; i < N; i++)
        at(2 * N, JOIN_COMPLETE, (i * 104729 % N) * 8, 8, 1);
    CHECK_INT(r->d2c.count, N);
    CHECK_INT(r->d2c.min, N);
    CHECK_INT(r->d2c.max, N);
    CHECK_INT(r->q2c.count, N);
    CHECK_INT((uint64_t)r->q2c.sum, 2ull * N * N - (uint64_t)N * (N - 1) / 2);
    CHECK_INT(r->unmatched + r->in_flight, 0);
    CHECK_INT(r->pairs[1], N);
}

int main(void)
{
    CASE(one_request_through_the_scheduler);
    CASE(without_a_scheduler_there_is_no_insertion);
    CASE(merged_bios_have_their_own_times_and_one_request);
    CASE(a_split_bio_is_complete_with_its_last_piece);
    CASE(a_request_may_complete_in_parts);
    CASE(a_request_that_comes_back_is_issued_again);
    CASE(equal_places_are_taken_in_order_and_sizes_told_apart);
    CASE(directions_and_devices_are_told_apart);
    CASE(a_device_without_requests_has_its_whole_times);
    CASE(what_was_under_way_when_it_began_is_unmatched);
    CASE(after_a_loss_nothing_old_is_believed);
    CASE(a_flush_has_no_data_and_no_times);
    CASE(a_hundred_thousand_at_once_are_all_found);
    join_close(j);
    return DONE();
}
