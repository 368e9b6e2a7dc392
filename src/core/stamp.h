/*
 * stamp - data that says what it is: where it belongs, which write put it there, for which seed.
 *
 * Memory is stamped by sectors of 512 bytes. A sector holds its position, the seed, the number
 * of the write (counted from 1) and of the run, the extent of the write, incompressible contents
 * that follow from those, and a checksum. So it can be checked without knowing anything but the
 * seed, and what is wrong can be told apart; with the number of the last write known, also what
 * is old. Contents can be made again, so the first wrong byte has a name.
 *
 * Words are stored as this machine does: data is checked where it was written.
 */
#ifndef IOLUA_CORE_STAMP_H
#define IOLUA_CORE_STAMP_H

#include <stddef.h>
#include <stdint.h>

#define STAMP_SECTOR 512u

enum stamp_kind {
    STAMP_GOOD,
    STAMP_UNWRITTEN,            /* no stamp of this seed, and none is known to be due: no damage */
    STAMP_FLIP,                 /* up to 64 bytes differ; expected and found: the first, a byte */
    STAMP_MISPLACED,            /* right for another position; expected, found: positions */
    STAMP_TORN,                 /* part of a write is there, part is not; numbers of writes */
    STAMP_STALE,                /* an older write's data; expected, found: numbers of writes */
    STAMP_LOST,                 /* a write is due, and no stamp is there; its number, and 0 */
};

/* What one write puts there. */
struct stamp {
    uint64_t seed;
    uint64_t pos;               /* of the write's first byte, a multiple of STAMP_SECTOR */
    uint32_t len;               /* of the write, the same */
    uint32_t number;            /* of the write, from 1 on */
    uint32_t run;               /* tells runs with one seed apart */
};

struct stamp_damage {
    enum stamp_kind kind;
    uint64_t offset;            /* absolute, of the first byte that is wrong */
    uint64_t bytes;             /* up to the last sector of the same kind */
    uint64_t expected, found;   /* see enum stamp_kind */
};

/* Stamp s->len bytes of mem. */
void stamp_fill(void *mem, const struct stamp *s);

/* Asks for the number of the write that is last known at pos: 0 is not known. */
struct stamp_known {
    uint64_t seed;
    uint32_t run;               /* the run the numbers are of; 0: of any */
    uint64_t base;              /* position of number[0] */
    uint32_t grain;             /* bytes a number stands for; 0: nothing is known */
    const uint32_t *number;
};

/*
 * Check len bytes (whole sectors) that were read at pos. Damage goes into list, at most `most`
 * entries, one for each stretch of sectors of one kind. Returns the number of stretches, which
 * may be more; *unwritten is raised by the bytes that hold no stamp and need not.
 */
unsigned stamp_check(struct stamp_damage *list, unsigned most, uint64_t *unwritten,
                     const void *mem, uint64_t pos, size_t len, const struct stamp_known *k);

/* "flip" "misplaced" ... */
const char *stamp_name(enum stamp_kind kind);

#endif
