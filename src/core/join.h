/*
 * join - from the block layer's events to what each request went through.
 *
 * Fed with events in the order of their times, it finds for each bio when it was queued,
 * inserted into a scheduler, issued to the driver and completed, and on which CPUs. These are
 * the figures of blktrace's btt: Q2Q, Q2I, I2D, Q2D, D2C, Q2C. A request may carry several bios
 * (merges) and a bio may need several requests (splits): q2q, q2i, q2d and q2c count bios
 * (pieces of them in q2i and q2d), i2d and d2c count requests. A bio is complete with its last
 * piece. Devices without requests (device-mapper, zram) have q2q and q2c only.
 *
 * Bios at the same place at the same time are told apart by direction and size; beyond that
 * the first that came is taken for the first that goes.
 *
 * No system calls, not thread-safe.
 */
#ifndef IOLUA_CORE_JOIN_H
#define IOLUA_CORE_JOIN_H

#include <stdint.h>

#include "core/hist.h"

enum join_kind {
    JOIN_QUEUE,                 /* a bio entered the block layer */
    JOIN_SPLIT,                 /* of the bio at sector, the part from other on goes on alone */
    JOIN_BACKMERGE,             /* a bio joined a request that waits */
    JOIN_FRONTMERGE,
    JOIN_INSERT,                /* a request entered the scheduler */
    JOIN_ISSUE,                 /* a request went to the driver */
    JOIN_COMPLETE,              /* a request, or its first part, is done */
    JOIN_BIO_COMPLETE,          /* a bio of a device without requests is done */
    JOIN_LOST,                  /* sectors events were lost before this time */
    JOIN_KINDS
};

struct join_event {
    uint64_t ns;
    uint64_t sector, other;
    uint32_t sectors;
    uint32_t dev;               /* the kernel's number: major << 20 | minor */
    uint32_t cpu;
    uint8_t kind;               /* enum join_kind */
    char op;                    /* 'R' 'W' 'D' or another letter of the operation */
};

struct join_result {
    struct hist q2q, q2i, i2d, q2d, d2c, q2c;
    uint64_t events[JOIN_KINDS];        /* seen; [JOIN_LOST]: lost */
    uint64_t unmatched;         /* issues and completions whose beginning was not seen */
    uint64_t forgotten;         /* bios and requests given up because events were lost */
    uint64_t in_flight;         /* bios not complete yet */
    uint64_t flushes;           /* requests without data: in no time */
    unsigned cpus;
    const uint64_t *pairs;      /* [queue cpu * cpus + completion cpu]: bios */
};

struct join;

/* Events of CPUs 0 .. cpus - 1. -ENOMEM. */
int join_open(struct join **out, unsigned cpus);

/* 0, or -ENOMEM: the event is then left out and its bio will be unmatched. */
int join_feed(struct join *j, const struct join_event *e);

const struct join_result *join_result(const struct join *j);

void join_close(struct join *j);        /* NULL allowed */

#endif
