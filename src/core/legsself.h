/*
 * legsself - what is behind struct legs: for legs.c and legsopen.c only.
 */
#ifndef IOLUA_CORE_LEGSSELF_H
#define IOLUA_CORE_LEGSSELF_H

#include "core/legs.h"

struct legs_slot {
    uint64_t tag;               /* the request's own */
    struct io_req q;
    unsigned out;               /* parts still to come */
    unsigned good;              /* of a mirror: legs that did it */
    unsigned turn;              /* of a mirror's read: legs that were tried */
    uint32_t moved;             /* bytes up to the first gap */
    int error;                  /* the first */
    struct stripe_part *parts;
    struct iovec *vec;
};

/* What one leg did, told to the volume at the end: no atomics in the loop. */
struct legs_count {
    uint64_t ios, bytes, errors;
};

struct legs {
    struct legs_spec spec;
    struct volume *v;
    const struct stripe *map;
    struct legs_slot *slots;
    unsigned *free;
    unsigned free_count;
    struct io_done *done;       /* ring of what is finished, and of its slots */
    unsigned *done_slot;
    unsigned first, done_count;
    unsigned legs_out;          /* requests that the inner engine has */
    unsigned *out;              /* the same a leg: where a mirror reads next */
    struct legs_count *count;   /* a leg */
    int *fds;
    unsigned pending, pending_slot;     /* of the sync engine: begun in submit */
    unsigned rotor;
    struct stripe_part *parts;
    struct iovec *vecs;
};

/* Free all but the inner engine. */
void legs_release(struct legs *s);

#endif
