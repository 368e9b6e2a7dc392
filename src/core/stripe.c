#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/stripe.h"

__attribute__((format(printf, 4, 5)))
static int refuse(int err, char *message, size_t len, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(message, len, format, args);
    va_end(args);
    return err;
}

static unsigned smallest(const uint64_t *given, unsigned n)
{
    unsigned least = 0;

    for (unsigned i = 1; i < n; i++)
        if (given[i] < given[least])
            least = i;
    return least;
}

static int sum_sizes(struct stripe *s, const uint64_t *given, char *message, size_t len)
{
    for (unsigned i = 0; i < s->legs; i++) {
        s->leg[i].bytes = given[i] / STRIPE_SECTOR * STRIPE_SECTOR;
        s->leg[i].start = s->size;
        if (s->leg[i].bytes == 0)
            return refuse(-ENOSPC, message, len, "leg %u has %llu bytes, less than one sector",
                          i + 1, (unsigned long long)given[i]);
        if (__builtin_add_overflow(s->size, s->leg[i].bytes, &s->size))
            return refuse(-EOVERFLOW, message, len, "the legs are more than 2^64 bytes");
    }
    return 0;
}

/* All legs give as much as the smallest, in whole chunks (a mirror: sectors). */
static int equal_sizes(struct stripe *s, const uint64_t *given, char *message, size_t len)
{
    uint64_t unit = s->kind == STRIPE_STRIPED ? s->chunk : STRIPE_SECTOR;
    unsigned least = smallest(given, s->legs);
    uint64_t each = given[least] / unit * unit;

    if (each == 0)
        return refuse(-ENOSPC, message, len, "leg %u has %llu bytes, less than one %s of %llu",
                      least + 1, (unsigned long long)given[least],
                      s->kind == STRIPE_STRIPED ? "chunk" : "sector", (unsigned long long)unit);
    for (unsigned i = 0; i < s->legs; i++)
        s->leg[i].bytes = each;
    s->size = each;
    if (s->kind == STRIPE_STRIPED && __builtin_mul_overflow(each, (uint64_t)s->legs, &s->size))
        return refuse(-EOVERFLOW, message, len, "the legs are more than 2^64 bytes");
    return 0;
}

static int set_chunk(struct stripe *s, uint64_t chunk, char *message, size_t len)
{
    if (s->kind != STRIPE_STRIPED)
        return 0;
    if (chunk == 0 || chunk % STRIPE_SECTOR)
        return refuse(-EINVAL, message, len, "chunk = %llu is no multiple of a sector, 512 "
                      "bytes; the nearest is %llu", (unsigned long long)chunk,
                      (unsigned long long)(chunk < STRIPE_SECTOR ? STRIPE_SECTOR
                          : (chunk + STRIPE_SECTOR / 2) / STRIPE_SECTOR * STRIPE_SECTOR));
    s->chunk = chunk;
    s->chunk_shift = chunk & (chunk - 1) ? -1 : __builtin_ctzll(chunk);
    return 0;
}

int stripe_new(struct stripe **out, enum stripe_kind kind, uint64_t chunk, unsigned n,
               const uint64_t *offset, const uint64_t *given, char *message, size_t len)
{
    struct stripe *s;
    int err;

    if (n < 1 || n > STRIPE_LEGS_MAX)
        return refuse(-EINVAL, message, len, "a volume has 1 to %u legs, not %u",
                      STRIPE_LEGS_MAX, n);
    s = calloc(1, sizeof *s + n * sizeof s->leg[0]);
    if (!s)
        return refuse(-ENOMEM, message, len, "memory of the volume");
    s->kind = kind;
    s->legs = n;
    err = set_chunk(s, chunk, message, len);
    if (err == 0)
        err = kind == STRIPE_CONCAT ? sum_sizes(s, given, message, len)
                                    : equal_sizes(s, given, message, len);
    if (err < 0) {
        free(s);
        return err;
    }
    for (unsigned i = 0; i < n; i++) {
        s->leg[i].offset = offset[i];
        s->leg[i].unused = given[i] - s->leg[i].bytes;
    }
    *out = s;
    return 0;
}

/* The number of the chunk that holds pos. */
static inline uint64_t chunk_of(const struct stripe *s, uint64_t pos)
{
    return s->chunk_shift >= 0 ? pos >> s->chunk_shift : pos / s->chunk;
}

static struct stripe_place striped_at(const struct stripe *s, uint64_t pos)
{
    uint64_t chunk = chunk_of(s, pos), within = pos - chunk * s->chunk;
    uint64_t row = chunk / s->legs;
    unsigned leg = (unsigned)(chunk - row * s->legs);

    return (struct stripe_place){ leg, s->leg[leg].offset + row * s->chunk + within,
                                  s->chunk - within };
}

/* The last leg that starts at pos or before it. */
static struct stripe_place concat_at(const struct stripe *s, uint64_t pos)
{
    unsigned low = 0, high = s->legs;

    while (high - low > 1) {
        unsigned middle = (low + high) / 2;

        if (s->leg[middle].start <= pos)
            low = middle;
        else
            high = middle;
    }
    pos -= s->leg[low].start;
    return (struct stripe_place){ low, s->leg[low].offset + pos, s->leg[low].bytes - pos };
}

struct stripe_place stripe_at(const struct stripe *s, uint64_t pos)
{
    if (s->kind == STRIPE_STRIPED)
        return striped_at(s, pos);
    if (s->kind == STRIPE_CONCAT)
        return concat_at(s, pos);
    return (struct stripe_place){ 0, s->leg[0].offset + pos, s->size - pos };
}

