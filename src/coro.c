#include "bind/lloop.h"
#include "coro.h"

#include <lauxlib.h>

static struct lhost *host(lua_State *L)
{
    return lua_touserdata(L, lua_upvalueindex(1));
}

static lua_State *thread_at(lua_State *L, int arg)
{
    lua_State *co = lua_tothread(L, arg);

    if (!co)
        luaL_typeerror(L, arg, "coroutine");
    return co;
}

/* Is co a fiber? Only the loop may resume or close it; one that has ended keeps its results on
 * its stack for join. */
static bool is_fiber(lua_State *L, lua_State *co, bool *ended)
{
    uintptr_t mark = *(uintptr_t *)lua_getextraspace(co);

    *ended = mark == LLOOP_ENDED;
    return *ended || (mark != 0 && co != L && lloop_fiber(lloop_of(L), co));
}

/* Resume co with the nargs values on top of L. Pushes and counts its results, or pushes the
 * error and returns -1. */
static int resume(lua_State *L, lua_State *co, int nargs)
{
    int status, nres;
    bool ended;

    if (is_fiber(L, co, &ended)) {
        lua_pushstring(L, ended ? "cannot resume dead coroutine"
                                : "cannot resume a fiber: the loop does");
        return -1;
    }
    if (!lua_checkstack(co, nargs)) {
        lua_pushliteral(L, "too many arguments to resume");
        return -1;
    }
    lua_xmove(L, co, nargs);
    status = lhost_resume(host(L), co, L, nargs, &nres);
    if (status != LUA_OK && status != LUA_YIELD) {
        lua_xmove(co, L, 1);
        return -1;
    }
    if (!lua_checkstack(L, nres + 1)) {
        lua_pop(co, nres);
        lua_pushliteral(L, "too many results to resume");
        return -1;
    }
    lua_xmove(co, L, nres);
    return nres;
}

/* coroutine.resume(co, ...) -> true, ... | false, error */
static int coro_resume(lua_State *L)
{
    lua_State *co = thread_at(L, 1);
    int n = resume(L, co, lua_gettop(L) - 1);

    lua_pushboolean(L, n >= 0);
    lua_insert(L, n >= 0 ? -(n + 1) : -2);
    return n >= 0 ? n + 1 : 2;
}

/* A generator failed: let its closers run, and raise what it raised, with the place. */
static int raise_from(lua_State *L, lua_State *co)
{
    int status = lua_status(co);

    if (status != LUA_OK && status != LUA_YIELD) {
        struct lhost *h = host(L);

        h->running = co;
        status = lua_resetthread(co);
        h->running = L;
        lua_xmove(co, L, 1);                    /* error, maybe that of a closer */
    }
    if (status != LUA_ERRMEM && lua_type(L, -1) == LUA_TSTRING) {
        luaL_where(L, 1);
        lua_insert(L, -2);
        lua_concat(L, 2);
    }
    return lua_error(L);
}

static int call_wrapped(lua_State *L)
{
    lua_State *co = lua_tothread(L, lua_upvalueindex(2));
    int n = resume(L, co, lua_gettop(L));

    return n >= 0 ? n : raise_from(L, co);
}

/* coroutine.wrap(f) -> function */
static int coro_wrap(lua_State *L)
{
    lua_State *co;

    luaL_checktype(L, 1, LUA_TFUNCTION);
    lua_pushvalue(L, lua_upvalueindex(1));
    co = lua_newthread(L);                      /* f ... host co */
    lua_pushvalue(L, 1);
    lua_xmove(L, co, 1);
    lua_pushcclosure(L, call_wrapped, 2);
    return 1;
}

/* Is co neither running nor waiting for one that it resumed? */
static int at_rest(lua_State *L, lua_State *co)
{
    lua_Debug ar;

    if (co == L)
        return 0;
    return lua_status(co) != LUA_OK || !lua_getstack(co, 0, &ar);
}

/* coroutine.close(co) -> true | false, error */
static int coro_close(lua_State *L)
{
    lua_State *co = thread_at(L, 1);
    struct lhost *h = host(L);
    bool ended;
    int status;

    if (is_fiber(L, co, &ended) && !ended)
        return luaL_error(L, "cannot close a fiber: cancel it");
    if (ended)
        return lua_pushboolean(L, 1), 1;
    if (!at_rest(L, co))
        return luaL_error(L, "cannot close a %s coroutine", co == L ? "running" : "normal");
    h->running = co;
    status = lua_resetthread(co);
    h->running = L;
    lua_pushboolean(L, status == LUA_OK);
    if (status == LUA_OK)
        return 1;
    lua_xmove(co, L, 1);
    return 2;
}

static const luaL_Reg functions[] = {
    { "resume", coro_resume },
    { "wrap", coro_wrap },
    { "close", coro_close },
    { NULL, NULL },
};

void coro_track(lua_State *L, struct lhost *h)
{
    lua_getglobal(L, "coroutine");              /* coroutine */
    lua_pushlightuserdata(L, h);
    luaL_setfuncs(L, functions, 1);
    lua_pop(L, 1);
}
