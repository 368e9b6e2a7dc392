/*
 * simdata - what simulated devices with data hold: bytes that stay, and writes gone wrong.
 */
#ifndef IOLUA_CORE_SIMDATA_H
#define IOLUA_CORE_SIMDATA_H

#include "core/simdevice.h"

/* Zeros, which take memory only where they are written. NULL: no memory. */
unsigned char *simdata_open(uint64_t size);
void simdata_close(unsigned char *data, uint64_t size);

/* Do the transfer of q, of which `bytes` lie inside the device, as its corruptions have it. */
void simdata_move(struct sim_device *d, const struct io_req *q, size_t bytes, bool write);

#endif
