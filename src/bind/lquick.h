/*
 * lquick - the short way of a fiber's read or write: into the ring, and yield.
 *
 * All of it is inline in who reads or writes, since a fiber is to cost less than the system
 * call. It may be taken when nothing has to be raised, waited for or opened first; else the
 * caller goes through lwait.
 */
#ifndef IOLUA_BIND_LQUICK_H
#define IOLUA_BIND_LQUICK_H

#include "bind/lend.h"
#include "bind/lloop.h"

/* The userdata at arg if it is of class "iolua.file" (or "iolua.buf"), or NULL. */
static inline struct lfile *lquick_file(lua_State *L, int arg)
{
    struct lfile *ud = lua_touserdata(L, arg);

    if (ud && lua_rawlen(L, arg) == sizeof *ud && ud->mark == LEND_FILE_MARK)
        return ud;
    return NULL;
}

static inline struct lbuf *lquick_buf(lua_State *L, int arg)
{
    struct lbuf *ud = lua_touserdata(L, arg);

    if (ud && lua_rawlen(L, arg) == sizeof *ud && ud->mark == LEND_BUF_MARK)
        return ud;
    return NULL;
}

/* The fiber that runs in L if it may give a request to the ring and yield, else 0. */
static inline uint32_t lquick_fiber(lua_State *L, struct lloop *p)
{
    uint32_t i = p->current;

    if (__builtin_expect(p->running != L, 0)) {
        i = lloop_fiber(p, L);
        if (!i || p->slots.at[i].raise)
            return 0;
    }
    if (__builtin_expect(p->credit == 0, 0) && !lloop_credit(p))
        return 0;
    return lua_isyieldable(L) ? i : 0;
}

/* Put into the ring: len bytes at pos of f, from or to the start of b. */
static inline void lquick_push(struct lloop *p, uint32_t i, struct file *f, const struct buf *b,
                               bool writes, uint64_t pos, uint32_t len)
{
    bool fixed_file = f->fixed != 0, fixed_buf = b->fixed != 0;
    struct io_req q = {
        .kind = (uint8_t)(fixed_buf ? (writes ? IO_WRITE_FIXED : IO_READ_FIXED)
                                    : (writes ? IO_WRITE : IO_READ)),
        .req_flags = fixed_file ? IO_FIXED_FILE : 0,
        .buf_index = (uint16_t)(fixed_buf ? b->fixed - 1 : 0),
        .fd = fixed_file ? (int)f->fixed - 1 : f->fd,
        .pos = pos, .addr = (uintptr_t)b->mem, .len = len,
    };

    if (__builtin_expect(!fixed_file, 0) && ++f->uses == LLOOP_FIX)
        lloop_fix(p, f);                /* for the next */
    p->credit--;
    ring_push(p->ring, &q, i);
    p->slots.at[i].stamp = p->now;
}

/* The same, and the fiber yields; it goes on in `back` with the loop as its context. `left`
 * more requests may follow this one before (lprepared.c). Returns what the caller returns. */
static inline int lquick_go(lua_State *L, struct lloop *p, uint32_t i, struct file *f,
                            struct buf *b, bool writes, uint64_t pos, uint32_t len,
                            uint32_t left, lua_KFunction back)
{
    struct slot *s = &p->slots.at[i];

    lquick_push(p, i, f, b, writes, pos, len);
    s->buf = b;
    s->file = f;
    lend_buf(b);
    lend_file(f);
    s->left = left;
    s->state = SLOT_WAITING;
    s->out = s->quick = true;
    s->pooled = false;
    s->writes = writes;
    return lua_yieldk(L, 0, (lua_KContext)p, back);
}

/* Where such a fiber goes on: has it a result of 0 or more, on top of its stack? */
static inline bool lquick_done(const struct lloop *p, lua_State *L)
{
    return __builtin_expect(p->running == L, 1);
}

#endif
