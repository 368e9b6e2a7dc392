#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/cpuset.h"

#define WORDS (CPUSET_CPUS / 64)

void cpuset_zero(struct cpuset *set)
{
    memset(set, 0, sizeof *set);
}

int cpuset_add(struct cpuset *set, unsigned cpu)
{
    if (cpu >= CPUSET_CPUS)
        return -ERANGE;
    set->bits[cpu / 64] |= (uint64_t)1 << cpu % 64;
    return 0;
}

void cpuset_remove(struct cpuset *set, unsigned cpu)
{
    if (cpu < CPUSET_CPUS)
        set->bits[cpu / 64] &= ~((uint64_t)1 << cpu % 64);
}

bool cpuset_has(const struct cpuset *set, unsigned cpu)
{
    return cpu < CPUSET_CPUS && (set->bits[cpu / 64] >> cpu % 64 & 1);
}

void cpuset_or(struct cpuset *out, const struct cpuset *a, const struct cpuset *b)
{
    for (unsigned i = 0; i < WORDS; i++)
        out->bits[i] = a->bits[i] | b->bits[i];
}

void cpuset_and(struct cpuset *out, const struct cpuset *a, const struct cpuset *b)
{
    for (unsigned i = 0; i < WORDS; i++)
        out->bits[i] = a->bits[i] & b->bits[i];
}

void cpuset_minus(struct cpuset *out, const struct cpuset *a, const struct cpuset *b)
{
    for (unsigned i = 0; i < WORDS; i++)
        out->bits[i] = a->bits[i] & ~b->bits[i];
}

