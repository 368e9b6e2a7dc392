#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/xml.h"

void xml_open(struct xml *x, const char *text, size_t n, char *message, size_t len)
{
    memset(x, 0, sizeof *x);
    x->at = text;
    x->end = text + n;
    x->line = 1;
    x->message = message;
    x->len = len;
}

bool xml_is(struct xml_piece p, const char *text)
{
    return p.n == strlen(text) && memcmp(p.at, text, p.n) == 0;
}

bool xml_in(struct xml_piece p, const char *const *list)
{
    for (; *list; list++)
        if (xml_is(p, *list))
            return true;
    return false;
}

int xml_shown(struct xml_piece p)
{
    return p.n > 40 ? 40 : (int)p.n;
}

int xml_wrong(struct xml *x, const char *form, ...)
{
    int n = snprintf(x->message, x->len, "line %u: ", x->line);
    va_list args;

    va_start(args, form);
    if (n > 0 && (size_t)n < x->len)
        vsnprintf(x->message + n, x->len - (size_t)n, form, args);
    va_end(args);
    return -EINVAL;
}

struct xml_piece xml_attribute(const struct xml *x, const char *name)
{
    for (unsigned i = 0; i < x->count; i++)
        if (xml_is(x->attributes[i].name, name))
            return x->attributes[i].value;
    return (struct xml_piece){ NULL, 0 };
}

static void advance(struct xml *x, size_t n)
{
    for (; n > 0; n--)
        x->line += *x->at++ == '\n';
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip_space(struct xml *x)
{
    while (x->at < x->end && is_space(*x->at))
        advance(x, 1);
}

static bool starts(const struct xml *x, const char *text)
{
    size_t n = strlen(text);

    return (size_t)(x->end - x->at) >= n && memcmp(x->at, text, n) == 0;
}

static bool take(struct xml *x, const char *text)
{
    if (!starts(x, text))
        return false;
    advance(x, strlen(text));
    return true;
}

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static struct xml_piece take_name(struct xml *x)
{
    struct xml_piece p = { x->at, 0 };

    while (x->at < x->end && is_name(*x->at))
        advance(x, 1);
    p.n = (size_t)(x->at - p.at);
    return p;
}

static bool equal(struct xml_piece a, struct xml_piece b)
{
    return a.n == b.n && memcmp(a.at, b.at, a.n) == 0;
}

/* One name="value" pair. */
static int take_attribute(struct xml *x)
{
    struct xml_attribute a = { .name = take_name(x) };
    const char *quote;

    if (a.name.n == 0 || !take(x, "=\""))
        return xml_wrong(x, "an attribute or the end of the element expected");
    quote = memchr(x->at, '"', (size_t)(x->end - x->at));
    if (!quote)
        return xml_wrong(x, "a value without its closing quote");
    a.value = (struct xml_piece){ x->at, (size_t)(quote - x->at) };
    if (memchr(a.value.at, '<', a.value.n))
        return xml_wrong(x, "\"<\" inside a value");
    for (unsigned i = 0; i < x->count; i++)
        if (equal(x->attributes[i].name, a.name))
            return xml_wrong(x, "attribute %.*s twice", xml_shown(a.name), a.name.at);
    if (x->count == XML_ATTRIBUTES)
        return xml_wrong(x, "more than %d attributes", XML_ATTRIBUTES);
    advance(x, a.value.n + 1);
    x->attributes[x->count++] = a;
    return 0;
}

/* The attributes up to the end of the tag. */
static int take_attributes(struct xml *x)
{
    x->count = 0;
    for (;;) {
        bool space = x->at < x->end && is_space(*x->at);
        int err;

        skip_space(x);
        x->empty = take(x, "/>");
        if (x->empty || take(x, ">"))
            return 0;
        if (!space)
            return xml_wrong(x, "a blank between attributes expected");
        err = take_attribute(x);
        if (err < 0)
            return err;
    }
}

static int open_element(struct xml *x)
{
    int err;

    if (x->level == XML_DEPTH)
        return xml_wrong(x, "more than %d levels", XML_DEPTH);
    x->names[x->level] = take_name(x);
    if (x->names[x->level].n == 0)
        return xml_wrong(x, "the name of an element expected");
    err = take_attributes(x);
    if (err < 0)
        return err;
    x->depth = x->level;
    x->level += !x->empty;
    return XML_OPEN;
}

static int close_element(struct xml *x)
{
    struct xml_piece name = take_name(x), open;

    x->depth = --x->level;
    open = x->names[x->depth];
    if (!equal(name, open) || !take(x, ">"))
        return xml_wrong(x, "</%.*s> expected", xml_shown(open), open.at);
    return XML_CLOSE;
}

/* <?xml ... ?> and <!DOCTYPE ...> before the outermost element. */
static int skip_prolog(struct xml *x)
{
    if (memchr(x->at, 0, (size_t)(x->end - x->at)))
        return xml_wrong(x, "a NUL byte: this is not XML");
    for (skip_space(x); starts(x, "<?") || starts(x, "<!"); skip_space(x)) {
        const char *close = memchr(x->at, '>', (size_t)(x->end - x->at));

        if (!close)
            return xml_wrong(x, "\">\" expected");
        advance(x, (size_t)(close - x->at) + 1);
    }
    x->begun = true;
    return take(x, "<") ? open_element(x) : xml_wrong(x, "this is not XML");
}

int xml_next(struct xml *x)
{
    if (!x->begun)
        return skip_prolog(x);
    if (x->level == 0) {
        skip_space(x);
        return x->at == x->end ? XML_END : xml_wrong(x, "something follows the end");
    }
    while (x->at < x->end && *x->at != '<')
        advance(x, 1);
    if (take(x, "</"))
        return close_element(x);
    return take(x, "<") ? open_element(x) : xml_wrong(x, "the text ends too early");
}
