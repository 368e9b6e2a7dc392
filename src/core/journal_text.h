/*
 * journal_text - the lines of a journal's file: fields without blanks (escaped as %XX), then
 * a checksum of all before it.
 *
 *   iolua-journal 1 PID UID START WHEN BOOT SUM
 *   add ID KIND TARGET OLD SUM
 *   now ID VALUE SUM          open ID SUM          done ID SUM
 */
#ifndef IOLUA_CORE_JOURNAL_TEXT_H
#define IOLUA_CORE_JOURNAL_TEXT_H

#include "core/journal.h"

/* Text that grows; start with {0}. err keeps the first failure. */
struct text {
    char *bytes;
    size_t len, cap;
    int err;
};

void text_append(struct text *t, const char *bytes, size_t len);
void text_owner(struct text *t, const struct journal_owner *o);
void text_record(struct text *t, const struct journal_record *r);
void text_note(struct text *t, const struct journal_note *note);
void text_free(struct text *t);

enum text_line {
    TEXT_BAD,                   /* torn, foreign or damaged */
    TEXT_OWNER,
    TEXT_RECORD,                /* the record's strings are the caller's to free */
    TEXT_NOTE,                  /* its value points into line */
};

/* Read a line, which is changed. */
enum text_line text_parse(char *line, struct journal_owner *o, struct journal_record *r,
                          struct journal_note *note);

#endif
