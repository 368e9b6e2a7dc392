/*
 * mapped - the mmap engine: behind core/engine.h, one read at a time.
 */
#ifndef IOLUA_CORE_MAPPED_H
#define IOLUA_CORE_MAPPED_H

#include "core/engine.h"
#include "core/file.h"

struct mapped;

/* Map all of f. 0; -ENODATA an empty file; or -errno. */
int mapped_open(struct mapped **out, const struct file *f);

extern const struct engine mapped_engine;       /* self: struct mapped; depth 1 */

#endif
