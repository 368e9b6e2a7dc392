#include <errno.h>
#include <stdlib.h>

#include "core/ledger.h"

#define WRITER UINT16_MAX
#define UNSURE UINT32_MAX       /* number of a block whose last write failed */

int ledger_new(struct ledger **out, const struct ledger_spec *spec)
{
    struct ledger *l;

    if (spec->grain == 0 || spec->grain % STAMP_SECTOR || spec->offset % STAMP_SECTOR)
        return -EINVAL;
    l = calloc(1, sizeof *l);
    if (!l)
        return -ENOMEM;
    l->refs = 1;
    l->spec = *spec;
    l->blocks = spec->size / spec->grain;
    if (spec->known) {
        l->number = calloc(l->blocks + 1, sizeof *l->number);
        l->used = calloc(l->blocks + 1, sizeof *l->used);
        if (!l->number || !l->used) {
            ledger_unref(l);
            return -ENOMEM;
        }
    }
    *out = l;
    return 0;
}

struct ledger *ledger_ref(struct ledger *l)
{
    __atomic_fetch_add(&l->refs, 1, __ATOMIC_RELAXED);
    return l;
}

void ledger_unref(struct ledger *l)
{
    if (!l || __atomic_fetch_sub(&l->refs, 1, __ATOMIC_ACQ_REL) != 1)
        return;
    free(l->number);
    free(l->used);
    free(l);
}

/* Blocks [first, end) of an operation. */
struct span {
    uint64_t first, end;
};

static struct span span(const struct ledger *l, uint64_t pos, uint32_t len)
{
    uint64_t at = pos - l->spec.offset;

    return (struct span){ at / l->spec.grain, (at + len + l->spec.grain - 1) / l->spec.grain };
}

bool ledger_take(struct ledger *l, uint64_t pos, uint32_t len, bool write)
{
    struct span s;

    if (!l->number)
        return true;
    s = span(l, pos, len);
    for (uint64_t i = s.first; i < s.end; i++)
        if (l->used[i] && (write || l->used[i] == WRITER))
            return false;
    for (uint64_t i = s.first; i < s.end; i++)
        l->used[i] = write ? WRITER : l->used[i] + 1;
    return true;
}

uint64_t ledger_written(const struct ledger *l, uint64_t from)
{
    while (from < l->blocks && l->number[from] == 0)
        from++;
    return from;
}

void ledger_begin(struct ledger *l)
{
    l->before = l->writes;
    l->checked = l->unwritten = l->unsure = l->damaged = l->waits = 0;
}

bool ledger_full(const struct ledger *l)
{
    return l->writes >= UNSURE - 1;
}

static void note(struct ledger *l, uint64_t pos, uint32_t len, uint32_t number)
{
    struct span s = span(l, pos, len);

    for (uint64_t i = s.first; l->number && i < s.end; i++)
        l->number[i] = number;
}

void ledger_stamp(struct ledger *l, void *mem, uint64_t pos, uint32_t len)
{
    struct stamp s = { l->spec.seed, pos, len, ++l->writes, l->spec.run };

    stamp_fill(mem, &s);
    note(l, pos, len, s.number);
}

/* Check one stretch of a read: all of it known, or none. */
static void check(struct ledger *l, const unsigned char *mem, uint64_t pos, size_t len)
{
    struct stamp_known k = { l->spec.seed, l->spec.run, l->spec.offset,
                             l->number ? l->spec.grain : 0, l->number };
    unsigned room = l->damaged < LEDGER_DAMAGE ? (unsigned)(LEDGER_DAMAGE - l->damaged) : 0;
    struct stamp_damage none;

    l->checked += len;
    l->damaged += stamp_check(room ? &l->damage[l->damaged] : &none, room, &l->unwritten, mem,
                              pos, len, &k);
}

/* Blocks of a read whose contents nobody knows are left out. */
static void check_read(struct ledger *l, const unsigned char *mem, uint64_t pos, size_t len)
{
    size_t from = 0, grain = l->spec.grain;

    for (size_t at = 0; l->number && at < len; at += grain) {
        size_t piece = len - at < grain ? len - at : grain;

        if (l->number[(pos + at - l->spec.offset) / grain] != UNSURE)
            continue;
        check(l, mem + from, pos + from, at - from);
        l->unsure += piece;
        from = at + piece;
    }
    if (from < len)
        check(l, mem + from, pos + from, len - from);
}

void ledger_done(struct ledger *l, const void *mem, uint64_t pos, uint32_t len, bool write,
                 int res)
{
    struct span s = span(l, pos, len);

    for (uint64_t i = s.first; l->used && i < s.end; i++)
        l->used[i] = write ? 0 : l->used[i] - 1;
    if (write && res != (int)len)
        note(l, pos, len, UNSURE);
    if (!write && res > 0)
        check_read(l, mem, pos, (size_t)res / STAMP_SECTOR * STAMP_SECTOR);
}

int ledger_replay(struct ledger *l, const struct load_spec *spec, uint64_t n)
{
    char message[128];
    struct load load;
    int err = load_init(&load, spec, message, sizeof message);

    for (uint64_t i = 0; err == 0 && i < n; i++) {
        struct load_op op = spec->sizes.count ? load_next_sized(&load) : load_next(&load);

        if (!op.write)
            continue;
        if (ledger_full(l))
            return -EOVERFLOW;
        note(l, op.pos, op.len, ++l->writes);
    }
    return err;
}