uint64_t stripe_back(const struct stripe *s, unsigned leg, uint64_t pos)
{
    uint64_t within = pos - s->leg[leg].offset, row;

    if (s->kind != STRIPE_STRIPED)
        return s->leg[leg].start + within;
    row = chunk_of(s, within);
    return (row * s->legs + leg) * s->chunk + (within - row * s->chunk);
}

unsigned stripe_pieces_max(const struct stripe *s, uint32_t bytes)
{
    uint64_t most;

    if (s->kind == STRIPE_MIRROR)
        return 1;
    if (s->kind == STRIPE_CONCAT)
        return bytes / STRIPE_SECTOR + 2 < s->legs ? bytes / STRIPE_SECTOR + 2 : s->legs;
    most = (bytes + s->chunk - 1) / s->chunk + 1;
    return (unsigned)most;
}

unsigned stripe_parts_max(const struct stripe *s, uint32_t bytes, bool merge)
{
    unsigned pieces = stripe_pieces_max(s, bytes), rows;

    if (s->kind == STRIPE_MIRROR)
        return s->legs;
    if (!merge || pieces <= s->legs)
        return pieces;
    rows = (pieces + s->legs - 1) / s->legs;
    return s->legs * ((rows + STRIPE_PIECES_MAX - 1) / STRIPE_PIECES_MAX);
}

/* What goes round: pieces in the order of the volume, `first` long at the start. */
struct round {
    uintptr_t mem;              /* may be 0: simulated legs move no data */
    uint32_t bytes, first;
    unsigned pieces;
    uint64_t chunk;
};

static struct iovec piece(const struct round *r, unsigned i)
{
    uint64_t at = i == 0 ? 0 : r->first + (i - 1) * r->chunk;
    uint64_t len = i == 0 ? r->first : r->chunk;

    return (struct iovec){ (void *)(r->mem + at), len < r->bytes - at ? len : r->bytes - at };
}

/* The part of pieces from, from + step, ... of which at most STRIPE_PIECES_MAX. */
static struct stripe_part gather(const struct round *r, unsigned from, unsigned step,
                                 struct iovec *vec)
{
    struct stripe_part p = { 0 };

    for (unsigned i = from; i < r->pieces && p.pieces < STRIPE_PIECES_MAX; i += step) {
        vec[p.pieces] = piece(r, i);
        p.bytes += (uint32_t)vec[p.pieces].iov_len;
        p.pieces++;
    }
    return p;
}

static unsigned split_striped(const struct stripe *s, uint64_t pos, const struct round *r,
                              bool merge, struct stripe_part *parts, struct iovec *vec)
{
    struct stripe_place at = striped_at(s, pos);
    unsigned leg = at.leg, used = 0, n = 0, heads = r->pieces;
    unsigned step = merge ? s->legs : r->pieces;
    uint64_t row = at.pos - s->leg[leg].offset - (s->chunk - at.run);   /* start of its chunk */

    if (merge && heads > s->legs)
        heads = s->legs;
    for (unsigned i = 0; i < heads; i++) {
        uint64_t on_leg = s->leg[leg].offset + row + (i == 0 ? s->chunk - at.run : 0);

        for (unsigned from = i; from < r->pieces; from += step * STRIPE_PIECES_MAX) {
            parts[n] = gather(r, from, step, vec + used);
            parts[n].leg = leg;
            parts[n].pos = on_leg;
            parts[n].first = used;
            on_leg += parts[n].bytes;
            used += parts[n++].pieces;
            if (!merge)
                break;
        }
        if (++leg == s->legs) {
            leg = 0;
            row += s->chunk;
        }
    }
    return n;
}

static unsigned split_concat(const struct stripe *s, uint64_t pos, uint32_t bytes,
                             uintptr_t mem, struct stripe_part *parts, struct iovec *vec)
{
    struct stripe_place at = concat_at(s, pos);
    unsigned n = 0;

    for (; bytes > 0; n++) {
        uint32_t len = at.run < bytes ? (uint32_t)at.run : bytes;

        vec[n] = (struct iovec){ (void *)mem, len };
        parts[n] = (struct stripe_part){ at.leg, len, at.pos, n, 1 };
        mem += len;
        bytes -= len;
        if (bytes > 0)
            at = (struct stripe_place){ at.leg + 1, s->leg[at.leg + 1].offset,
                                        s->leg[at.leg + 1].bytes };
    }
    return n;
}

unsigned stripe_split(const struct stripe *s, uint64_t pos, uint32_t bytes, void *mem, bool merge,
                      struct stripe_part *parts, struct iovec *vec)
{
    struct round r = { (uintptr_t)mem, bytes, 0, 1, s->chunk };
    uint64_t within;

    if (pos >= s->size || bytes == 0)
        return 0;
    if (bytes > s->size - pos)
        r.bytes = bytes = (uint32_t)(s->size - pos);
    if (s->kind == STRIPE_CONCAT)
        return split_concat(s, pos, bytes, (uintptr_t)mem, parts, vec);
    if (s->kind == STRIPE_MIRROR) {
        vec[0] = (struct iovec){ mem, bytes };
        parts[0] = (struct stripe_part){ 0, bytes, s->leg[0].offset + pos, 0, 1 };
        return 1;
    }
    within = pos - chunk_of(s, pos) * s->chunk;
    r.first = s->chunk - within < bytes ? (uint32_t)(s->chunk - within) : bytes;
    r.pieces = 1 + (unsigned)((bytes - r.first + s->chunk - 1) / s->chunk);
    return split_striped(s, pos, &r, merge, parts, vec);
}
