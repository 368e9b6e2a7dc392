/*
 * ledger - what a job has written where, and what checking it has found.
 *
 * A ledger is of one region, in blocks of `grain` bytes: for each the number of its last write
 * and who uses it now. Operations that would overlap a write in flight wait for it, so what a
 * block must hold is always known. Without numbers (`known` false) only what blocks say of
 * themselves is checked. Counted; one worker at a time uses it.
 */
#ifndef IOLUA_CORE_LEDGER_H
#define IOLUA_CORE_LEDGER_H

#include "core/load.h"
#include "core/stamp.h"

#include <stdbool.h>

#define LEDGER_DAMAGE 64u       /* stretches that are kept; more are counted */

struct ledger_spec {
    uint64_t seed;
    uint32_t run;
    uint64_t offset, size;      /* the region, bytes */
    uint32_t grain;             /* every operation begins and ends at a multiple of it */
    bool known;
};

struct ledger {
    unsigned refs;              /* atomic */
    struct ledger_spec spec;
    uint64_t blocks;
    uint32_t *number;           /* of each block's last write, 0: none; NULL without numbers */
    uint16_t *used;             /* reads in flight, or LEDGER_WRITER */
    uint32_t writes;            /* numbers given */
    uint32_t before;            /* of them before the last ledger_begin */
    uint64_t checked, unwritten, unsure;        /* bytes */
    uint64_t damaged;           /* stretches */
    uint64_t waits;             /* operations that waited for an overlapping one */
    struct stamp_damage damage[LEDGER_DAMAGE];
};

/* 0; -EINVAL for a grain that is no multiple of a sector, a region that does not begin or end
 * with a block; -ENOMEM. */
int ledger_new(struct ledger **out, const struct ledger_spec *spec);
struct ledger *ledger_ref(struct ledger *l);
void ledger_unref(struct ledger *l);    /* NULL allowed */

/* Another job begins with what is known: findings are its own, from nothing on. */
void ledger_begin(struct ledger *l);

/* The first written block from `from` on, or the number of blocks. */
uint64_t ledger_written(const struct ledger *l, uint64_t from);

/* May [pos, pos + len) be read or written now? If so it is taken until ledger_done. */
bool ledger_take(struct ledger *l, uint64_t pos, uint32_t len, bool write);

/* Are there no numbers left for writes? */
bool ledger_full(const struct ledger *l);

/* Stamp memory for a write that has been taken: gives it the next number. */
void ledger_stamp(struct ledger *l, void *mem, uint64_t pos, uint32_t len);

/* An operation has ended with res (bytes, or -errno). What a failed or short write has left is
 * not known. Of a read, the data is checked. */
void ledger_done(struct ledger *l, const void *mem, uint64_t pos, uint32_t len, bool write,
                 int res);

/* As if the first n operations of a load had been done: numbers without I/O. */
int ledger_replay(struct ledger *l, const struct load_spec *load, uint64_t n);

#endif
