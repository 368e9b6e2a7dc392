/*
 * dmlist - growing lists of what device-mapper tells: lines of tables, volumes, targets.
 */
#ifndef IOLUA_CORE_DMLIST_H
#define IOLUA_CORE_DMLIST_H

#include "core/dm.h"

/* Add a copy as number n. The new count; -ENOMEM: all was freed. */
int dm_add_line(struct dm_line **list, int n, const struct dm_line *line);
int dm_add_entry(struct dm_entry **list, int n, struct dm_entry e);

void dm_free_lines(struct dm_line *lines, int n);
void dm_free_entries(struct dm_entry *list, int n);

#endif
