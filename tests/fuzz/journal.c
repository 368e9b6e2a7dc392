/* Lines of a journal that a crash may have cut: owner, record, note, or refused. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/journal_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void free_record(struct journal_record *r)
{
    free(r->kind);
    free(r->target);
    free(r->old);
    free(r->now);
}

/* The text as one line; and as a value that is written and read again. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct journal_owner o;
    struct journal_record r = { 0 };
    struct journal_note note;
    struct text t = { 0 };
    char *line = malloc(n + 1);

    if (!line)
        return 0;
    memcpy(line, data, n);
    line[n] = 0;
    r = (struct journal_record){ 1, line, line, line, NULL, false };
    if (n > 0 && strlen(line) == n)
        text_record(&t, &r);
    r = (struct journal_record){ 0 };
    if (text_parse(line, &o, &r, &note) == TEXT_RECORD)
        free_record(&r);
    text_append(&t, "", 1);
    if (t.len > 1 && t.err == 0) {
        r = (struct journal_record){ 0 };
        if (text_parse(t.bytes, &o, &r, &note) != TEXT_RECORD ||
            memcmp(r.old, data, n) != 0)
            abort();
        free_record(&r);
    }
    text_free(&t);
    free(line);
    return 0;
}
