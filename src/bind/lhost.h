/*
 * lhost - what a program that owns the process shares with the bindings: which coroutine runs
 * and whether a signal asked to stop. A host opts in; under a stock lua5.4 there is none.
 *
 * A signal's handler may set `signal` and call lhost_signal, nothing else. The request is
 * sticky: it raises once in the coroutine that runs and then at every wait, until the host
 * clears it. So pcall cannot swallow it for good.
 */
#ifndef IOLUA_BIND_LHOST_H
#define IOLUA_BIND_LHOST_H

#include <lua.h>
#include <signal.h>
#include <stdbool.h>

struct lhost {
    lua_State *volatile running;        /* the coroutine that runs Lua code now */
    volatile sig_atomic_t signal;       /* asked to stop; 0: nothing did */
    volatile sig_atomic_t raised;       /* it has been raised at least once */
    bool leave;                 /* a finalizer called os.exit */
};

/* Make h the host of this state. It must outlive it. */
void lhost_set(lua_State *L, struct lhost *h);

/* The host of this state, or NULL. */
struct lhost *lhost_of(lua_State *L);

/* From a signal handler: ask to stop because of sig. */
void lhost_signal(struct lhost *h, int sig);

/* "interrupted", "terminated", "hung up" ... */
const char *lhost_word(int sig);

/* Raise "interrupted" in L. */
int lhost_raise(lua_State *L, struct lhost *h);

/* A finalizer that ran in L called os.exit, and no error of it gets anywhere: at the next
 * instruction where it can, L leaves by lmain_leave. */
void lhost_leave(struct lhost *h, lua_State *L);

/*
 * lua_resume with the running coroutine kept: every resume in a host's process goes through
 * here. h may be NULL.
 */
static inline int lhost_resume(struct lhost *h, lua_State *co, lua_State *from, int nargs,
                               int *nres);

/* A signal came while another coroutine ran, which did not raise it: let L raise it. */
void lhost_rearm(struct lhost *h, lua_State *L);

static inline int lhost_resume(struct lhost *h, lua_State *co, lua_State *from, int nargs,
                               int *nres)
{
    int status;

    if (!h)
        return lua_resume(co, from, nargs, nres);
    h->running = co;
    status = lua_resume(co, from, nargs, nres);
    h->running = from;
    if (__builtin_expect(h->signal && !h->raised, 0))
        lhost_rearm(h, from);
    if (__builtin_expect(h->leave, 0)) {
        if (status > LUA_YIELD)
            lua_sethook(co, NULL, 0, 0);        /* its closers are to run to their ends */
        lhost_leave(h, from);
    }
    return status;
}

#endif
