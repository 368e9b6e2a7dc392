/*
 * lfiber - a fiber: a coroutine that the loop made and resumes.
 *
 * Its results stay on its own stack after it has ended, until nobody refers to it any more.
 * While it lives the loop holds it; a failed one is held until somebody has joined it, so that
 * no error vanishes.
 */
#ifndef IOLUA_BIND_LFIBER_H
#define IOLUA_BIND_LFIBER_H

#include "bind/lloop.h"

#define LFIBER_CLASS "iolua.fiber"

enum { LFIBER_COROUTINE = 1, LFIBER_TRACEBACK = 2 };    /* user values */

enum lfiber_state {
    LFIBER_ALIVE,
    LFIBER_DONE,                /* its results are on top of its stack */
    LFIBER_FAILED,              /* its error is on top of its stack */
    LFIBER_CANCELLED,           /* it ended by the error that cancel raised */
};

struct lfiber {                 /* userdata of LFIBER_CLASS */
    lua_State *base;
    uint32_t slot;              /* while it is alive, or failed and not joined */
    uint8_t state;
    bool raised_cancel;         /* cancel was raised in it */
    int results;
    int top;                    /* of its stack when it had ended */
    struct slot_list joiners;
};

/* Make a fiber of the function below nargs arguments on top of L; pops them and pushes it. */
struct lfiber *lfiber_new(lua_State *L, struct lloop *p, int nargs);

/* Slot `to` takes the fiber of slot `from` over; what is out stays with `from`. */
void lfiber_move(struct lloop *p, uint32_t from, uint32_t to);

/* Push the userdata that the loop holds under this address; nil when it holds none. */
void lfiber_push_held(lua_State *L, struct lloop *p, const void *f);

/* Push the error of the failed fiber at index `at` (absolute): a string with its traceback,
 * another value as it is. */
void lfiber_push_error(lua_State *L, struct lloop *p, int at);

/* Somebody has seen its error: it is no longer held. */
void lfiber_seen(lua_State *L, struct lloop *p, struct lfiber *f);

/* If a fiber failed that nobody has joined: push its error, it is seen now. */
bool lfiber_push_unseen(lua_State *L, struct lloop *p);

/* Start the fiber of slot i. */
void lfiber_start(lua_State *L, struct lloop *p, uint32_t i);

/* Its coroutine has stopped with n values, otherwise than by waiting. */
void lfiber_stopped(lua_State *L, struct lloop *p, uint32_t i, int status, int n);

/* Go on with the fiber of slot i, whose wait gave res. L is any state that may resume. */
static inline void lfiber_resume(lua_State *L, struct lloop *p, uint32_t i, int res)
{
    struct slot *s = lloop_slot(p, i);
    lua_State *base = s->base;
    int n, status;

    s->state = SLOT_RUNNING;
    s->res = res;
    p->current = i;
    if (__builtin_expect(s->fresh, 0)) {
        lfiber_start(L, p, i);
        return;
    }
    lua_pushinteger(base, res);         /* a function that waits left room for it */
    status = lhost_resume(p->host, base, L, 1, &n);
    if (__builtin_expect(status != LUA_YIELD || lloop_slot(p, i)->state == SLOT_RUNNING, 0))
        lfiber_stopped(L, p, i, status, n);
}

#endif
