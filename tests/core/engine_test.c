/* The same promises of core/engine.h, asked of every engine that does real I/O. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "core/ring.h"
#include "core/threads.h"
#include "scratch.h"

struct subject {
    const struct engine *engine;
    void *self;
};

static char path[64];
static int fd;
static const struct engine *engine;     /* the one under test */

static bool open_subject(struct subject *s, unsigned depth)
{
    struct ring_options o = { .entries = depth, .sq_cpu = -1 };
    int err;

    s->engine = engine;
    if (engine == &threads_engine)
        err = threads_open((struct threads **)&s->self, depth);
    else if (engine == &sync_engine)
        err = sync_open((struct sync **)&s->self);
    else
        err = ring_open((struct ring **)&s->self, &o);
    return err == 0;
}

#define OPEN(s, depth) \
    if (!open_subject(&(s), (depth))) SKIP("engine cannot be opened here")

static struct io_req read_at(void *mem, uint32_t len, uint64_t pos)
{
    return (struct io_req){ .kind = IO_READ, .fd = fd, .pos = pos, .addr = (uintptr_t)mem,
                            .len = len };
}

/* 1000 reads through a queue of 8: each completes once and brings its own block. */
static void queueing_beyond_the_queue_loses_nothing(void)
{
    static unsigned char mem[8][512];
    unsigned char seen[1000] = { 0 };
    unsigned pushed = 0, done = 0, wrong = 0, slot_of[1000], free_slots[8], free_count = 8;
    struct subject s;

    OPEN(s, 8);
    for (unsigned i = 0; i < 8; i++)
        free_slots[i] = i;
    while (done < 1000) {
        while (pushed < 1000 && free_count > 0) {
            unsigned slot = free_slots[free_count - 1];
            struct io_req q = read_at(mem[slot], 512, pushed * 512ull);

            if (s.engine->prepare(s.self, &q, pushed) == -EBUSY)
                break;
            free_count--;
            slot_of[pushed++] = slot;
        }
        s.engine->submit(s.self, 1, ENGINE_WAIT_NS);
        for (unsigned n = s.engine->ready(s.self), i = 0; i < n; i++) {
            struct io_done d = s.engine->at(s.self, i);

            seen[d.tag]++;
            wrong += d.res != 512 || mem[slot_of[d.tag]][511] != d.tag % 251;
            free_slots[free_count++] = slot_of[d.tag];
            done++;
            if (i == n - 1)
                s.engine->consume(s.self, n);
        }
    }
    CHECK_INT(wrong, 0);
    for (unsigned i = 0; i < 1000; i++)
        if (seen[i] != 1)
            CHECK_INT(seen[i], 1);
    CHECK_INT(s.engine->close(s.self, CLOCK_SECOND), 0);
}

static int one(struct subject *s, struct io_req q)
{
    int res;

    CHECK_INT(s->engine->prepare(s->self, &q, 42), 0);
    while (s->engine->ready(s->self) == 0)
        s->engine->submit(s->self, 1, ENGINE_WAIT_NS);
    CHECK_INT(s->engine->at(s->self, 0).tag, 42);
    res = s->engine->at(s->self, 0).res;
    s->engine->consume(s->self, 1);
    return res;
}

static void results_are_bytes_or_minus_errno(void)
{
    static unsigned char mem[4096];
    struct subject s;
    struct io_req q;

    OPEN(s, 4);
    CHECK_INT(one(&s, read_at(mem, 4096, 0)), 4096);
    CHECK_INT(one(&s, read_at(mem, 4096, 511000)), 1000);       /* the end of the file */
    CHECK_INT(one(&s, read_at(mem, 4096, 512000)), 0);
    q = read_at(mem, 4096, 0);
    q.fd = -1;
    CHECK_INT(one(&s, q), -EBADF);
    q = read_at((void *)8, 4096, 0);
    CHECK_INT(one(&s, q), -EFAULT);
    CHECK_INT(one(&s, (struct io_req){ .kind = IO_NOP, .fd = -1 }), 0);
    CHECK_INT(one(&s, (struct io_req){ .kind = IO_FSYNC, .fd = fd }), 0);
    CHECK_INT(s.engine->close(s.self, CLOCK_SECOND), 0);
}

