/*
 * lend - buffers and files lent to requests of the loop: counted without an atomic operation.
 *
 * While requests of the loop use a buffer, Lua's own reference stays, even when Lua closes or
 * collects it: the last request to come back drops it then. `lent` and `dropped` belong to the
 * thread of the Lua state; jobs on other threads take references of their own.
 */
#ifndef IOLUA_BIND_LEND_H
#define IOLUA_BIND_LEND_H

#include "core/buf.h"
#include "core/file.h"

#include <stdlib.h>

/* Tell a userdata of its size from every other without a look at its metatable. */
#define LEND_BUF_MARK  0x696f6c75612e6266ull
#define LEND_FILE_MARK 0x696f6c75612e666cull

struct lbuf {                   /* userdata of class "iolua.buf" */
    uint64_t mark;
    struct buf *buf;            /* NULL once closed */
};

struct lloop;

struct lfile {                  /* userdata of class "iolua.file" */
    uint64_t mark;
    struct file *file;          /* NULL once closed */
    struct lloop *loop;         /* of its state, once something has waited */
};

#define LEND_BUF_CLOSED  (struct lbuf){ LEND_BUF_MARK, NULL }
#define LEND_FILE_CLOSED (struct lfile){ LEND_FILE_MARK, NULL, NULL }

static inline void lend_buf(struct buf *b)
{
    b->lent++;
}

static inline void lend_file(struct file *f)
{
    f->lent++;
}

/* A request came back. */
static inline void lend_return_buf(struct buf *b)
{
    if (--b->lent == 0 && __builtin_expect(b->dropped, 0))
        buf_unref(b);
}

static inline void lend_return_file(struct file *f)
{
    if (--f->lent == 0 && __builtin_expect(f->dropped, 0))
        file_unref(f);
}

/* What else a request needs while it is out: buffers of a vectored one, then a payload (paths,
 * vectors, a place for its answer). Freed by lend_free, after its answer has been read. */
struct lend_memory {
    unsigned count;             /* buffers that are lent to it */
    struct file *file;          /* a second file, or NULL */
    struct buf **bufs;
    void *payload;              /* bytes after the buffers */
};

/* Memory for `count` buffers (none is set) and a payload of so many bytes, or NULL. */
static inline struct lend_memory *lend_new(unsigned count, size_t bytes)
{
    struct lend_memory *m = malloc(sizeof *m + count * sizeof *m->bufs + bytes);

    if (m) {
        m->count = 0;
        m->file = NULL;
        m->bufs = (struct buf **)(m + 1);
        m->payload = m->bufs + count;
    }
    return m;
}

static inline void lend_memory_buf(struct lend_memory *m, struct buf *b)
{
    lend_buf(b);
    m->bufs[m->count++] = b;
}

/* The request came back: the memory stays for its answer. NULL is allowed. */
static inline void lend_return_memory(struct lend_memory *m)
{
    if (!m)
        return;
    while (m->count)
        lend_return_buf(m->bufs[--m->count]);
    if (m->file)
        lend_return_file(m->file);
    m->file = NULL;
}

static inline void lend_free(struct lend_memory *m)
{
    lend_return_memory(m);
    free(m);
}

/* Lua lets go. NULL is allowed. */
static inline void lend_drop_buf(struct buf *b)
{
    if (b && b->lent)
        b->dropped = true;
    else
        buf_unref(b);
}

static inline void lend_drop_file(struct file *f)
{
    if (f && f->lent)
        f->dropped = true;
    else
        file_unref(f);
}

#endif
