/*
 * lwait - how a function waits: in a fiber by yielding to the loop, outside by driving it.
 *
 * Each ends with `return lwait_...`: nothing may follow. Arguments stay on the stack below what
 * w->finish pushes. The loop is upvalue 1 of every function that waits.
 */
#ifndef IOLUA_BIND_LWAIT_H
#define IOLUA_BIND_LWAIT_H

#include "bind/lend.h"
#include "bind/lloop.h"

#include <unistd.h>

struct lwait_req {
    struct io_req q;
    struct file *file;          /* lent to it, or NULL */
    struct buf *buf;
    struct lend_memory *memory; /* or NULL; finish finds it in p->kept */
};

/* Note in the slot what the request uses; the slot waits from here. */
static inline void lwait_note(struct slot *s, const struct lwait_req *r)
{
    s->buf = r->buf;
    s->file = r->file;
    if (__builtin_expect(s->memory != r->memory, 0)) {
        lend_free(s->memory);
        s->memory = r->memory;
    }
    s->from = NULL;
    if (r->buf)
        lend_buf(r->buf);
    if (r->file)
        lend_file(r->file);
    s->state = SLOT_WAITING;
}

/* The answer of the request that used m is read next: at once, before anything that may run
 * a finalizer. Nothing happens for NULL. */
static inline void lwait_keep(struct lloop *p, struct lend_memory *m)
{
    if (!m)
        return;
    lend_free(p->kept);
    p->kept = m;
}

/* Nobody takes the result of the slot's request: close what it opened. */
static inline void lwait_drop_result(struct slot *s)
{
    if (s->opens && s->res >= 0)
        close(s->res);
    s->opens = false;
}

/* Wait for a request. */
int lwait_request(lua_State *L, struct lloop *p, const struct lwait_req *r,
                  const struct lwait *w);

/* The same with a deadline: after timeout_ns (< 0: never) it is given up, res is -ETIME. */
int lwait_request_for(lua_State *L, struct lloop *p, const struct lwait_req *r,
                      int64_t timeout_ns, const struct lwait *w);

/* The second half of lwait_request_for, for a caller that called lwait_check before it
 * allocated r->memory; takes the memory over. */
int lwait_go(lua_State *L, struct lloop *p, uint32_t fiber, const struct lwait_req *r,
             int64_t timeout_ns, const struct lwait *w);

/* Wait in a list (or in none) until woken, with its res, or for timeout_ns (< 0: for ever),
 * res is -ETIME. */
int lwait_list(lua_State *L, struct lloop *p, struct slot_list *list, int64_t timeout_ns,
               const struct lwait *w);

/* Raise an error when L may not wait, which says why. Else the fiber, or 0: drive the loop. */
uint32_t lwait_check(lua_State *L, struct lloop *p, const char *name);

/* nil, "name: reason", errno for res < 0. */
int lwait_fail(lua_State *L, const struct lwait *w, int res);

/* Raise what is to be raised in the fiber of slot i. */
int lwait_raise(lua_State *L, struct lloop *p, uint32_t i);

/* Is a finalizer on L's stack? Then it may not yield: it blocks, and nobody sees its errors. */
bool lwait_finalizes(lua_State *L);

#endif
