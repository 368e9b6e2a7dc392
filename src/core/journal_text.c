#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/journal_text.h"

void text_append(struct text *t, const char *bytes, size_t len)
{
    if (t->err < 0)
        return;
    if (t->len + len + 1 > t->cap) {
        size_t cap = 2 * (t->len + len + 128);
        char *grown = realloc(t->bytes, cap);

        if (!grown) {
            t->err = -ENOMEM;
            return;
        }
        t->bytes = grown;
        t->cap = cap;
    }
    memcpy(t->bytes + t->len, bytes, len);
    t->len += len;
    t->bytes[t->len] = '\0';
}

void text_free(struct text *t)
{
    free(t->bytes);
    memset(t, 0, sizeof *t);
}

static uint64_t checksum(const char *bytes, size_t len)
{
    uint64_t sum = 14695981039346656037u;       /* FNV-1a */

    for (size_t i = 0; i < len; i++)
        sum = (sum ^ (unsigned char)bytes[i]) * 1099511628211u;
    return sum;
}

/* A blank, then the value; the empty value is "%". */
static void field(struct text *t, const char *value)
{
    char escaped[4];

    text_append(t, " ", 1);
    if (!*value)
        text_append(t, "%", 1);
    for (const unsigned char *p = (const unsigned char *)value; *p; p++) {
        if (*p > ' ' && *p != '%' && *p < 0x7f) {
            text_append(t, (const char *)p, 1);
        } else {
            snprintf(escaped, sizeof escaped, "%%%02X", *p);
            text_append(t, escaped, 3);
        }
    }
}

static void number(struct text *t, int64_t value)
{
    char text[24];

    snprintf(text, sizeof text, "%" PRId64, value);
    field(t, text);
}

/* Close the line that began at `from`. */
static void end(struct text *t, size_t from)
{
    char sum[24];
    uint64_t value = t->err < 0 ? 0 : checksum(t->bytes + from, t->len - from);

    snprintf(sum, sizeof sum, " %016" PRIx64 "\n", value);
    text_append(t, sum, strlen(sum));
}

void text_owner(struct text *t, const struct journal_owner *o)
{
    size_t from = t->len;

    text_append(t, "iolua-journal 1", 15);
    number(t, o->pid);
    number(t, o->uid);
    number(t, o->start);
    number(t, o->when);
    field(t, o->boot);
    end(t, from);
}

void text_record(struct text *t, const struct journal_record *r)
{
    size_t from = t->len;

    text_append(t, "add", 3);
    number(t, r->id);
    field(t, r->kind);
    field(t, r->target);
    field(t, r->old);
    end(t, from);
}

void text_note(struct text *t, const struct journal_note *note)
{
    size_t from = t->len;
    const char *word = note->done ? "done" : note->now ? "now" : "open";

    text_append(t, word, strlen(word));
    number(t, note->id);
    if (!note->done && note->now)
        field(t, note->now);
    end(t, from);
}

/* Undo field() in place. */
static bool unescape(char *text)
{
    char *to = text;
    unsigned byte;

    if (strcmp(text, "%") == 0)
        *text = '\0';
    for (const char *from = text; *from; from++) {
        if (*from == '%') {
            if (sscanf(from + 1, "%2X", &byte) != 1 || !from[2] || byte == 0)
                return false;
            *to++ = (char)byte;
            from += 2;
        } else {
            *to++ = *from;
        }
    }
    *to = '\0';
    return true;
}

/* Cut the checksum off a whole line and compare it. */
static bool whole(char *line)
{
    char *newline = strchr(line, '\n'), *sum = strrchr(line, ' ');
    uint64_t value;

    if (!newline || newline[1] || !sum || newline - sum != 17
        || sscanf(sum, " %16" SCNx64, &value) != 1)
        return false;
    *sum = '\0';
    return checksum(line, (size_t)(sum - line)) == value;
}

/* Cut a line into at most max fields. Returns their number, 0 when one is broken. */
static unsigned split(char **fields, unsigned max, char *line)
{
    unsigned n = 0;
    char *save = NULL;

    for (char *f = strtok_r(line, " ", &save); f; f = strtok_r(NULL, " ", &save)) {
        if (n == max || !unescape(f))
            return 0;
        fields[n++] = f;
    }
    return n;
}

static enum text_line parse_owner(struct journal_owner *o, char **f)
{
    if (strcmp(f[1], "1") != 0)
        return TEXT_BAD;
    o->pid = atoi(f[2]);
    o->uid = (uid_t)strtoul(f[3], NULL, 10);
    o->start = strtoll(f[4], NULL, 10);
    o->when = strtoll(f[5], NULL, 10);
    snprintf(o->boot, sizeof o->boot, "%.39s", f[6]);
    return TEXT_OWNER;
}

static enum text_line parse_record(struct journal_record *r, char **f)
{
    r->id = (unsigned)strtoul(f[1], NULL, 10);
    r->kind = strdup(f[2]);
    r->target = strdup(f[3]);
    r->old = strdup(f[4]);
    r->now = strdup(f[4]);
    if (r->kind && r->target && r->old && r->now)
        return TEXT_RECORD;
    free(r->kind);
    free(r->target);
    free(r->old);
    free(r->now);
    return TEXT_BAD;
}

enum text_line text_parse(char *line, struct journal_owner *o, struct journal_record *r,
                          struct journal_note *note)
{
    char *f[8];
    unsigned n = whole(line) ? split(f, 8, line) : 0;

    if (n == 7 && strcmp(f[0], "iolua-journal") == 0)
        return parse_owner(o, f);
    if (n == 5 && strcmp(f[0], "add") == 0)
        return parse_record(r, f);
    if (n < 2)
        return TEXT_BAD;
    note->id = (unsigned)strtoul(f[1], NULL, 10);
    note->now = n == 3 && strcmp(f[0], "now") == 0 ? f[2] : NULL;
    note->done = n == 2 && strcmp(f[0], "done") == 0;
    return note->now || note->done || (n == 2 && strcmp(f[0], "open") == 0) ? TEXT_NOTE : TEXT_BAD;
}
