#include <errno.h>
#include <stdio.h>

#include "core/load.h"

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

    l->mixed = spec->read_percent > 0 && spec->read_percent < 100;
    l->writes = spec->read_percent == 0;
    l->read_percent = spec->read_percent;
    l->offset = spec->offset;
    l->bs = spec->bs;
    rng_seed(&l->rng, spec->seed, spec->stream);
    err = blocks ? spot_init(&l->spot, spot, blocks, &l->rng) : -ERANGE;
    return err < 0 ? refuse(err, spec, blocks, message, len) : 0;
}
