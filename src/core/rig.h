/*
 * rig - what one worker does its I/O with: an engine, its memory and what is registered.
 *
 * Opened by the worker's own thread, after it is pinned: memory is touched there first.
 */
#ifndef IOLUA_CORE_RIG_H
#define IOLUA_CORE_RIG_H

#include "core/buf.h"
#include "core/engine.h"
#include "core/file.h"

#include <stdbool.h>

enum rig_engine { RIG_AUTO, RIG_RING, RIG_THREADS, RIG_SYNC, RIG_MMAP, RIG_SIM };

#define RIG_TEXT 160

struct sim;
struct sim_device;
struct sim_world;
struct threads;
struct volume;

struct rig_spec {
    enum rig_engine engine;     /* RIG_AUTO: io_uring, else threads */
    struct sim_device *sim;     /* of RIG_SIM */
    struct sim_world *world;    /* of RIG_SIM: whom it shares the clock with; NULL: nobody */
    uint64_t sim_distance;      /* of RIG_SIM: ns that every operation takes more */
    struct file *file;          /* NULL for simulated targets, volumes and no-ops */
    struct volume *volume;      /* the target is this one, in place of a file */
    unsigned iodepth;
    uint32_t bs;
    bool data;                  /* operations move data: memory is needed */
    int node;                   /* NUMA node of the memory, -1: the worker's own */
    uint64_t seed;              /* of the memory's random contents */
    unsigned stream;
    bool sqpoll, iopoll;
    int sq_cpu;                 /* -1: any */
    bool registered;            /* register file and memory where the limits allow */
};

struct rig {
    const struct engine *engine;
    void *self;
    bool ring;                  /* the engine is io_uring: self is a struct ring */
    struct threads *pool;       /* of the threads engine, also under a volume; or NULL */
    struct sim *port;           /* of the simulation, also under a volume; or NULL */
    struct buf *memory;
    size_t stride;              /* from one slot's memory to the next */
    int sim;                    /* of a simulated device: what requests call it */
    bool fixed_file, fixed_memory;
    bool fixed_vectors;         /* of a volume: merged parts use the registered memory too */
    unsigned depth;             /* requests in flight at most: iodepth, or less by the engine */
    char note[RIG_TEXT];        /* why this engine, or what could not be registered; "" */
};

/* 0, or -errno with a sentence in message. */
int rig_open(struct rig *r, const struct rig_spec *spec, char *message, size_t len);

/* Cancels, drains, frees. -ETIME: requests were stuck; engine and memory are leaked. */
int rig_close(struct rig *r, uint64_t grace_ns);

static inline void *rig_memory(const struct rig *r, unsigned slot)
{
    return r->memory->mem + slot * r->stride;
}

#endif
