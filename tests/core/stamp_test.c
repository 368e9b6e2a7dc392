/*
 * stamp_test - every kind of damage made by hand, and none seen where there is none.
 */
#include <time.h>

#include "check.h"
#include "core/ledger.h"
#include "core/rng.h"
#include "core/stamp.h"

#define LEN 4096u

static unsigned char mem[4 * LEN], old[4 * LEN];
static uint32_t number[4];
static uint64_t unwritten;

static void put(void *to, uint64_t pos, uint32_t len, uint32_t n)
{
    stamp_fill(to, &(struct stamp){ 7, pos, len, n, 5 });
}

/* Check one write's worth at 64 KiB with number n due (0: not known); the damage. */
static struct stamp_damage check(uint32_t n, unsigned want)
{
    struct stamp_known k = { 7, 5, 65536, n ? LEN : 0, number };
    struct stamp_damage d[8] = { 0 };

    number[0] = n;
    unwritten = 0;
    CHECK_INT(stamp_check(d, 8, &unwritten, mem, 65536, LEN, &k), want);
    return d[0];
}

static void expect(struct stamp_damage d, enum stamp_kind kind, uint64_t offset,
                   uint64_t expected, uint64_t found)
{
    CHECK_STR(stamp_name(d.kind), stamp_name(kind));
    CHECK_INT(d.offset, offset);
    CHECK_INT(d.expected, expected);
    CHECK_INT(d.found, found);
}

static void what_was_written_is_whole(void)
{
    put(mem, 65536, LEN, 3);
    check(3, 0);
    check(0, 0);
    CHECK_INT(unwritten, 0);
}

/* Every byte of a sector, header and sum included. */
static void one_wrong_byte_is_named_wherever_it_is(void)
{
    for (unsigned at = 512; at < 1024; at++)
        for (uint32_t due = 0; due <= 3; due += 3) {
            put(mem, 65536, LEN, 3);
            unsigned char was = mem[at];

            mem[at] ^= 0x10;
            expect(check(due, 1), STAMP_FLIP, 65536 + at, was, was ^ 0x10);
        }
}

static void data_of_another_place_is_misplaced(void)
{
    put(mem, 4096, LEN, 3);
    struct stamp_damage d = check(3, 1);

    expect(d, STAMP_MISPLACED, 65536, 65536, 4096);
    CHECK_INT(d.bytes, LEN);
    expect(check(0, 1), STAMP_MISPLACED, 65536, 65536, 4096);
}

static void an_older_write_is_stale(void)
{
    put(mem, 65536, LEN, 2);
    expect(check(3, 1), STAMP_STALE, 65536, 3, 2);
    check(0, 0);
}

static void nothing_where_a_write_is_due_is_lost(void)
{
    memset(mem, 0, LEN);
    expect(check(3, 1), STAMP_LOST, 65536, 3, 0);
}

static void never_written_is_no_damage(void)
{
    struct rng r;

    memset(mem, 0, LEN);
    check(0, 0);
    CHECK_INT(unwritten, LEN);
    rng_seed(&r, 1, 0);
    for (unsigned i = 0; i < LEN; i++)
        mem[i] = (unsigned char)rng_next(&r);
    check(0, 0);
    CHECK_INT(unwritten, LEN);
}

/* At a sector's edge, over older data and over none, known and not. */
static void half_a_write_is_torn(void)
{
    put(mem, 65536, LEN, 3);
    put(old, 65536, LEN, 2);
    memcpy(mem + 2048, old + 2048, 2048);
    struct stamp_damage d = check(3, 1);

    expect(d, STAMP_TORN, 65536 + 2048, 3, 2);
    CHECK_INT(d.bytes, 2048);
    expect(check(0, 1), STAMP_TORN, 65536 + 2048, 3, 2);
    memset(mem + 2048, 0, 2048);
    expect(check(3, 1), STAMP_TORN, 65536 + 2048, 3, 0);
    expect(check(0, 1), STAMP_TORN, 65536 + 2048, 3, 0);
}

static void half_a_sector_is_torn(void)
{
    put(mem, 65536, LEN, 3);
    put(old, 65536, LEN, 2);
    memcpy(mem + 512 + 200, old + 512 + 200, 312);
    struct stamp_damage d = check(3, 1);

    CHECK_STR(stamp_name(d.kind), "torn");
    CHECK_INT(d.offset, 65536 + 512 + 200);
}

/* A later write over part of an earlier one is how it should be. */
static void a_newer_write_inside_an_older_one_is_no_damage(void)
{
    put(mem, 65536, LEN, 2);
    put(mem + 1024, 65536 + 1024, 1024, 3);
    check(0, 0);
}

static void data_of_another_seed_is_nobodys(void)
{
    stamp_fill(mem, &(struct stamp){ 8, 65536, LEN, 3, 5 });
    check(0, 0);
    CHECK_INT(unwritten, LEN);
    expect(check(3, 1), STAMP_LOST, 65536, 3, 0);
}

