/*
 * A mix keeps its shares; what does not sum up is refused.
 */
#include <errno.h>

#include "check.h"
#include "core/mix.h"
#include "stat.h"

static void shares_are_kept_and_none_is_none(void)
{
    static const uint32_t shares[] = { 60000000, 0, 39999999, 1, 0 };
    unsigned seen[5] = { 0 };
    struct mix m;
    struct rng r;

    rng_seed(&r, 1, 0);
    CHECK(mix_init(&m, shares, 5) == 0);
    for (int i = 0; i < 1000000; i++)
        seen[mix_next(&m, &r)]++;
    CHECK(stat_count_fits(seen[0], 1000000, 0.6));
    CHECK(stat_count_fits(seen[2], 1000000, 0.39999999));
    CHECK(seen[1] == 0 && seen[4] == 0);
}

static void one_thing_is_all_there_is(void)
{
    static const uint32_t whole = MIX_WHOLE;
    struct mix m;
    struct rng r;

    rng_seed(&r, 1, 0);
    CHECK(mix_init(&m, &whole, 1) == 0);
    for (int i = 0; i < 1000; i++)
        CHECK_INT(mix_next(&m, &r), 0);
}

static void shares_that_do_not_sum_up_are_refused(void)
{
    static const uint32_t over[] = { MIX_WHOLE, 1 }, under[] = { MIX_WHOLE - 1 },
                          wraps[] = { UINT32_MAX, MIX_WHOLE + 1 };
    static uint32_t many[MIX_MAX + 1];
    struct mix m;

    CHECK_INT(mix_init(&m, over, 2), -EINVAL);
    CHECK_INT(mix_init(&m, under, 1), -EINVAL);
    CHECK_INT(mix_init(&m, wraps, 2), -EINVAL);
    CHECK_INT(mix_init(&m, over, 0), -EINVAL);
    many[MIX_MAX] = MIX_WHOLE;
    CHECK_INT(mix_init(&m, many, MIX_MAX + 1), -EINVAL);
    CHECK_INT(mix_init(&m, many + 1, MIX_MAX), 0);
}

int main(void)
{
    CASE(shares_are_kept_and_none_is_none);
    CASE(one_thing_is_all_there_is);
    CASE(shares_that_do_not_sum_up_are_refused);
    return DONE();
}
