#include <stdbool.h>
#include <string.h>

#include "core/fill.h"
#include "core/stamp.h"

#define WORDS    (STAMP_SECTOR / 8)
#define MAGIC    0x706d6174732e6f69ull  /* "io.stamp" */
#define FLIP_MAX 64u                    /* more wrong bytes than that are no flip */

/* Words of a sector. What the contents follow from is there twice, so that a flip in one of the
 * copies can be told. */
enum { W_MAGIC, W_POS, W_WRITE, W_SEED, W_EXTENT, W_FIRST,
       W_EXTENT2 = WORDS - 3, W_WRITE2, W_SUM };

/* splitmix64: each word on its own, so that they are computed side by side. */
static inline uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

static uint64_t sum_of(const uint64_t *w)
{
    return fill_hash(w, W_SUM * 8);
}

static void build(uint64_t *w, uint64_t pos, uint64_t write, uint64_t seed, uint64_t extent)
{
    uint64_t x = mix(pos + mix(write + mix(seed)));

    w[W_MAGIC] = MAGIC;
    w[W_POS] = pos;
    w[W_WRITE] = w[W_WRITE2] = write;
    w[W_SEED] = seed;
    w[W_EXTENT] = w[W_EXTENT2] = extent;
    for (unsigned i = W_FIRST; i < W_EXTENT2; i++)
        w[i] = mix(x += 0x9e3779b97f4a7c15ull);
    w[W_SUM] = sum_of(w);
}

static uint64_t write_word(uint32_t number, uint32_t run)
{
    return (uint64_t)run << 32 | number;
}

void stamp_fill(void *mem, const struct stamp *s)
{
    uint64_t w[WORDS], write = write_word(s->number, s->run);
    uint32_t sectors = s->len / STAMP_SECTOR;

    for (uint32_t i = 0; i < sectors; i++) {
        build(w, s->pos + (uint64_t)i * STAMP_SECTOR, write, s->seed,
              (uint64_t)sectors << 32 | i);
        memcpy((char *)mem + (size_t)i * STAMP_SECTOR, w, sizeof w);
    }
}

static uint32_t number_of(uint64_t write)
{
    return (uint32_t)write;
}

/* What is known of one sector: the number that is due (0: none known), and what is there. */
struct look {
    uint64_t pos;
    uint32_t due;
    const uint64_t *w;
    const struct stamp_known *known;
};

static uint32_t due_at(const struct stamp_known *k, uint64_t pos)
{
    return k->grain ? k->number[(pos - k->base) / k->grain] : 0;
}

/* Is `write` the one with this number? */
static bool is_due(const struct stamp_known *k, uint32_t due, uint64_t write)
{
    return number_of(write) == due && (k->run == 0 || write >> 32 == k->run);
}

/* Bytes that differ, and where the first is. */
static unsigned differ(const uint64_t *a, const uint64_t *b, unsigned *first)
{
    const unsigned char *x = (const void *)a, *y = (const void *)b;
    unsigned n = 0;

    for (unsigned i = STAMP_SECTOR; i-- > 0;)
        if (x[i] != y[i]) {
            *first = i;
            n++;
        }
    return n;
}

/* What the sector was most likely meant to be: of what its two headers and the number that is
 * due can mean, that which differs least. Returns the bytes that differ. */
static unsigned meant(uint64_t *best, unsigned *first, const struct look *l)
{
    uint64_t writes[] = { l->w[W_WRITE], l->w[W_WRITE2], write_word(l->due, l->known->run) };
    uint64_t extents[] = { l->w[W_EXTENT], l->w[W_EXTENT2] }, w[WORDS];
    unsigned least = STAMP_SECTOR + 1, at, n;

    for (unsigned i = 0; i < (l->due ? 3 : 2); i++)
        for (unsigned j = 0; j < 2; j++) {
            build(w, l->pos, writes[i], l->known->seed, extents[j]);
            n = differ(w, l->w, &at);
            if (n >= least)
                continue;
            least = n;
            *first = at;
            memcpy(best, w, sizeof w);
        }
    return least;
}

static void set(struct stamp_damage *d, enum stamp_kind kind, uint64_t offset, uint64_t expected,
                uint64_t found)
{
    *d = (struct stamp_damage){ kind, offset, STAMP_SECTOR, expected, found };
}

/* A sector whose sum is wrong: nobody has stamped it, a few bytes differ, or its end
 * does not belong to its head. */
