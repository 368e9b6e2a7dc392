#include <errno.h>

#include "core/load.h"

int load_init(struct load *l, const struct load_spec *spec)
{
    if (!spec->nop && spec->size / spec->bs == 0)
        return -ERANGE;
    *l = (struct load){
        .order = spec->order,
        .mixed = spec->read_percent > 0 && spec->read_percent < 100,
        .writes = spec->read_percent == 0,
        .read_percent = spec->read_percent,
        .offset = spec->offset,
        .blocks = spec->nop ? 1 : spec->size / spec->bs,
        .bs = spec->bs,
    };
    rng_seed(&l->rng, spec->seed, spec->stream);
    if (l->order == LOAD_NOREPEAT)
        dist_perm_init(&l->perm, l->blocks, &l->rng);
    return 0;
}

uint64_t load_permuted(struct load *l)
{
    if (l->next == l->blocks) {
        dist_perm_init(&l->perm, l->blocks, &l->rng);
        l->next = 0;
    }
    return dist_perm_at(&l->perm, l->next++);
}
