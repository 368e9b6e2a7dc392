/*
 * fill - what blocks contain.
 */
#ifndef IOLUA_CORE_FILL_H
#define IOLUA_CORE_FILL_H

#include "core/rng.h"

#include <stddef.h>

/* Fill with incompressible bytes. */
void fill_random(void *mem, size_t len, struct rng *r);

/* Fill each 4096-byte piece so that about `percent` (0 .. 100) of it compresses away: that
 * share is zeros, the rest incompressible. */
void fill_compressible(void *mem, size_t len, unsigned percent, struct rng *r);

/* A checksum of 64 bits: XXH3. */
uint64_t fill_hash(const void *mem, size_t len);

#endif
