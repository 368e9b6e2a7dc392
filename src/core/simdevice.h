/*
 * simdevice - what a simulated device and bus are like, and how long an operation takes there.
 *
 * A description never changes once made and is counted: jobs share it, and each job begins with
 * a device in its first state. The state belongs to one world (core/sim.h).
 *
 * An operation's time on a channel is service + seek + bytes / bandwidth: seek when it does not
 * begin where the channel's last one ended. A hit in the cache takes only the cache's service. A
 * stalled operation takes the stall's time instead of all that. The shortest time is 1 ns.
 */
#ifndef IOLUA_CORE_SIMDEVICE_H
#define IOLUA_CORE_SIMDEVICE_H

#include "core/io.h"
#include "core/rng.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define SIM_CHANNELS_MAX 4096u
#define SIM_LIST_MAX     64u            /* phases, stalls, errors, corruptions: each */

enum sim_kind { SIM_FIXED, SIM_EXPONENTIAL, SIM_NORMAL, SIM_UNIFORM };

/* A duration: fixed or exponential of mean a; normal of mean a and deviation b, never below 0;
 * uniform from a to b. ns. */
struct sim_time {
    enum sim_kind kind;
    uint64_t a, b;
};

struct sim_phase {              /* from `at` on, operations that begin have this service */
    uint64_t at;
    struct sim_time service;
};

struct sim_stall {              /* one operation that takes `time` */
    uint64_t operation;         /* its number from 1, or 0: the first to begin at `at` or later */
    uint64_t at;
    uint64_t time;
};

struct sim_error {              /* operations that touch [offset, offset + bytes) fail */
    uint64_t offset, bytes;
    int err;                    /* -errno */
    bool reads, writes;
    uint64_t count;             /* that many times, 0: always */
};

enum sim_damage { SIM_FLIP, SIM_MISPLACED, SIM_TORN, SIM_LOST };

struct sim_corruption {         /* a write of a device with data that does not do what it says */
    uint64_t write;             /* its number from 1, over all jobs on the device */
    enum sim_damage kind;
    uint64_t byte;              /* of the write: flipped; the first that is not written; or how
                                 * far from its place it goes */
};

struct sim_device_spec {
    uint64_t size;              /* bytes; a request past it ends short or with 0, as a file's */
    unsigned channels;          /* operations served at once, 1 .. SIM_CHANNELS_MAX */
    struct sim_time service;
    uint64_t bandwidth;         /* bytes/s of a channel, 0: no limit */
    uint64_t seek_min, seek_max;        /* ns to the next place and across the whole device */
    uint64_t cache_lines, cache_line;   /* direct-mapped lines of that many bytes; 0: no cache */
    struct sim_time cache_service;
    bool data;                  /* it keeps what is written, from job to job */
    unsigned phases, stalls, errors, corruptions;
    struct sim_phase phase[SIM_LIST_MAX];       /* by rising `at` */
    struct sim_stall stall[SIM_LIST_MAX];
    struct sim_error error[SIM_LIST_MAX];
    struct sim_corruption corruption[SIM_LIST_MAX];
};

struct sim_bus {
    atomic_uint refs;
    uint64_t bandwidth;         /* bytes/s */
    uint64_t overhead;          /* ns an operation */
};

struct sim_device {
    atomic_uint refs;
    struct sim_bus *bus;        /* NULL: none */
    struct sim_device_spec spec;
    unsigned char *data;        /* NULL: it has none; one job at a time */
    uint64_t writes;            /* so far */
};

/* 0, or -EINVAL / -ENOMEM. A device keeps a reference to its bus. */
int sim_bus_new(struct sim_bus **out, uint64_t bandwidth, uint64_t overhead);
int sim_device_new(struct sim_device **out, const struct sim_device_spec *spec,
                   struct sim_bus *bus);

void sim_bus_unref(struct sim_bus *b);
struct sim_device *sim_device_ref(struct sim_device *d);
void sim_device_unref(struct sim_device *d);

/* A device in use: its state in one world. */
struct sim_state {
    struct sim_device *device;
    struct rng rng;
    uint64_t begun;             /* operations, for stalls */
    uint64_t *head;             /* of each channel: where its last operation ended */
    uint64_t *line;             /* of each cache line: what is in it, + 1 */
    bool stalled[SIM_LIST_MAX];
    uint64_t failed[SIM_LIST_MAX];
};

int sim_state_open(struct sim_state *s, struct sim_device *d, uint64_t seed, unsigned stream);
void sim_state_close(struct sim_state *s);

/* q begins on this channel now: ns it takes there, and what it gives. */
uint64_t sim_state_begin(struct sim_state *s, int *res, const struct io_req *q, unsigned channel,
                         uint64_t now);

#endif
