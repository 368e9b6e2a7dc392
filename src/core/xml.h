/*
 * xml - a pull reader of the plain XML that programs write: elements, attributes, text.
 *
 * It checks that the text is well-formed and hands out one tag at a time; what is between tags
 * is skipped. No entities, comments or name spaces: those are errors. Nothing is allocated or
 * copied, the pieces point into the text.
 */
#ifndef IOLUA_CORE_XML_H
#define IOLUA_CORE_XML_H

#include <stdbool.h>
#include <stddef.h>

#define XML_DEPTH 64            /* levels of elements */
#define XML_ATTRIBUTES 32       /* of one element */

struct xml_piece {              /* not terminated */
    const char *at;
    size_t n;
};

struct xml_attribute {
    struct xml_piece name, value;
};

enum xml_event {
    XML_OPEN = 1,               /* names[depth] with its attributes */
    XML_CLOSE,
    XML_END,                    /* the outermost element is closed and nothing follows */
};

struct xml {
    const char *at, *end;
    unsigned line;
    unsigned level;             /* elements that are open */
    unsigned depth;             /* of the element just opened or closed; 0 is the outermost */
    bool empty;                 /* the element just opened has no content and no XML_CLOSE */
    bool begun;
    unsigned count;             /* of attributes */
    struct xml_attribute attributes[XML_ATTRIBUTES];
    struct xml_piece names[XML_DEPTH];
    char *message;              /* of the caller: why the last call failed */
    size_t len;
};

void xml_open(struct xml *x, const char *text, size_t n, char *message, size_t len);

/* The next event, or -EINVAL with "line N: reason" in the message. */
int xml_next(struct xml *x);

/* The value of an attribute of the element just opened; .at is NULL when it has none. */
struct xml_piece xml_attribute(const struct xml *x, const char *name);

bool xml_is(struct xml_piece p, const char *text);
bool xml_in(struct xml_piece p, const char *const *list);      /* NULL ends the list */

/* Bytes of p to show in a message, for "%.*s". */
int xml_shown(struct xml_piece p);

/* Writes "line N: ..." to the message. Returns -EINVAL. */
int xml_wrong(struct xml *x, const char *form, ...) __attribute__((format(printf, 2, 3)));

#endif
