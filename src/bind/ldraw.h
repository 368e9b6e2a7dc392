/*
 * ldraw - positions that the engine draws: what fiber.draw gave, for other bindings.
 */
#ifndef IOLUA_BIND_LDRAW_H
#define IOLUA_BIND_LDRAW_H

#include "core/rng.h"

#include <lua.h>
#include <stdbool.h>

struct ldraw {                  /* positions first, first + step ... first + (count - 1) step */
    struct rng rng;
    uint64_t first, step;       /* bytes */
    uint64_t count;             /* 1 or more */
    uint64_t next;              /* index of the next in sequence */
    bool random;
};

/* The next position, bytes. */
static inline uint64_t ldraw_next(struct ldraw *d)
{
    uint64_t at;

    if (d->random) {
        at = rng_below(&d->rng, d->count);
    } else {
        at = d->next;
        d->next = at + 1 == d->count ? 0 : at + 1;
    }
    return d->first + at * d->step;
}

/* What the function at arg draws with, if fiber.draw gave it, or an argument error. Valid while
 * the function is. */
struct ldraw *ldraw_check(lua_State *L, int arg);

#endif
