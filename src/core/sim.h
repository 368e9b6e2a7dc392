/*
 * sim - simulated devices in virtual time, behind the engine's interface.
 *
 * A world has one clock, which starts at 0, and the devices and buses that share it. An
 * operation waits for a free channel of its device in order of arrival; what a read brings goes
 * over the device's bus afterwards, what a write brings before, one operation at a time in order
 * of arrival. Same seed, same requests: the same times to the ns.
 *
 * Each worker has a port, which is its engine: a request's fd names the device (an index from
 * sim_world_device). A port alone in its world moves the clock in submit, to the completion
 * waited for. In a driven world submit returns at once and whoever drives (crew.c) lets the
 * time pass when no port can run. One thread uses a world.
 */
#ifndef IOLUA_CORE_SIM_H
#define IOLUA_CORE_SIM_H

#include "core/engine.h"
#include "core/simdevice.h"

#define SIM_DEVICES_MAX 4096u

struct sim_world;
struct sim;

/* 0 or -ENOMEM. */
int sim_world_open(struct sim_world **out, uint64_t seed, bool driven);
void sim_world_close(struct sim_world *w);

/* The index of d in w, which it joins if it is new there; or -errno. */
int sim_world_device(struct sim_world *w, struct sim_device *d);

/* Let the time pass to the next event, but not past `limit`. */
void sim_world_advance(struct sim_world *w, uint64_t limit);

uint64_t sim_world_now(const struct sim_world *w);

/* A port for `depth` requests in flight. w NULL: a world of its own with that seed. */
int sim_open(struct sim **out, struct sim_world *w, uint64_t seed, unsigned depth);

/* What the port's owner adds to every operation, ns: the way to devices that are far. */
void sim_set_distance(struct sim *s, uint64_t ns);

/* The index of d in the port's world, or -errno. */
int sim_device(struct sim *s, struct sim_device *d);

/* In a driven world: can whoever waits in this port go on? Until when does it wait otherwise? */
bool sim_runnable(const struct sim *s);
uint64_t sim_wake(const struct sim *s);

extern const struct engine sim_engine;

#endif
