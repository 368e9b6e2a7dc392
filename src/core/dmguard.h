/*
 * dmguard - the devices that a device-mapper table names, each asked of core/guard.
 */
#ifndef IOLUA_CORE_DMGUARD_H
#define IOLUA_CORE_DMGUARD_H

#include "core/dm.h"

struct dmguard {
    dev_t devs[DM_DEPS_MAX];    /* what passed */
    unsigned n;
};

/*
 * Check every word of a segment's parameters that can be a device: a path, a number MAJOR:MINOR,
 * a name that leads to a device from here. Those that only volumes of this run (UUIDs that begin
 * with dm_prefix()) hold were checked when those were made. 0 or -errno with a sentence.
 */
int dmguard_params(struct dmguard *g, const char *params, const char *const *destroy,
                   char *message, size_t len);

/* Is every one of these among what passed? -EPERM with the first that is not. */
int dmguard_covers(const struct dmguard *g, const dev_t *devs, unsigned n, char *message,
                   size_t len);

/* Who has the device open: "cp (process 812)", "mounted on /mnt". 0, or -ENOENT nobody seen. */
int dmguard_holder(char *text, size_t len, dev_t dev);

#endif
