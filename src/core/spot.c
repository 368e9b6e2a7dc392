#include <errno.h>
#include <math.h>

#include "core/spot.h"

static int zoned_init(struct spot *p, const struct spot_spec *spec)
{
    uint64_t before = 0;
    struct mix sizes;

    if (mix_init(&p->u.zoned.access, spec->access, spec->zones) < 0 ||
        mix_init(&sizes, spec->size, spec->zones) < 0)
        return -EINVAL;
    for (unsigned i = 0; i < spec->zones; i++) {
        p->u.zoned.end[i] = (uint64_t)((unsigned __int128)p->blocks * sizes.below[i] /
                                       MIX_WHOLE);
        if (spec->access[i] > 0 && p->u.zoned.end[i] == before)
            return -ERANGE;
        before = p->u.zoned.end[i];
    }
    return 0;
}

static int normal_init(struct spot *p, double percent)
{
    if (!(percent > 0 && percent <= 100))
        return -EINVAL;
    p->u.deviation = percent / 100 * (double)p->blocks;
    return 0;
}

static int kind_init(struct spot *p, const struct spot_spec *spec, struct rng *r)
{
    switch (spec->kind) {
    case SPOT_SEQUENTIAL:
    case SPOT_UNIFORM:
        return 0;
    case SPOT_NOREPEAT:
        dist_perm_init(&p->perm, p->blocks, r);
        return 0;
    case SPOT_STRIDE:
        return p->stride > 0 ? 0 : -EINVAL;
    case SPOT_ZIPF:
        return dist_zipf_init(&p->u.zipf, p->blocks, spec->parameter);
    case SPOT_PARETO:
        return dist_pareto_init(&p->u.pareto, p->blocks, spec->parameter);
    case SPOT_NORMAL:
        return normal_init(p, spec->parameter);
    case SPOT_ZONED:
        return zoned_init(p, spec);
    }
    return -EINVAL;
}

int spot_init(struct spot *p, const struct spot_spec *spec, uint64_t blocks, struct rng *r)
{
    int err;

    if (blocks == 0)
        return -EINVAL;
    p->kind = spec->kind;
    p->blocks = blocks;
    p->next = p->lap = 0;
    p->stride = spec->stride;
    p->scatter = spec->scatter && spec->kind >= SPOT_ZIPF;
    err = kind_init(p, spec, r);
    if (err == 0 && p->scatter) {
        struct rng own;

        rng_seed(&own, spec->scatter_seed, 0);
        dist_perm_init(&p->perm, blocks, &own);
    }
    return err;
}

static uint64_t norepeat(struct spot *p, struct rng *r)
{
    if (p->next == p->blocks) {
        dist_perm_init(&p->perm, p->blocks, r);
        p->next = 0;
    }
    return dist_perm_at(&p->perm, p->next++);
}

/* Laps begin at 0 .. stride - 1, so that together they meet every block once. */
static uint64_t strided(struct spot *p)
{
    uint64_t at = p->next;

    if (p->stride < p->blocks - at) {
        p->next = at + p->stride;
        return at;
    }
    p->lap = p->lap + 1 == p->stride || p->lap + 1 == p->blocks ? 0 : p->lap + 1;
    p->next = p->lap;
    return at;
}

/* Outside the region is drawn again: the bell is cut off, not piled up at the ends. */
static uint64_t normal(const struct spot *p, struct rng *r)
{
    double whole = (double)p->blocks, at;

    do
        at = floor(whole / 2 + p->u.deviation * dist_normal(r));
    while (!(at >= 0 && at < whole));
    return (uint64_t)at;
}

static uint64_t zoned(const struct spot *p, struct rng *r)
{
    unsigned zone = mix_next(&p->u.zoned.access, r);
    uint64_t start = zone ? p->u.zoned.end[zone - 1] : 0;

    return start + rng_below(r, p->u.zoned.end[zone] - start);
}

uint64_t spot_draw(struct spot *p, struct rng *r)
{
    uint64_t at = 0;

    switch (p->kind) {
    case SPOT_SEQUENTIAL:
    case SPOT_UNIFORM:
        return spot_next(p, r);
    case SPOT_NOREPEAT:
        return norepeat(p, r);
    case SPOT_STRIDE:
        return strided(p);
    case SPOT_ZIPF:
        at = dist_zipf_next(&p->u.zipf, r) - 1;
        break;
    case SPOT_PARETO:
        at = dist_pareto_next(&p->u.pareto, r);
        break;
    case SPOT_NORMAL:
        at = normal(p, r);
        break;
    case SPOT_ZONED:
        at = zoned(p, r);
        break;
    }
    return p->scatter ? dist_perm_at(&p->perm, at) : at;
}
