/*
 * ringmap - io_uring_setup and the mapping of its rings, in the form liburing works on.
 *
 * liburing 2.3 cannot set up a ring without the index array between submission ring and
 * entries (Linux 6.6), which is an indirection less for the kernel on every request: 3 ns.
 * Registering, probing and taking apart remain liburing's.
 */
#ifndef IOLUA_CORE_RINGMAP_H
#define IOLUA_CORE_RINGMAP_H

#include <liburing.h>

#define RINGMAP_NO_SQARRAY (1u << 16)   /* IORING_SETUP_NO_SQARRAY, not in the header yet */

/* Set up a ring of `entries` with the flags of p and map it. Entry i is at ring position i.
 * 0, or -errno: -EINVAL for flags this kernel does not know, -ENOSYS before Linux 5.11. */
int ringmap_open(struct io_uring *u, unsigned entries, struct io_uring_params *p);

#endif
