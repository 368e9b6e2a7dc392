/*
 * stripe - where the bytes of a volume lie on its legs: the arithmetic, and nothing else.
 *
 * Striped volumes go round their legs chunk by chunk, as device-mapper's "striped" does;
 * concatenated ones fill one leg after the other (one leg: linear); every leg of a mirror holds
 * the whole. Positions and lengths are bytes; a chunk need not be a power of two.
 *
 * A request is split into parts, one leg request each. With `merge`, the pieces of a request
 * that lie on one leg are one part: they touch there, and are apart only in memory.
 *
 * Read only once it is made: threads share it.
 */
#ifndef IOLUA_CORE_STRIPE_H
#define IOLUA_CORE_STRIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#define STRIPE_LEGS_MAX   1024u
#define STRIPE_PIECES_MAX 1024u         /* of one part: what the kernel takes in one vector */
#define STRIPE_SECTOR     512u

enum stripe_kind {
    STRIPE_STRIPED,
    STRIPE_CONCAT,
    STRIPE_MIRROR,
};

struct stripe_leg {
    uint64_t offset;            /* first byte used on the leg */
    uint64_t bytes;             /* used from there on */
    uint64_t unused;            /* given, but no whole chunk, or past the smallest leg */
    uint64_t start;             /* concat: its first byte in the volume */
};

struct stripe {
    enum stripe_kind kind;
    unsigned legs;
    uint64_t chunk;             /* striped only */
    int chunk_shift;            /* chunk == 1 << shift, or -1 */
    uint64_t size;              /* of the volume */
    struct stripe_leg leg[];
};

/* A place on a leg: pos counts from the leg's own byte 0, its offset included. */
struct stripe_place {
    unsigned leg;
    uint64_t pos;
    uint64_t run;               /* bytes from here on that stay together on this leg */
};

/* One leg request: `bytes` from `pos`, in `pieces` entries of the vector from `first` on. */
struct stripe_part {
    unsigned leg;
    uint32_t bytes;
    uint64_t pos;
    unsigned first, pieces;
};

/*
 * Make the geometry of n (1 .. STRIPE_LEGS_MAX) legs, of which leg i may use given[i] bytes from
 * offset[i] on. The size is rounded down to whole rows of chunks (striped) or sectors.
 * 0; -EINVAL a chunk of no whole sector, or no leg; -ENOSPC a leg smaller than one chunk;
 * -EOVERFLOW; with a sentence in message. To be freed with free().
 */
int stripe_new(struct stripe **out, enum stripe_kind kind, uint64_t chunk, unsigned n,
               const uint64_t *offset, const uint64_t *given, char *message, size_t len);

/* Where byte pos (< size) of the volume is. On a mirror: on every leg; leg 0 is told. */
struct stripe_place stripe_at(const struct stripe *s, uint64_t pos);

/* The volume's byte that lies at pos of a leg. */
uint64_t stripe_back(const struct stripe *s, unsigned leg, uint64_t pos);

/* The most parts and pieces that a request of `bytes` has. */
unsigned stripe_parts_max(const struct stripe *s, uint32_t bytes, bool merge);
unsigned stripe_pieces_max(const struct stripe *s, uint32_t bytes);

/*
 * Split [pos, pos + bytes), whose memory is at mem, into parts and the vector of their pieces;
 * both have room for the most. Past the end of the volume nothing is mapped. A mirror gives one
 * part, the same for every leg. Returns the number of parts.
 */
unsigned stripe_split(const struct stripe *s, uint64_t pos, uint32_t bytes, void *mem, bool merge,
                      struct stripe_part *parts, struct iovec *vec);

#endif
