/*
 * volume - a user-space volume: a geometry (core/stripe.h) over open files, shared by the
 * workers that use it and counted like a file.
 *
 * An error leg refuses every request. On a mirror a leg that failed once is left out from then
 * on: the volume is degraded, and works while one leg is left. Counts and marks are atomic.
 */
#ifndef IOLUA_CORE_VOLUME_H
#define IOLUA_CORE_VOLUME_H

#include "core/file.h"
#include "core/stripe.h"

#include <stdatomic.h>
#include <stdbool.h>

struct sim_device;

struct volume_leg {
    struct file *file;          /* of a simulated volume NULL, as of an error leg */
    struct sim_device *sim;
    atomic_bool failed;
    atomic_ullong ios, bytes, errors;   /* leg requests that ended, of all jobs so far */
};

struct volume {
    unsigned refs;              /* atomic */
    struct stripe *map;
    bool merge;                 /* pieces that touch on a leg are one request */
    bool simulated;             /* its legs are simulated devices and error legs */
    bool writable, direct;      /* all of its files are */
    uint32_t block_size;        /* the largest of its files' */
    struct volume_leg leg[];
};

/*
 * Make a volume of map's legs: leg i is files[i], or where that is NULL the simulated device
 * sims[i], or where that is too an error leg. Takes the map, and a reference of each file and
 * device. 0; -EINVAL files and simulated devices mixed, -ENOMEM (the map is then still the
 * caller's).
 */
int volume_new(struct volume **out, struct stripe *map, struct file *const *files,
               struct sim_device *const *sims, bool merge);

struct volume *volume_ref(struct volume *v);
void volume_unref(struct volume *v);    /* NULL allowed */

/* Mark a leg of a mirror as failed. Returns how many are left. */
unsigned volume_fail(struct volume *v, unsigned leg);

/* fsync on every leg, one after the other; the first error. */
int volume_sync(struct volume *v);

#endif
