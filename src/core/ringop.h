/*
 * ringop - where io_uring's submission entry keeps what a request names otherwise.
 *
 * Reads, writes, syncs and polls go to the ring as they are; the fields of other kinds move.
 */
#ifndef IOLUA_CORE_RINGOP_H
#define IOLUA_CORE_RINGOP_H

#include "core/io.h"

/* The same request with its fields where ring_push puts them for io_uring. */
struct io_req ringop(const struct io_req *q);

#endif
