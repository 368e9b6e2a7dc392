#include <errno.h>
#include <stdlib.h>

#include "core/legsself.h"

unsigned legs_parts(const struct volume *v, uint32_t bs)
{
    unsigned parts = stripe_parts_max(v->map, bs, v->merge);

    return parts > v->map->legs ? parts : v->map->legs;         /* fsync goes to every leg */
}

void legs_release(struct legs *s)
{
    free(s->slots);
    free(s->free);
    free(s->done);
    free(s->done_slot);
    free(s->out);
    free(s->count);
    free(s->fds);
    free(s->parts);
    free(s->vecs);
    free(s);
}

static int allocate(struct legs *s)
{
    size_t depth = s->spec.depth, parts = legs_parts(s->v, s->spec.bs);
    size_t pieces = stripe_pieces_max(s->map, s->spec.bs);

    s->slots = calloc(depth, sizeof *s->slots);
    s->free = calloc(depth, sizeof *s->free);
    s->done = calloc(depth, sizeof *s->done);
    s->done_slot = calloc(depth, sizeof *s->done_slot);
    s->out = calloc(s->map->legs, sizeof *s->out);
    s->count = calloc(s->map->legs, sizeof *s->count);
    s->fds = calloc(s->map->legs, sizeof *s->fds);
    s->parts = calloc(depth * parts, sizeof *s->parts);
    s->vecs = calloc(depth * pieces, sizeof *s->vecs);
    if (!s->slots || !s->free || !s->done || !s->done_slot || !s->out || !s->count || !s->fds ||
        !s->parts || !s->vecs)
        return -ENOMEM;
    for (unsigned i = 0; i < depth; i++) {
        s->slots[i].parts = s->parts + i * parts;
        s->slots[i].vec = s->vecs + i * pieces;
        s->free[i] = (unsigned)depth - 1 - i;
    }
    for (unsigned i = 0; i < s->map->legs; i++)
        s->fds[i] = s->spec.fds[i];
    s->free_count = (unsigned)depth;
    return 0;
}

int legs_open(struct legs **out, const struct legs_spec *spec)
{
    struct legs *s = calloc(1, sizeof *s);

    if (!s)
        return -ENOMEM;
    s->spec = *spec;
    s->v = spec->volume;
    s->map = spec->volume->map;
    if (allocate(s) < 0) {
        legs_release(s);
        return -ENOMEM;
    }
    *out = s;
    return 0;
}