bool cpuset_equal(const struct cpuset *a, const struct cpuset *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

bool cpuset_subset(const struct cpuset *part, const struct cpuset *whole)
{
    for (unsigned i = 0; i < WORDS; i++)
        if (part->bits[i] & ~whole->bits[i])
            return false;
    return true;
}

unsigned cpuset_count(const struct cpuset *set)
{
    unsigned n = 0;

    for (unsigned i = 0; i < WORDS; i++)
        n += (unsigned)__builtin_popcountll(set->bits[i]);
    return n;
}

int cpuset_next(const struct cpuset *set, unsigned from)
{
    if (from >= CPUSET_CPUS)
        return -1;
    for (unsigned i = from / 64; i < WORDS; i++) {
        uint64_t word = set->bits[i];

        if (i == from / 64)
            word &= UINT64_MAX << from % 64;
        if (word)
            return (int)(i * 64 + (unsigned)__builtin_ctzll(word));
    }
    return -1;
}

/* Where a parser stands in its text. */
struct cursor {
    const char *text, *at, *end;
};

/* At most 32 bytes of [from, end) for a message, with what cannot be printed as '?'. */
static const char *excerpt(char shown[40], const char *from, const char *end)
{
    size_t n = (size_t)(end - from), i;
    bool cut = n > 32;

    for (i = 0; i < (cut ? 32 : n); i++)
        shown[i] = from[i] >= ' ' && from[i] <= '~' ? from[i] : '?';
    strcpy(shown + i, cut ? "..." : "");
    return shown;
}

static int wrong(const struct cursor *c, const char *form, const char *reason,
                 const char *at, char *message, size_t len)
{
    char text[40], rest[40];
    bool end = at == c->end;

    snprintf(message, len, "%s \"%s\": %s at %s%s%s (character %zu)", form,
             excerpt(text, c->text, c->end), reason, end ? "" : "\"",
             end ? "the end" : excerpt(rest, at, c->end), end ? "" : "\"",
             (size_t)(at - c->text) + 1);
    return -EINVAL;
}

static bool is_digit(const struct cursor *c)
{
    return c->at < c->end && *c->at >= '0' && *c->at <= '9';
}

static bool take(struct cursor *c, char wanted)
{
    if (c->at == c->end || *c->at != wanted)
        return false;
    c->at++;
    return true;
}

/* A decimal number; everything above CPUSET_CPUS is CPUSET_CPUS. False when there is none. */
static bool number(struct cursor *c, unsigned *value)
{
    unsigned v = 0;

    if (!is_digit(c))
        return false;
    for (; is_digit(c); c->at++)
        v = v >= CPUSET_CPUS ? CPUSET_CPUS : v * 10 + (unsigned)(*c->at - '0');
    *value = v >= CPUSET_CPUS ? CPUSET_CPUS : v;
    return true;
}

/* The CPU at the cursor. NULL, or what is wrong there. */
static const char *cpu_number(struct cursor *c, unsigned *cpu)
{
    if (!number(c, cpu))
        return "a CPU number expected";
    return *cpu < CPUSET_CPUS ? NULL : "a CPU above 8191";
}

/* One number or range of the list. NULL, or what is wrong there; *at is the place. */
static const char *item(struct cursor *c, struct cpuset *set, const char **at)
{
    unsigned first, last, stride = 1;
    const char *reason;

    *at = c->at;
    reason = cpu_number(c, &first);
    last = first;
    if (!reason && take(c, '-')) {
        *at = c->at;
        reason = cpu_number(c, &last);
        if (!reason && last < first)
            reason = "a range that runs backwards";
        if (!reason && take(c, ':')) {
            *at = c->at;
            if (!number(c, &stride))
                reason = "a stride expected";
            else if (stride == 0)
                reason = "a stride of 0";
        }
    }
    if (reason)
        return reason;
    for (unsigned cpu = first; cpu <= last; cpu += stride)
        cpuset_add(set, cpu);
    return NULL;
}

int cpuset_parse(struct cpuset *out, const char *text, size_t n, char *message, size_t len)
{
    struct cursor c = { text, text, text + n };
    struct cpuset set;
    const char *at, *reason;

    cpuset_zero(&set);
    if (n == 0) {
        *out = set;
        return 0;
    }
    do {
        reason = item(&c, &set, &at);
        if (reason)
            return wrong(&c, "CPU list", reason, at, message, len);
    } while (take(&c, ','));
    if (c.at != c.end)
        return wrong(&c, "CPU list", "\",\" expected", c.at, message, len);
    *out = set;
    return 0;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* One group of 1 .. 8 hexadecimal digits. NULL, or what is wrong at the cursor. */
static const char *group(struct cursor *c, uint32_t *value)
{
    unsigned digits = 0;

    for (*value = 0; c->at < c->end && hex_digit(*c->at) >= 0; c->at++) {
        if (++digits > 8)
            return "a group of more than 8 digits";
        *value = *value << 4 | (uint32_t)hex_digit(*c->at);
    }
    return digits ? NULL : "a hexadecimal digit expected";
}

/* Make room for one more group below: the set's members grow by 32. False when one would pass
 * the largest CPU. */
static bool shift32(struct cpuset *set, uint32_t low)
{
    if (set->bits[WORDS - 1] >> 32)
        return false;
    for (unsigned i = WORDS - 1; i > 0; i--)
        set->bits[i] = set->bits[i] << 32 | set->bits[i - 1] >> 32;
    set->bits[0] = set->bits[0] << 32 | low;
    return true;
}

int cpuset_parse_mask(struct cpuset *out, const char *text, size_t n, char *message, size_t len)
{
    struct cursor c = { text, text, text + n };
    struct cpuset set;
    uint32_t value;

    cpuset_zero(&set);
    do {
        const char *at = c.at, *reason = group(&c, &value);

        if (reason)
            return wrong(&c, "CPU mask", reason, c.at, message, len);
        if (!shift32(&set, value))
            return wrong(&c, "CPU mask", "a CPU above 8191", at, message, len);
    } while (take(&c, ','));
    if (c.at != c.end)
        return wrong(&c, "CPU mask", "\",\" expected", c.at, message, len);
    *out = set;
    return 0;
}

/* Append to text as snprintf would: `used` may be past len already. */
static size_t append(char *text, size_t len, size_t used, const char *piece)
{
    size_t n = strlen(piece);

    for (size_t i = 0; i < n && used + i + 1 < len; i++) {
        text[used + i] = piece[i];
        text[used + i + 1] = 0;
    }
    return used + n;
}

/* The last member of the run that starts at the member cpu. */
static unsigned run_end(const struct cpuset *set, unsigned cpu)
{
    while (cpuset_has(set, cpu + 1))
        cpu++;
    return cpu;
}

size_t cpuset_format(char *text, size_t len, const struct cpuset *set)
{
    size_t used = 0;
    char piece[32];

    if (len)
        text[0] = 0;
    for (int first = cpuset_next(set, 0); first >= 0;) {
        unsigned last = run_end(set, (unsigned)first);

        if (last == (unsigned)first)
            snprintf(piece, sizeof piece, "%s%d", used ? "," : "", first);
        else
            snprintf(piece, sizeof piece, "%s%d-%u", used ? "," : "", first, last);
        used = append(text, len, used, piece);
        first = cpuset_next(set, last + 1);
    }
    return used;
}

const char *cpuset_brief(char *text, size_t len, const struct cpuset *set)
{
    size_t used = cpuset_format(text, len, set);

    if (used == 0)
        snprintf(text, len, "none");
    else if (used >= len && len > 3)
        strcpy(text + len - 4, "...");
    return text;
}

size_t cpuset_format_mask(char *text, size_t len, const struct cpuset *set, unsigned cpus)
{
    unsigned groups = cpus ? (cpus + 31) / 32 : 1;
    size_t used = 0;
    char piece[16];

    for (unsigned i = 0; i < CPUSET_CPUS / 32; i++)
        if ((uint32_t)(set->bits[i / 2] >> i % 2 * 32) && i >= groups)
            groups = i + 1;
    if (len)
        text[0] = 0;
    for (unsigned i = groups; i-- > 0;) {
        uint32_t word = i < CPUSET_CPUS / 32 ? (uint32_t)(set->bits[i / 2] >> i % 2 * 32) : 0;

        snprintf(piece, sizeof piece, "%s%08x", used ? "," : "", word);
        used = append(text, len, used, piece);
    }
    return used;
}
