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

struct lbuf {                   /* userdata of class "iolua.buf" */
    struct buf *buf;            /* NULL once closed */
};

struct lfile {                  /* userdata of class "iolua.file" */
    struct file *file;          /* NULL once closed */
};

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
