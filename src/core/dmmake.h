/*
 * dmmake - volumes of device-mapper made, given another table and removed: guarded, checked, and
 * with nothing left behind on failure.
 */
#ifndef IOLUA_CORE_DMMAKE_H
#define IOLUA_CORE_DMMAKE_H

#include "core/dm.h"

/*
 * Create, load, resume, and see that the node is there. Every device in the table passes the
 * guard before, and what the kernel then says the table uses must be what was checked; only
 * devices that no other than this run's volumes hold are let through. On failure nothing is
 * left.
 */
int dm_create(const struct dm_make *m, char *message, size_t len);

/* Give a volume another table: guarded, loaded, then suspended and resumed at once. */
int dm_reload(const struct dm_make *m, char *message, size_t len);

/* Remove; while it is busy try again until retry_ns have passed, or with `deferred` let the
 * kernel do it when the last user has gone. -EBUSY names the open count and who holds it. */
int dm_remove(const char *name, bool deferred, uint64_t retry_ns, char *message, size_t len);

#endif
