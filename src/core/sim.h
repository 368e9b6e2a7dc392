/*
 * sim - a simulated device in virtual time, behind the engine's interface.
 *
 * `channels` requests are served at once, each for service_ns; the others wait in order of
 * arrival. The clock starts at 0 and moves only in submit, to the completion waited for.
 */
#ifndef IOLUA_CORE_SIM_H
#define IOLUA_CORE_SIM_H

#include "core/engine.h"

struct sim_spec {
    unsigned channels;          /* 1 .. 4096 */
    uint64_t service_ns;
    uint64_t size;              /* bytes; a request past it ends with 0 or short, as a file's */
};

struct sim;

int sim_open(struct sim **out, const struct sim_spec *spec, unsigned depth);

extern const struct engine sim_engine;

#endif
