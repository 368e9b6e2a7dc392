#include <errno.h>
#include <stdio.h>

#include "core/load.h"

#define TRIES 64                /* places drawn before the last that fits is taken */

/* Why the places of spec cannot be, in a sentence. */
static int refuse(int err, const struct load_spec *spec, uint64_t blocks, char *message,
                  size_t len)
{
    if (blocks == 0)
        snprintf(message, len, "a region of %llu bytes has no block of %u",
                 (unsigned long long)spec->size, spec->bs);
    else if (err == -ERANGE)
        snprintf(message, len, "a zone of the distribution has no block: the region has %llu",
                 (unsigned long long)blocks);
    else
        snprintf(message, len, "the distribution's parameter is out of its range");
    return err;
}

static int sized_init(struct load *l, const struct load_spec *spec, char *message, size_t len)
{
    if (sizes_init(&l->sizes, &spec->sizes) < 0) {
        snprintf(message, len, "the sizes of the operations do not add up");
        return -EINVAL;
    }
    if (spec->size >= l->sizes.max)
        return 0;
    snprintf(message, len, "a region of %llu bytes has no room for an operation of %u",
             (unsigned long long)spec->size, l->sizes.max);
    return -ERANGE;
}

void load_set_mix(struct load *l, unsigned read_percent)
{
    l->mixed = read_percent > 0 && read_percent < 100;
    l->writes = read_percent == 0;
    l->read_percent = read_percent;
}

/* Where an operation of len bytes begins: redrawn while it would end outside the region, which
 * for a narrow distribution is given up for the last place that fits. */
uint64_t load_place_for(struct load *l, uint32_t len)
{
    uint64_t at;

    for (unsigned tries = 0; tries < TRIES; tries++) {
        at = spot_next(&l->spot, &l->rng) * l->bs;
        if (at + len <= l->size)
            return l->offset + at;
    }
    return l->offset + (l->size - len) / l->bs * l->bs;
}

static uint64_t go_on(struct load *l, uint32_t len)
{
    uint64_t at = l->cursor + len <= l->size ? l->cursor : 0;

    l->cursor = at + len;
    return l->offset + at;
}

struct load_op load_next_sized(struct load *l)
{
    struct load_op op = { l->writes, sizes_next(&l->sizes, &l->rng), 0 };

    op.pos = l->spot.kind == SPOT_SEQUENTIAL ? go_on(l, op.len) : load_place_for(l, op.len);
    if (l->mixed)
        op.write = rng_below(&l->rng, 100) >= l->read_percent;
    return op;
}

int load_init(struct load *l, const struct load_spec *spec, char *message, size_t len)
{
    static const struct spot_spec plain[] = {
        [LOAD_SEQUENTIAL] = { .kind = SPOT_SEQUENTIAL },
        [LOAD_RANDOM] = { .kind = SPOT_UNIFORM },
        [LOAD_NOREPEAT] = { .kind = SPOT_NOREPEAT },
    };
    const struct spot_spec *spot = spec->order == LOAD_SPOT ? &spec->spot : &plain[spec->order];
    uint64_t blocks = spec->nop ? 1 : spec->size / spec->bs;
    int err;

    load_set_mix(l, spec->read_percent);
    l->offset = spec->offset;
    l->bs = spec->bs;
    l->size = spec->size;
    l->cursor = 0;
    rng_seed(&l->rng, spec->seed, spec->stream);
    if (spec->sizes.count > 0 && (err = sized_init(l, spec, message, len)) < 0)
        return err;
    err = blocks ? spot_init(&l->spot, spot, blocks, &l->rng) : -ERANGE;
    return err < 0 ? refuse(err, spec, blocks, message, len) : 0;
}
