/*
 * What a load draws: its region, its directions, its places.
 */
#include <errno.h>

#include "check.h"
#include "core/load.h"
#include "stat.h"

static struct load l;
static char message[200];

static int start(struct load_spec spec)
{
    spec.seed = 3;
    message[0] = 0;
    return load_init(&l, &spec, message, sizeof message);
}

static void blocks_lie_in_the_region(void)
{
    CHECK(start((struct load_spec){ .order = LOAD_SEQUENTIAL, .offset = 8192, .size = 10000,
                                    .bs = 4096, .read_percent = 100 }) == 0);
    CHECK_INT(load_next(&l).pos, 8192);
    CHECK_INT(load_next(&l).pos, 12288);
    CHECK_INT(load_next(&l).pos, 8192);                 /* the last 1808 bytes are no block */
}

static void every_order_takes_its_places(void)
{
    unsigned char seen[100] = { 0 };
    unsigned hot = 0;

    CHECK(start((struct load_spec){ .order = LOAD_NOREPEAT, .size = 100, .bs = 1 }) == 0);
    for (int i = 0; i < 100; i++)
        CHECK(!seen[load_next(&l).pos]++);
    CHECK(start((struct load_spec){ .order = LOAD_SPOT, .size = 1000 * 512, .bs = 512,
                                    .spot = { .kind = SPOT_ZIPF, .parameter = 1 } }) == 0);
    for (int i = 0; i < 100000; i++)
        hot += load_next(&l).pos == 0;
    CHECK(stat_count_fits(hot, 100000, 0.133592));
}

static void directions_keep_to_their_percentage(void)
{
    static const unsigned percent[] = { 0, 1, 30, 50, 99, 100 };

    for (int k = 0; k < 6; k++) {
        unsigned reads = 0;

        CHECK(start((struct load_spec){ .order = LOAD_RANDOM, .size = 1 << 20, .bs = 4096,
                                        .read_percent = percent[k] }) == 0);
        for (int i = 0; i < 100000; i++)
            reads += !load_next(&l).write;
        CHECK(stat_count_fits(reads, 100000, percent[k] / 100.0));
    }
}

static void what_cannot_be_is_said(void)
{
    CHECK_INT(start((struct load_spec){ .size = 4095, .bs = 4096 }), -ERANGE);
    CHECK_STR(message, "a region of 4095 bytes has no block of 4096");
    CHECK_INT(start((struct load_spec){ .order = LOAD_SPOT, .size = 4096, .bs = 4096, .spot = {
        .kind = SPOT_ZONED, .zones = 2, .access = { MIX_WHOLE / 2, MIX_WHOLE / 2 },
        .size = { MIX_WHOLE / 2, MIX_WHOLE / 2 } } }), -ERANGE);
    CHECK_STR(message, "a zone of the distribution has no block: the region has 1");
    CHECK_INT(start((struct load_spec){ .order = LOAD_SPOT, .size = 4096, .bs = 4096, .spot = {
        .kind = SPOT_ZIPF, .parameter = -1 } }), -EINVAL);
    CHECK_STR(message, "the distribution's parameter is out of its range");
}

static void a_load_without_data_needs_no_region(void)
{
    CHECK(start((struct load_spec){ .nop = true, .bs = 4096, .read_percent = 100 }) == 0);
    CHECK_INT(load_next(&l).pos, 0);
}

/* 60 % of 4k and 40 % of 64k, in a region of 10 MiB that no operation leaves. */
static void sizes_keep_to_their_shares_and_to_the_region(void)
{
    struct load_spec spec = { .order = LOAD_RANDOM, .offset = 4096, .size = 10 << 20, .bs = 4096,
        .sizes = { .count = 2, .share = { MIX_WHOLE / 10 * 6, MIX_WHOLE / 10 * 4 },
                   .range = { { 4096, 4096, 1 }, { 65536, 65536, 1 } } } };
    unsigned small = 0;

    CHECK(start(spec) == 0);
    for (unsigned i = 0; i < 100000; i++) {
        struct load_op op = load_next_sized(&l);

        small += op.len == 4096;
        CHECK(op.len == 4096 || op.len == 65536);
        CHECK(op.pos >= 4096 && op.pos % 4096 == 0 && op.pos + op.len <= 4096 + (10 << 20));
    }
    CHECK(stat_count_fits(small, 100000, 0.6));
    spec.size = 65535;
    CHECK_INT(start(spec), -ERANGE);
    CHECK_STR(message, "a region of 65535 bytes has no room for an operation of 65536");
}

/* A sequential mix goes on where the last operation ended, and each of a range is as likely. */
static void a_sequential_mix_leaves_no_gap(void)
{
    struct load_spec spec = { .order = LOAD_SEQUENTIAL, .size = 1 << 20, .bs = 512,
        .sizes = { .count = 1, .share = { MIX_WHOLE }, .range = { { 512, 4096, 512 } } } };
    unsigned seen[9] = { 0 };
    uint64_t at = 0;

    CHECK(start(spec) == 0);
    for (unsigned i = 0; i < 80000; i++) {
        struct load_op op = load_next_sized(&l);

        CHECK(op.pos == at || (op.pos == 0 && at + op.len > 1 << 20));
        at = op.pos + op.len;
        seen[op.len / 512]++;
    }
    for (unsigned i = 1; i <= 8; i++)
        CHECK(stat_count_fits(seen[i], 80000, 0.125));
}

int main(void)
{
    CASE(sizes_keep_to_their_shares_and_to_the_region);
    CASE(a_sequential_mix_leaves_no_gap);
    CASE(blocks_lie_in_the_region);
    CASE(every_order_takes_its_places);
    CASE(directions_keep_to_their_percentage);
    CASE(what_cannot_be_is_said);
    CASE(a_load_without_data_needs_no_region);
    return DONE();
}