static void positions_beyond_4_gib_are_right(void)
{
    static const uint64_t at = 15ull << 40;         /* 15 TiB */
    char text[4] = "abc", back[4] = "";
    struct io_req q = { .kind = IO_WRITE, .fd = fd, .addr = (uintptr_t)text, .len = 4 };
    struct subject s;
    off_t end = lseek(fd, 0, SEEK_END);

    OPEN(s, 4);
    q.pos = at;
    if (one(&s, q) == -EFBIG) {
        s.engine->close(s.self, CLOCK_SECOND);
        SKIP("this file system has no 15 TiB files");
    }
    CHECK_INT(lseek(fd, 0, SEEK_END), at + 4);
    q.kind = IO_READ;
    q.addr = (uintptr_t)back;
    CHECK_INT(one(&s, q), 4);
    CHECK_STR(back, "abc");
    CHECK_INT(ftruncate(fd, end), 0);
    CHECK_INT(s.engine->close(s.self, CLOCK_SECOND), 0);
}

static void a_wait_is_bounded(void)
{
    struct subject s;
    int p[2];
    char c;
    struct io_req q = { .kind = IO_READ, .addr = (uintptr_t)&c, .len = 1 };
    uint64_t from = clock_now(), spent;

    OPEN(s, 4);
    CHECK_INT(pipe(p), 0);
    q.fd = p[0];
    s.engine->prepare(s.self, &q, 1);
    CHECK_INT(s.engine->submit(s.self, 1, 20000000), -ETIME);
    spent = clock_now() - from;
    CHECK(spent >= 20000000 && spent < 2000000000);
    CHECK_INT(write(p[1], "x", 1), 1);
    while (s.engine->ready(s.self) == 0)
        s.engine->submit(s.self, 1, ENGINE_WAIT_NS);
    CHECK_INT(s.engine->at(s.self, 0).res, 1);
    CHECK_INT(c, 'x');
    s.engine->consume(s.self, 1);
    CHECK_INT(s.engine->close(s.self, CLOCK_SECOND), 0);
    close(p[0]);
    close(p[1]);
}

/* A read of an empty pipe never completes by itself: close must give it up and return. */
static void close_cancels_what_is_in_flight(void)
{
    struct subject s;
    int p[2];
    char c[4];
    uint64_t from;

    OPEN(s, 4);
    CHECK_INT(pipe(p), 0);
    for (unsigned i = 0; i < 3; i++) {
        struct io_req q = { .kind = i == 2 ? IO_POLL : IO_READ, .fd = p[0], .len = i == 2 ? 0 : 1,
                            .addr = i == 2 ? 0 : (uintptr_t)&c[i], .flags = i == 2 ? POLLIN : 0 };
        s.engine->prepare(s.self, &q, i);
    }
    s.engine->submit(s.self, 0, 0);
    from = clock_now();
    CHECK_INT(s.engine->close(s.self, 5 * CLOCK_SECOND), 0);
    CHECK(clock_now() - from < 4 * CLOCK_SECOND);
    close(p[0]);
    close(p[1]);
}

static void one_request_can_be_cancelled(void)
{
    struct subject s;
    int p[2], err;
    char c;
    struct io_req q = { .kind = IO_READ, .addr = (uintptr_t)&c, .len = 1 };

    OPEN(s, 4);
    CHECK_INT(pipe(p), 0);
    q.fd = p[0];
    s.engine->prepare(s.self, &q, 7);
    s.engine->submit(s.self, 1, 1000000);
    err = engine == &threads_engine ? threads_cancel(s.self, 7) : ring_cancel(s.self, 7);
    CHECK_INT(err, 0);
    CHECK_INT(engine == &threads_engine ? threads_cancel(s.self, 8) : ring_cancel(s.self, 8),
              -ENOENT);
    while (s.engine->ready(s.self) == 0)
        s.engine->submit(s.self, 1, ENGINE_WAIT_NS);
    CHECK_INT(s.engine->at(s.self, 0).res, -ECANCELED);
    s.engine->consume(s.self, 1);
    CHECK_INT(s.engine->close(s.self, CLOCK_SECOND), 0);
    close(p[0]);
    close(p[1]);
}

