/*
 * lwrap - fiber.wrap: a generator whose body may wait in the loop.
 *
 * While the generator runs, it is the coroutine of the caller's slot that may wait. Its wait
 * yields to the caller, which yields on to the loop, and the way back hands the result down.
 */
#include "bind/lopen.h"
#include "bind/lwait.h"

enum { UP_LOOP = 1, UP_COROUTINE, UP_WAITING };

static void set_waiting(lua_State *L, bool waiting)
{
    lua_pushboolean(L, waiting);
    lua_replace(L, lua_upvalueindex(UP_WAITING));
}

/* Let co be the coroutine that may wait for the fiber of slot i. */
static void be_current(struct lloop *p, uint32_t i, lua_State *co)
{
    lloop_slot(p, i)->co = co;
    *(uintptr_t *)lua_getextraspace(co) = i;
    p->running = NULL;
}

/* co failed: its closers run, then its error is raised here. */
static int failed(lua_State *L, struct lloop *p, lua_State *co)
{
    bool quiet = p->quiet;

    if (lua_status(co) != LUA_OK && lua_status(co) != LUA_YIELD) {
        p->quiet = true;                /* waits of its closers block */
        lua_resetthread(co);
        p->quiet = quiet;
    }
    lua_xmove(co, L, 1);
    return lua_error(L);
}

static int came_back(lua_State *L, int status, lua_KContext fiber);

/* Resume co with nargs values from the top of L, in a fiber that can wait or not. */
static int go_on(lua_State *L, struct lloop *p, lua_State *co, int nargs, bool fiber)
{
    int n, status;

    if (!lua_checkstack(co, nargs))
        return luaL_error(L, "too many arguments");
    if (fiber)
        be_current(p, p->current, co);
    lua_xmove(L, co, nargs);
    status = lhost_resume(p->host, co, L, nargs, &n);
    if (fiber && status == LUA_YIELD &&
        (lloop_slot(p, p->current)->state != SLOT_RUNNING || p->leaving)) {
        set_waiting(L, true);
        return lua_yieldk(L, 0, 1, came_back);
    }
    if (fiber) {
        *(uintptr_t *)lua_getextraspace(co) = 0;
        be_current(p, p->current, L);
    }
    set_waiting(L, false);
    if (status != LUA_OK && status != LUA_YIELD)
        return failed(L, p, co);
    luaL_checkstack(L, n, "too many results");
    lua_xmove(co, L, n);
    return n;
}

/* The loop resumes the fiber: what came is for the generator that waits. */
static int came_back(lua_State *L, int status, lua_KContext fiber)
{
    struct lloop *p = lua_touserdata(L, lua_upvalueindex(UP_LOOP));
    lua_State *co = lua_tothread(L, lua_upvalueindex(UP_COROUTINE));

    (void)status;
    return go_on(L, p, co, 1, fiber != 0);
}

static int call(lua_State *L)
{
    struct lloop *p = lua_touserdata(L, lua_upvalueindex(UP_LOOP));
    lua_State *co = lua_tothread(L, lua_upvalueindex(UP_COROUTINE));

    if (lua_toboolean(L, lua_upvalueindex(UP_WAITING)))
        return luaL_error(L, "the generator waits in another fiber");
    return go_on(L, p, co, lua_gettop(L), lloop_fiber(p, L) && lua_isyieldable(L));
}

/* fiber.wrap(fn) -> function, as coroutine.wrap */
static int lwrap_wrap(lua_State *L)
{
    lua_State *co;

    luaL_checktype(L, 1, LUA_TFUNCTION);
    lua_pushvalue(L, lua_upvalueindex(1));
    co = lua_newthread(L);                      /* fn ... loop co */
    lua_pushvalue(L, 1);
    lua_xmove(L, co, 1);
    lua_pushboolean(L, 0);
    lua_pushcclosure(L, call, 3);
    return 1;
}

static const luaL_Reg functions[] = {
    { "wrap", lwrap_wrap },
    { NULL, NULL },
};

void lopen_wrap(lua_State *L, struct lloop *p)
{
    lopen_functions(L, p, functions);
}
