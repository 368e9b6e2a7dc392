#include <errno.h>

#include "core/sizes.h"

int sizes_init(struct sizes *s, const struct sizes_spec *spec)
{
    int err = mix_init(&s->mix, spec->share, spec->count);

    s->max = 0;
    for (unsigned i = 0; i < spec->count && err == 0; i++) {
        const struct sizes_range *r = &spec->range[i];

        if (r->low < 1 || r->high < r->low || r->step < 1)
            err = -EINVAL;
        s->range[i] = *r;
        s->max = r->high > s->max ? r->high : s->max;
    }
    return err;
}

uint32_t sizes_next(const struct sizes *s, struct rng *r)
{
    const struct sizes_range *range = &s->range[mix_next(&s->mix, r)];

    if (range->low == range->high)
        return range->low;
    return range->low +
           range->step * (uint32_t)rng_below(r, (range->high - range->low) / range->step + 1);
}