static void queue_sizes_out_of_range_are_refused(void)
{
    struct ring_options o = { .entries = 0, .sq_cpu = -1 };
    struct threads *t;
    struct ring *r;

    CHECK_INT(ring_open(&r, &o), -EINVAL);
    o.entries = RING_ENTRIES_MAX + 1;
    CHECK_INT(ring_open(&r, &o), -EINVAL);
    CHECK_INT(threads_open(&t, 0), -EINVAL);
    CHECK_INT(threads_open(&t, THREADS_DEPTH_MAX + 1), -EINVAL);
}

static void the_ring_knows_its_opcodes(void)
{
    struct ring_options o = { .entries = 1, .sq_cpu = -1 };
    static char message[256];
    struct ring *r;

    if (ring_available(message, sizeof message) < 0)
        SKIP(message);
    CHECK_INT(ring_open(&r, &o), 0);
    CHECK(ring_supports(r, IO_READ) && ring_supports(r, IO_NOP));
    CHECK(!ring_supports(r, IO_GETDENTS));
    CHECK_INT(ring_close(r, CLOCK_SECOND), 0);
}

static void the_largest_ring_opens(void)
{
    struct ring_options o = { .entries = RING_ENTRIES_MAX, .sq_cpu = -1 };
    static char message[256];
    struct ring *r;

    if (ring_available(message, sizeof message) < 0)
        SKIP(message);
    CHECK_INT(ring_open(&r, &o), 0);
    CHECK_INT(r->limit, RING_ENTRIES_MAX);
    CHECK_INT(ring_close(r, CLOCK_SECOND), 0);
}

/* Four entries and sixteen in flight: four at a time are pushed, the seventeenth is refused. */
static void more_may_be_in_flight_than_are_pushed_at_once(void)
{
    struct ring_options o = { .entries = 4, .sq_cpu = -1, .flight = 16 };
    struct io_req q = { .kind = IO_NOP, .fd = -1 };
    unsigned seen = 0;
    struct ring *r;

    if (ring_open(&r, &o) < 0)
        SKIP("no io_uring");
    for (unsigned i = 0; i < 16; i++) {
        CHECK_INT(ring_full(r), i > 0 && i % 4 == 0);
        if (ring_full(r))
            CHECK_INT(ring_enter(r, 0, 0), 0);
        CHECK_INT(ring_push(r, &q, i), 0);
    }
    CHECK_INT(ring_push(r, &q, 16), -EBUSY);
    CHECK_INT(ring_submit(r, 16, CLOCK_SECOND), 0);
    CHECK_INT(ring_ready(r), 16);
    for (unsigned i = 0; i < 16; i++)
        seen |= 1u << ring_at(r, i).tag;
    CHECK_INT(seen, 0xffff);
    ring_consume(r, 16);
    CHECK_INT(ring_push(r, &q, 16), 0);
    CHECK_INT(ring_close(r, CLOCK_SECOND), 0);
    o.flight = 2;
    CHECK_INT(ring_open(&r, &o), -EINVAL);
}

int main(void)
{
    static const struct engine *const engines[] = { &ring_engine, &threads_engine, &sync_engine };

    fd = scratch_file(path, 512000);
    unlink(path);
    for (unsigned i = 0; i < 3; i++) {
        engine = engines[i];
        CASE(results_are_bytes_or_minus_errno);
        CASE(positions_beyond_4_gib_are_right);
        CASE(queueing_beyond_the_queue_loses_nothing);
        if (engine == &sync_engine)
            break;              /* it does one thing at a time, and waits for as long */
        CASE(a_wait_is_bounded);
        CASE(close_cancels_what_is_in_flight);
        CASE(one_request_can_be_cancelled);
    }
    CASE(queue_sizes_out_of_range_are_refused);
    CASE(the_ring_knows_its_opcodes);
    CASE(the_largest_ring_opens);
    CASE(more_may_be_in_flight_than_are_pushed_at_once);
    close(fd);
    return DONE();
}