static void judge_broken(struct stamp_damage *d, const struct look *l)
{
    uint64_t w[WORDS];
    unsigned first = 0, wrong;

    if (!l->due && l->w[W_MAGIC] != MAGIC && l->w[W_POS] != l->pos &&
        l->w[W_SEED] != l->known->seed) {
        set(d, STAMP_UNWRITTEN, l->pos, 0, 0);
        return;
    }
    wrong = meant(w, &first, l);
    if (wrong <= FLIP_MAX) {
        set(d, STAMP_FLIP, l->pos + first, ((unsigned char *)w)[first],
            ((const unsigned char *)l->w)[first]);
        return;
    }
    build(w, l->pos, l->w[W_WRITE], l->known->seed, l->w[W_EXTENT]);
    differ(w, l->w, &first);
    if (first >= W_FIRST * 8) {
        set(d, STAMP_TORN, l->pos + first, number_of(w[W_WRITE]), number_of(l->w[W_WRITE2]));
        return;
    }
    set(d, l->due ? STAMP_LOST : STAMP_UNWRITTEN, l->pos, l->due, 0);
}

/* A sector that is whole: is it the one that is due? */
static void judge_whole(struct stamp_damage *d, const struct look *l)
{
    const uint64_t *w = l->w;

    if (w[W_SEED] != l->known->seed)
        set(d, l->due ? STAMP_LOST : STAMP_UNWRITTEN, l->pos, l->due, 0);
    else if (w[W_POS] != l->pos)
        set(d, STAMP_MISPLACED, l->pos, l->pos, w[W_POS]);
    else if (l->due && !is_due(l->known, l->due, w[W_WRITE]))
        set(d, STAMP_STALE, l->pos, l->due, number_of(w[W_WRITE]));
    else
        set(d, STAMP_GOOD, l->pos, 0, 0);
}

static bool whole(const uint64_t *w)
{
    return w[W_MAGIC] == MAGIC && w[W_SUM] == sum_of(w);
}

/* A write that sectors of this read belong to. */
struct extent {
    uint64_t from, to;
    uint64_t write;
};

/* Does the sector belong to a write that other sectors of the same read show? Then it is torn:
 * with the number known, the one that is due; else a later one of the same run. */
static void judge_torn(struct stamp_damage *d, const struct look *l, const struct extent *e)
{
    uint32_t found = whole(l->w) && l->w[W_SEED] == l->known->seed ? number_of(l->w[W_WRITE]) : 0;
    bool inside = l->pos >= e->from && l->pos < e->to;

    if (!inside || d->kind == STAMP_FLIP || d->kind == STAMP_MISPLACED || d->kind == STAMP_TORN)
        return;
    if (l->due) {
        if (d->kind == STAMP_GOOD || !is_due(l->known, l->due, e->write))
            return;
    } else if (l->known->grain) {
        return;                 /* nothing is due here */
    } else if (d->kind == STAMP_GOOD) {
        if (l->w[W_WRITE] >> 32 != e->write >> 32 || found >= number_of(e->write))
            return;
    }
    set(d, STAMP_TORN, l->pos, number_of(e->write), found);
}

/* The writes that show in a read: neighbours of one write once. More than fit are looked for
 * among the sectors, as far away as the longest of them reaches. */
#define SCENE_WRITES 1024u

struct scene {
    const uint64_t *mem;
    uint64_t pos, seed;
    size_t sectors, reach;      /* reach 0: no sector looks like one of ours */
    unsigned count;
    bool full;
    struct extent writes[SCENE_WRITES];
};

static struct extent extent_of(const uint64_t *w, uint64_t pos)
{
    uint64_t from = pos - (w[W_EXTENT] & UINT32_MAX) * STAMP_SECTOR;

    return (struct extent){ from, from + (w[W_EXTENT] >> 32) * STAMP_SECTOR, w[W_WRITE] };
}

static bool ours(const struct scene *s, size_t i)
{
    const uint64_t *w = s->mem + i * WORDS;

    return w[W_SEED] == s->seed && w[W_POS] == s->pos + i * STAMP_SECTOR;
}

static void scene_open(struct scene *s)
{
    for (size_t i = 0; i < s->sectors; i++) {
        const uint64_t *w = s->mem + i * WORDS;
        struct extent e, *last = &s->writes[s->count ? s->count - 1 : 0];

        if (!ours(s, i))
            continue;
        if (s->reach < w[W_EXTENT] >> 32)
            s->reach = w[W_EXTENT] >> 32;
        e = extent_of(w, w[W_POS]);
        if ((s->count && last->write == e.write && last->from == e.from && last->to == e.to) ||
            !whole(w))
            continue;
        s->full = s->full || s->count == SCENE_WRITES;
        if (!s->full)
            s->writes[s->count++] = e;
    }
    if (s->reach > s->sectors)
        s->reach = s->sectors;
}