static void overlaps_wait_and_readers_share(void)
{
    struct ledger_spec s = { 7, 5, 0, 65536, 4096, true };
    struct ledger *l;

    CHECK_INT(ledger_new(&l, &s), 0);
    CHECK(ledger_take(l, 0, 8192, true));
    CHECK(!ledger_take(l, 4096, 4096, true));
    CHECK(!ledger_take(l, 4096, 4096, false));
    CHECK(ledger_take(l, 8192, 4096, false));
    CHECK(ledger_take(l, 8192, 4096, false));
    ledger_stamp(l, mem, 0, 8192);
    ledger_done(l, mem, 0, 8192, true, 8192);
    CHECK(ledger_take(l, 4096, 4096, false));
    ledger_done(l, mem + 4096, 4096, 4096, false, 4096);
    CHECK_INT(l->damaged, 0);
    CHECK_INT(l->checked, 4096);
    ledger_unref(l);
}

/* A failed write may have left the old, the new or a part: none of them is damage. */
static void what_a_failed_write_left_is_not_known(void)
{
    struct ledger_spec s = { 7, 5, 0, 65536, 4096, true };
    struct ledger *l;

    CHECK_INT(ledger_new(&l, &s), 0);
    CHECK(ledger_take(l, 0, 4096, true));
    ledger_stamp(l, mem, 0, 4096);
    ledger_done(l, mem, 0, 4096, true, -5);
    memset(mem, 0xee, 4096);
    CHECK(ledger_take(l, 0, 4096, false));
    ledger_done(l, mem, 0, 4096, false, 4096);
    CHECK_INT(l->damaged, 0);
    CHECK_INT(l->unsure, 4096);
    ledger_unref(l);
}

static void a_ledger_goes_by_sectors(void)
{
    struct ledger_spec s = { 7, 5, 0, 65536, 1000, true };
    struct ledger *l;

    CHECK_INT(ledger_new(&l, &s), -22);
}

#define LARGE (2u << 20)

static uint64_t large[LARGE / 8];

/* Writes of `len` bytes each over every second place of `large`, numbered in order. */
static void write_every_second(uint32_t len)
{
    memset(large, 0, sizeof large);
    for (uint32_t pos = 0; pos < LARGE; pos += 2 * len) {
        struct stamp s = { 7, pos, len, 1 + pos / len, 1 };

        stamp_fill((char *)large + pos, &s);
    }
}

static unsigned check_parts(uint32_t part, uint64_t *never)
{
    struct stamp_known k = { 7, 0, 0, 0, NULL };
    struct stamp_damage d[8];
    unsigned n = 0;

    for (uint32_t pos = 0; pos < LARGE; pos += part)
        n += stamp_check(d, 8, never, (char *)large + pos, pos, part, &k);
    return n;
}

static void many_writes_in_one_read_are_kept_apart(void)
{
    static const uint32_t lengths[] = { 512, 1024, 4096 };
    struct stamp_known k = { 7, 0, 0, 0, NULL };
    struct stamp_damage d[8];

    for (unsigned i = 0; i < 3; i++) {
        uint64_t never = 0;

        write_every_second(lengths[i]);
        CHECK_INT(check_parts(LARGE, &never), 0);
        CHECK_INT(never, LARGE / 2);
    }
    write_every_second(1024);           /* more than a scene keeps; the second half of one is old */
    memset((char *)large + LARGE - 2048 + 512, 0, 512);
    CHECK_INT(stamp_check(d, 8, &(uint64_t){ 0 }, large, 0, LARGE, &k), 1);
    CHECK_INT(d[0].kind, STAMP_TORN);
    CHECK_INT(d[0].offset, LARGE - 2048 + 512);
}

static uint64_t cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The least CPU time of some passes over all, in reads of `part`. */
static uint64_t least(uint32_t part)
{
    uint64_t best = UINT64_MAX, never = 0;

    for (unsigned i = 0; i < 7; i++) {
        uint64_t from = cpu_ns(), took;

        check_parts(part, &never);
        took = cpu_ns() - from;
        best = took < best ? took : best;
    }
    return best;
}

/* Once each sector of a read was compared with each: 1 MiB took 14 times as long as its parts. */
static void a_long_read_costs_no_more_a_byte_than_short_ones(void)
{
    write_every_second(4096);
    CHECK(least(1u << 20) < 7 * least(64u << 10));
}

int main(void)
{
    CASE(what_was_written_is_whole);
    CASE(one_wrong_byte_is_named_wherever_it_is);
    CASE(data_of_another_place_is_misplaced);
    CASE(an_older_write_is_stale);
    CASE(nothing_where_a_write_is_due_is_lost);
    CASE(never_written_is_no_damage);
    CASE(half_a_write_is_torn);
    CASE(half_a_sector_is_torn);
    CASE(a_newer_write_inside_an_older_one_is_no_damage);
    CASE(data_of_another_seed_is_nobodys);
    CASE(overlaps_wait_and_readers_share);
    CASE(what_a_failed_write_left_is_not_known);
    CASE(a_ledger_goes_by_sectors);
    CASE(many_writes_in_one_read_are_kept_apart);
    CASE(a_long_read_costs_no_more_a_byte_than_short_ones);
    return DONE();
}
