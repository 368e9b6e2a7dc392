/* The mapping of volumes: known places, and a plain model over a million requests. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "check.h"
#include "core/clock.h"
#include "core/rng.h"
#include "core/stripe.h"

#define SECTOR 512ull
#define REQUEST_MAX (1u << 20)

static char message[200];
static unsigned char memory[REQUEST_MAX];

static struct stripe *make(enum stripe_kind kind, unsigned legs, uint64_t chunk, uint64_t offset,
                           uint64_t bytes)
{
    uint64_t offsets[64], given[64];
    struct stripe *s = NULL;

    for (unsigned i = 0; i < legs; i++) {
        offsets[i] = offset;
        given[i] = bytes;
    }
    CHECK_INT(stripe_new(&s, kind, chunk, legs, offsets, given, message, sizeof message), 0);
    return s;
}

static void place(const struct stripe *s, uint64_t sector, unsigned leg, uint64_t on_leg)
{
    struct stripe_place p = stripe_at(s, sector * SECTOR);

    CHECK_INT(p.leg + 1, leg);
    CHECK_INT(p.pos, on_leg * SECTOR);
    CHECK_INT(stripe_back(s, p.leg, p.pos), sector * SECTOR);
}

static void known_places_on_three_legs(void)
{
    struct stripe *s = make(STRIPE_STRIPED, 3, 32 * SECTOR, 0, 1 << 20);

    place(s, 0, 1, 0);
    place(s, 31, 1, 31);
    place(s, 32, 2, 0);
    place(s, 95, 3, 31);
    place(s, 96, 1, 32);
    place(s, 100, 1, 36);
    place(s, 1000, 2, 328);
    free(s);
}

static void known_places_on_five_legs_with_an_offset(void)
{
    struct stripe *s = make(STRIPE_STRIPED, 5, 128 * SECTOR, 2048 * SECTOR, 1 << 24);

    place(s, 0, 1, 2048);
    place(s, 127, 1, 2175);
    place(s, 128, 2, 2048);
    place(s, 640, 1, 2176);
    place(s, 12345, 2, 4537);
    free(s);
}

/* The sizes of the issue: 2 999 808 sectors, 63 of the smallest leg unused. */
static void sizes_are_whole_rows(void)
{
    uint64_t offset[3] = { 0 };
    uint64_t given[3] = { 1000003 * SECTOR, 1000100 * SECTOR, 999999 * SECTOR };
    struct stripe *s;

    CHECK_INT(stripe_new(&s, STRIPE_STRIPED, 256 * SECTOR, 3, offset, given, message,
                         sizeof message), 0);
    CHECK_INT(s->size, 2999808 * SECTOR);
    CHECK_INT(s->leg[2].unused, 63 * SECTOR);
    CHECK_INT(s->leg[0].unused, 67 * SECTOR);
    free(s);
}

static void what_cannot_be_is_refused(void)
{
    uint64_t offset[2] = { 0 }, given[2] = { 8192, 100 }, huge[2] = { 1ull << 63, 1ull << 63 };
    struct stripe *s = NULL;

    CHECK_INT(stripe_new(&s, STRIPE_STRIPED, 700, 2, offset, given, message, sizeof message),
              -EINVAL);
    CHECK_STR(message, "chunk = 700 is no multiple of a sector, 512 bytes; the nearest is 512");
    CHECK_INT(stripe_new(&s, STRIPE_STRIPED, 0, 2, offset, given, message, sizeof message),
              -EINVAL);
    CHECK_INT(stripe_new(&s, STRIPE_STRIPED, 4096, 2, offset, given, message, sizeof message),
              -ENOSPC);
    CHECK_STR(message, "leg 2 has 100 bytes, less than one chunk of 4096");
    CHECK_INT(stripe_new(&s, STRIPE_CONCAT, 0, 2, offset, given, message, sizeof message),
              -ENOSPC);
    CHECK_INT(stripe_new(&s, STRIPE_STRIPED, 4096, 0, offset, given, message, sizeof message),
              -EINVAL);
    CHECK_INT(stripe_new(&s, STRIPE_CONCAT, 0, 2, offset, huge, message, sizeof message),
              -EOVERFLOW);
}

