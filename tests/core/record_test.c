/* Recordings of a loop device against a known number of reads and against the clock. */
#include <liburing.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "core/clock.h"
#include "core/join.h"
#include "core/record.h"
#include "disk.h"

static char why[256];

static struct record *begin(size_t bytes)
{
    uint32_t dev = (uint32_t)kernel_dev();
    struct record *r = NULL;
    int err = record_open(&r, &dev, 1, bytes, why, sizeof why);

    CHECK_INT(err, 0);
    if (err < 0)
        printf("%s\n", why);
    return r;
}

static void every_read_is_joined_from_queue_to_completion(void)
{
    const struct join_result *j;
    struct record *r;
    uint64_t took, pairs = 0;
    unsigned last = (unsigned)sysconf(_SC_NPROCESSORS_ONLN) - 1;

    if (geteuid() != 0 || !make_disk())
        SKIP("needs root and a loop device");
    read_blocks(1);
    if (!(r = begin(0)))
        return;
    pin((int)last);
    took = clock_now();
    read_blocks(1000);
    took = clock_now() - took;
    CHECK_INT(record_stop(r), 0);
    j = record_result(r);
    CHECK_INT(j->events[JOIN_QUEUE], 1000);
    CHECK_INT(j->events[JOIN_COMPLETE], 1000);
    CHECK_INT(j->events[JOIN_LOST], 0);
    CHECK_INT(j->q2q.count, 999);
    CHECK_INT(j->q2d.count, 1000);
    CHECK_INT(j->d2c.count, 1000);
    CHECK_INT(j->q2c.count, 1000);
    CHECK_INT(j->unmatched + j->in_flight + j->forgotten, 0);
    /* One at a time: all lie within the time that the reads took, and Q2C = Q2D + D2C. */
    CHECK((uint64_t)j->q2c.sum < took);
    CHECK((uint64_t)j->q2q.sum < took);
    CHECK(j->q2c.sum == j->q2d.sum + j->d2c.sum);
    for (unsigned c = 0; c < j->cpus; c++)
        pairs += j->pairs[last * j->cpus + c];
    CHECK_INT(pairs, 1000);
    record_close(r);
    drop_disk();
}

/* n reads handed over in one system call: more events than a page holds before anything of
 * ours runs again, for the emptying thread is on the same CPU. */
static void read_at_once(struct io_uring *ring, unsigned n)
{
    static char block[BLOCK] __attribute__((aligned(BLOCK)));
    struct io_uring_cqe *cqe;

    for (unsigned i = 0; i < n; i++)
        io_uring_prep_read(io_uring_get_sqe(ring), disk_fd, block, BLOCK,
                           (uint64_t)(i * 2 % BLOCKS) * BLOCK);
    io_uring_submit(ring);
    for (unsigned i = 0; i < n; i++) {
        if (io_uring_wait_cqe(ring, &cqe) < 0 || cqe->res != BLOCK)
            abort();
        io_uring_cqe_seen(ring, cqe);
    }
}

static void lost_events_are_told_and_not_guessed(void)
{
    const struct join_result *j;
    struct io_uring ring;
    struct record *r;

    if (geteuid() != 0 || !make_disk())
        SKIP("needs root and a loop device");
    if (io_uring_queue_init(128, &ring, 0) < 0)
        SKIP("needs io_uring");
    pin(0);
    if (!(r = begin(1)))
        return;
    for (unsigned i = 0; i < 20; i++)
        read_at_once(&ring, 128);
    io_uring_queue_exit(&ring);
    CHECK_INT(record_stop(r), 0);
    j = record_result(r);
    CHECK(j->events[JOIN_LOST] > 0);
    CHECK(j->forgotten > 0);
    CHECK(j->events[JOIN_QUEUE] < 20 * 128);
    CHECK(j->q2c.count <= j->events[JOIN_QUEUE]);
    record_close(r);
    drop_disk();
}

static void stopping_twice_and_closing_a_running_one_are_allowed(void)
{
    struct record *r;

    if (geteuid() != 0 || !make_disk())
        SKIP("needs root and a loop device");
    if (!(r = begin(0)))
        return;
    CHECK_INT(record_stop(r), 0);
    CHECK_INT(record_stop(r), 0);
    record_close(r);
    record_close(begin(0));
    drop_disk();
}

int main(void)
{
    atexit(drop_disk);
    CASE(every_read_is_joined_from_queue_to_completion);
    CASE(lost_events_are_told_and_not_guessed);
    CASE(stopping_twice_and_closing_a_running_one_are_allowed);
    return DONE();
}
