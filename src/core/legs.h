/*
 * legs - a volume as an engine: it wraps another one, which does the leg requests.
 *
 * prepare splits a request into its parts and queues those on the inner engine; a request
 * completes once, when the last of its parts has, with the bytes that moved up to the first gap,
 * or the first error. Reads of a mirror go to the leg with the fewest requests out, and on
 * failure to another one; writes and fsync go to all that have not failed. The clock is the
 * inner engine's, and so is the name: one table for each.
 */
#ifndef IOLUA_CORE_LEGS_H
#define IOLUA_CORE_LEGS_H

#include "core/engine.h"
#include "core/volume.h"

struct legs;

struct legs_spec {
    struct volume *volume;      /* kept by the caller until close */
    const struct engine *inner; /* one of ring, threads, sync, sim */
    void *self;                 /* of the inner; closed by legs */
    unsigned depth;             /* requests at once; the inner takes legs_parts times as many */
    uint32_t bs;                /* the longest request */
    const int *fds;             /* of each leg, as the inner engine wants them; -1: an error leg */
    bool fixed_files;           /* they are indexes of registered files */
    bool vectors_fixed;         /* the inner has vectored transfers on registered memory */
    bool no_vectors;            /* the inner moves no data: a length will do */
};

/* Leg requests that one request of bs bytes can have at most. */
unsigned legs_parts(const struct volume *v, uint32_t bs);

/* 0 or -ENOMEM; on failure the inner is still the caller's. */
int legs_open(struct legs **out, const struct legs_spec *spec);

/* Add what the legs did since the last time to the volume's counts; close does it too. */
void legs_tell(struct legs *s);

/* The table for legs over this inner engine: its self is a struct legs. */
const struct engine *legs_engine(const struct engine *inner);

#endif