/* 64 KiB over two disks of 16 KiB chunks: four pieces, the first and third on disk 1. */
static void a_transfer_of_two_rows(void)
{
    struct stripe *s = make(STRIPE_STRIPED, 2, 16384, 0, 1 << 20);
    struct stripe_part parts[8];
    struct iovec vec[8];

    CHECK_INT(stripe_split(s, 0, 65536, memory, false, parts, vec), 4);
    for (unsigned i = 0; i < 4; i++) {
        CHECK_INT(parts[i].leg, i % 2);
        CHECK_INT(parts[i].pos, i / 2 * 16384);
        CHECK_INT(parts[i].bytes, 16384);
        CHECK((unsigned char *)vec[parts[i].first].iov_base == memory + i * 16384);
    }
    CHECK_INT(stripe_split(s, 0, 65536, memory, true, parts, vec), 2);
    CHECK_INT(parts[0].bytes, 32768);
    CHECK_INT(parts[0].pieces, 2);
    CHECK_INT(parts[1].pos, 0);
    CHECK((unsigned char *)vec[parts[0].first + 1].iov_base == memory + 32768);
    CHECK_INT(stripe_split(s, 8192, 65536, memory, false, parts, vec), 5);
    CHECK_INT(stripe_split(s, 8192, 65536, memory, true, parts, vec), 2);
    CHECK_INT(parts[0].bytes + parts[1].bytes, 65536);
    free(s);
}

/* Where byte pos lies, in the plainest words. */
static struct stripe_place model(const struct stripe *s, uint64_t pos)
{
    struct stripe_place p = { 0 };

    if (s->kind == STRIPE_STRIPED) {
        uint64_t chunk = pos / s->chunk;

        p.leg = (unsigned)(chunk % s->legs);
        p.pos = s->leg[p.leg].offset + chunk / s->legs * s->chunk + pos % s->chunk;
        return p;
    }
    while (pos >= s->leg[p.leg].bytes)
        pos -= s->leg[p.leg++].bytes;
    p.pos = s->leg[p.leg].offset + pos;
    return p;
}

/* Every fragment of a sector of the request: once in the parts, and where the model has it. */
static bool agrees(const struct stripe *s, uint64_t pos, uint32_t bytes,
                   const struct stripe_part *parts, unsigned n, const struct iovec *vec,
                   bool merge)
{
    static unsigned char seen[REQUEST_MAX / 512 + 2];
    static bool leg_seen[64];
    uint64_t total = 0;

    memset(seen, 0, bytes / 512 + 2);
    memset(leg_seen, 0, sizeof leg_seen);
    for (unsigned i = 0; i < n; i++) {
        uint64_t on_leg = parts[i].pos;

        if (merge && leg_seen[parts[i].leg])
            return false;               /* two requests where one would do */
        leg_seen[parts[i].leg] = true;
        for (unsigned k = 0; k < parts[i].pieces; k++) {
            const struct iovec *v = &vec[parts[i].first + k];
            uint64_t at = (uint64_t)((unsigned char *)v->iov_base - memory), end = at + v->iov_len;

            while (at < end) {
                struct stripe_place m = model(s, pos + at);
                uint64_t step = SECTOR - (pos + at) % SECTOR;

                step = step < end - at ? step : end - at;
                if (m.leg != parts[i].leg || m.pos != on_leg ||
                    seen[(pos + at) / SECTOR - pos / SECTOR]++)
                    return false;
                at += step;
                on_leg += step;
                total += step;
            }
        }
        if (on_leg != parts[i].pos + parts[i].bytes)
            return false;
    }
    return total == bytes;
}

static struct stripe *random_volume(struct rng *r)
{
    enum stripe_kind kind = rng_below(r, 3) ? STRIPE_STRIPED : STRIPE_CONCAT;
    unsigned legs = 1 + (unsigned)rng_below(r, 12);
    uint64_t offset[12], given[12];
    uint64_t chunk = rng_below(r, 2) ? SECTOR << rng_below(r, 8)
                                     : SECTOR * (1 + rng_below(r, 200));
    struct stripe *s = NULL;

    for (unsigned i = 0; i < legs; i++) {
        offset[i] = SECTOR * rng_below(r, 5000);
        given[i] = SECTOR * (200 + rng_below(r, 2000)) + rng_below(r, 512);
    }
    CHECK_INT(stripe_new(&s, kind, chunk, legs, offset, given, message, sizeof message), 0);
    return s;
}

