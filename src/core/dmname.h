/*
 * dmname - names of volumes: which are allowed, how the kernel writes them, and whose they are.
 */
#ifndef IOLUA_CORE_DMNAME_H
#define IOLUA_CORE_DMNAME_H

#include "core/dm.h"

/* May a volume be called so? 0, or -EINVAL or -ENAMETOOLONG with the rule in message. */
int dm_check_name(const char *name, char *message, size_t len);

/* "/dev/mapper/NAME" with the name as it is written there; path has 13 + DM_NAME_MAX bytes. */
void dm_path(char *path, size_t len, const char *name);

/* What the UUIDs of this process's volumes begin with: "iolua-PID-STARTTIME-". */
const char *dm_prefix(void);

/* A device number as the kernel's interface packs it. */
dev_t dmname_dev(uint64_t packed);

/* Does the running kernel have device-mapper? */
bool dmname_in_kernel(void);

#endif