static inline void keep_latest(struct extent *best, const struct extent *e, uint64_t pos)
{
    if (pos >= e->from && pos < e->to && number_of(e->write) > number_of(best->write))
        *best = *e;
}

/* The latest write that shows around sector i: among those of whole sectors in the read. */
static struct extent shown(const struct scene *s, size_t i)
{
    uint64_t pos = s->pos + i * STAMP_SECTOR;
    struct extent best = { 0, 0, 0 }, e;
    size_t from = i > s->reach ? i - s->reach : 0;
    size_t to = s->sectors - i > s->reach ? i + s->reach : s->sectors;

    for (unsigned k = 0; k < s->count; k++)
        keep_latest(&best, &s->writes[k], pos);
    for (size_t k = from; s->full && k < to; k++) {
        e = extent_of(s->mem + k * WORDS, s->pos + k * STAMP_SECTOR);
        if (pos >= e.from && pos < e.to && number_of(e.write) > number_of(best.write) &&
            ours(s, k) && whole(s->mem + k * WORDS))
            best = e;
    }
    return best;
}

static struct stamp_damage judge(const struct look *l)
{
    struct stamp_damage d;

    if (whole(l->w))
        judge_whole(&d, l);
    else
        judge_broken(&d, l);
    return d;
}

/* Does d go on where the stretch before it ends? */
static bool joins(const struct stamp_damage *last, const struct stamp_damage *d)
{
    if (last->kind != d->kind || d->kind == STAMP_FLIP ||
        last->offset / STAMP_SECTOR * STAMP_SECTOR + last->bytes != d->offset)
        return false;
    if (d->kind == STAMP_MISPLACED)
        return d->found - last->found == d->expected - last->expected;
    return last->expected == d->expected && last->found == d->found;
}

/* All sectors are whole, where they belong, of one write, and that one is due or none is. */
static bool plain(const uint64_t *mem, uint64_t pos, size_t sectors, const struct stamp_known *k)
{
    for (size_t i = 0; i < sectors; i++, pos += STAMP_SECTOR, mem += WORDS) {
        uint32_t due = due_at(k, pos);

        if (mem[W_POS] != pos || mem[W_SEED] != k->seed || !whole(mem))
            return false;
        if (due ? !is_due(k, due, mem[W_WRITE])
                : i > 0 && mem[W_WRITE] != mem[W_WRITE - (int)WORDS])
            return false;
    }
    return true;
}

/* Sector by sector, where not all is plain. */
static __attribute__((noinline)) unsigned check_each(struct stamp_damage *list, unsigned most,
    uint64_t *unwritten, struct scene *s, const struct stamp_known *k)
{
    struct stamp_damage last = { 0 }, d;
    unsigned n = 0;

    for (size_t i = 0; i < s->sectors; i++) {
        uint64_t pos = s->pos + i * STAMP_SECTOR;
        struct look l = { pos, due_at(k, pos), s->mem + i * WORDS, k };
        struct extent e;

        d = judge(&l);
        if (s->reach && !(l.due && d.kind == STAMP_GOOD)) {
            e = shown(s, i);
            judge_torn(&d, &l, &e);
        }
        if (d.kind == STAMP_UNWRITTEN)
            *unwritten += STAMP_SECTOR;
        if (d.kind == STAMP_GOOD || d.kind == STAMP_UNWRITTEN)
            continue;
        if (n > 0 && joins(&last, &d)) {
            last.bytes += STAMP_SECTOR;
        } else {
            last = d;
            n++;
        }
        if (n <= most)
            list[n - 1] = last;
    }
    return n;
}

unsigned stamp_check(struct stamp_damage *list, unsigned most, uint64_t *unwritten,
                     const void *mem, uint64_t pos, size_t len, const struct stamp_known *k)
{
    struct scene s;

    s.mem = mem;
    s.pos = pos;
    s.seed = k->seed;
    s.sectors = len / STAMP_SECTOR;
    if (plain(s.mem, pos, s.sectors, k))
        return 0;
    s.reach = s.count = 0;
    s.full = false;
    scene_open(&s);
    return check_each(list, most, unwritten, &s, k);
}

const char *stamp_name(enum stamp_kind kind)
{
    static const char *const names[] = { "good", "unwritten", "flip", "misplaced", "torn",
                                         "stale", "lost" };

    return names[kind];
}