/* Longer than a row, one sector, unaligned, to the last byte: a quarter each. */
static void random_request(struct rng *r, const struct stripe *s, uint64_t *pos, uint32_t *bytes)
{
    static const unsigned longest[] = { 20, 1, 40, 300 };
    unsigned kind = (unsigned)rng_below(r, 4);
    uint64_t most;

    *pos = SECTOR * rng_below(r, s->size / SECTOR);
    *bytes = (uint32_t)(SECTOR * (1 + rng_below(r, longest[kind])));
    if (kind == 2) {
        *pos += rng_below(r, SECTOR);
        *bytes += (uint32_t)rng_below(r, SECTOR);
    }
    if (kind == 0 && s->size > *bytes)
        *pos = s->size - *bytes;
    most = s->size - *pos;
    *bytes = *bytes < most ? *bytes : (uint32_t)most;
}

static void a_million_requests_lie_where_the_model_has_them(void)
{
    static struct stripe_part parts[4096];
    static struct iovec vec[4096];
    unsigned wrong = 0;
    struct rng r;

    rng_seed(&r, 7, 0);
    for (unsigned volume = 0; volume < 1000; volume++) {
        struct stripe *s = random_volume(&r);

        for (unsigned i = 0; i < 1000; i++) {
            bool merge = rng_below(&r, 2);
            uint32_t bytes;
            uint64_t pos;
            unsigned n;

            random_request(&r, s, &pos, &bytes);
            n = stripe_split(s, pos, bytes, memory, merge, parts, vec);
            wrong += n > stripe_parts_max(s, bytes, merge);
            wrong += !agrees(s, pos, bytes, parts, n, vec, merge);
            wrong += stripe_back(s, parts[0].leg, parts[0].pos) != pos;
        }
        free(s);
    }
    CHECK_INT(wrong, 0);
}

/* 2000 sectors a leg by chunks of one sector: more pieces than one vector takes. */
static void parts_beyond_the_kernels_vector_are_cut(void)
{
    static struct stripe_part parts[8];
    static struct iovec vec[2048];
    struct stripe *s = make(STRIPE_STRIPED, 1, SECTOR, 0, 1 << 20);
    unsigned n = stripe_split(s, 0, 2000 * 512, memory, true, parts, vec);

    CHECK_INT(n, 2);
    CHECK(n <= stripe_parts_max(s, 2000 * 512, true));
    CHECK_INT(parts[0].pieces, 1024);
    CHECK_INT(parts[1].pos, 1024 * 512);
    CHECK_INT(parts[1].bytes, 976 * 512);
    free(s);
}

static void nothing_is_mapped_past_the_end(void)
{
    struct stripe *s = make(STRIPE_MIRROR, 3, 0, 4096, 1 << 16);
    struct stripe_part part;
    struct iovec vec;

    CHECK_INT(s->size, 1 << 16);
    CHECK_INT(stripe_split(s, (1 << 16) - 512, 4096, memory, true, &part, &vec), 1);
    CHECK_INT(part.bytes, 512);
    CHECK_INT(part.pos, 4096 + (1 << 16) - 512);
    CHECK_INT(stripe_split(s, 1 << 16, 4096, memory, true, &part, &vec), 0);
    free(s);
}

/* The bound of the issue is 50 ns a piece; 1 us allows for a busy machine and for sanitizers. */
static void a_piece_costs_little(void)
{
    struct stripe *s = make(STRIPE_STRIPED, 4, 16384, 0, 1 << 30);
    static struct stripe_part parts[16];
    static struct iovec vec[16];
    uint64_t from, best = UINT64_MAX;

    for (unsigned round = 0; round < 20; round++) {
        from = clock_now();
        for (unsigned i = 0; i < 1000; i++)
            stripe_split(s, i * 65536ull, 65536, memory, true, parts, vec);
        if (clock_now() - from < best)
            best = clock_now() - from;
    }
    CHECK(best / 4000 < 1000);
    free(s);
}

int main(void)
{
    CASE(known_places_on_three_legs);
    CASE(known_places_on_five_legs_with_an_offset);
    CASE(sizes_are_whole_rows);
    CASE(what_cannot_be_is_refused);
    CASE(a_transfer_of_two_rows);
    CASE(a_million_requests_lie_where_the_model_has_them);
    CASE(parts_beyond_the_kernels_vector_are_cut);
    CASE(nothing_is_mapped_past_the_end);
    CASE(a_piece_costs_little);
    return DONE();
}
