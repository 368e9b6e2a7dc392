/*
 * family - the block devices that share their data with one: those below it (a partition's
 * disk, a volume's members, what a loop device lies on) and those above it (its partitions,
 * volumes and loop devices on it, and theirs).
 */
#ifndef IOLUA_CORE_FAMILY_H
#define IOLUA_CORE_FAMILY_H

#include <stdbool.h>

#include "core/blk.h"

/* A growing set of device numbers; start with {0}. */
struct dev_set {
    dev_t *dev;
    unsigned n, cap;
};

bool dev_set_has(const struct dev_set *set, dev_t dev);
int dev_set_add(struct dev_set *set, dev_t dev);        /* 1 added, 0 known, -ENOMEM */
void dev_set_free(struct dev_set *set);

enum family_relation {
    FAMILY_PARTITIONS,          /* of a disk */
    FAMILY_PARENTS,             /* a partition's disk, a volume's members, a loop's device */
    FAMILY_HOLDERS,             /* volumes and loop devices on it */
};

/* Add those that are directly so related to b. 0 or -errno. */
int family_direct(struct dev_set *set, const char *root, const struct blk *b,
                  enum family_relation relation);

/* Add dev and everything below or above it. 0 or -errno. */
int family_below(struct dev_set *set, const char *root, dev_t dev);
int family_above(struct dev_set *set, const char *root, dev_t dev);

#endif
