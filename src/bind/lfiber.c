/*
 * lfiber - iolua.core.fiber: fibers as the class "iolua.fiber".
 */
#include "bind/bind.h"
#include "bind/lfiber.h"
#include "bind/lopen.h"
#include "bind/lwait.h"

static struct lfiber *check(lua_State *L, int arg)
{
    return luaL_checkudata(L, arg, LFIBER_CLASS);
}

static struct lloop *loop_of(lua_State *L)
{
    return lua_touserdata(L, lua_upvalueindex(1));
}

/* fiber.spawn(fn, ...) -> fiber: starts when this one waits */
static int lfiber_spawn(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TFUNCTION);
    lfiber_new(L, loop_of(L), lua_gettop(L) - 1);
    return 1;
}

/* Remember the failed fiber at index 1 as the one joined last, for the report. */
static void remember(lua_State *L, struct lloop *p)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, p);
    lua_pushvalue(L, 1);
    lua_rawsetp(L, -2, &p->failed);
    lua_pop(L, 1);
}

/* Push what the fiber at index 1 ended with. */
static int joined(lua_State *L, const struct lwait *w, int res)
{
    struct lfiber *f = check(L, 1);
    lua_State *base = f->base;
    int n = f->results;

    if (res < 0)
        return lwait_fail(L, w, res);
    if (f->state == LFIBER_CANCELLED)
        return bind_failmsg(L, -ECANCELED, "join: the fiber was cancelled");
    if (lua_gettop(base) != f->top)
        return luaL_error(L, "join: the script resumed the fiber's coroutine itself");
    luaL_checkstack(L, n + 1, "too many results");
    if (!lua_checkstack(base, n + 1))
        return luaL_error(L, "too many results");
    for (int i = 0; i < n; i++)
        lua_pushvalue(base, -n);
    lua_xmove(base, L, n);
    if (f->state != LFIBER_FAILED)
        return n;
    remember(L, loop_of(L));
    lfiber_seen(L, loop_of(L), f);
    return lua_error(L);
}

static const struct lwait JOIN = { "join", joined };

/* t:join([timeout_ns]) -> its results; raises its error; nil, message, ECANCELED | ETIME */
static int lfiber_join(lua_State *L)
{
    struct lfiber *f = check(L, 1);
    struct lloop *p = loop_of(L);
    lua_Integer timeout = bind_optrange(L, 2, 0, INT64_MAX / 2, -1);

    lua_settop(L, 1);
    if (f->state != LFIBER_ALIVE)
        return joined(L, &JOIN, 0);
    if (f->base == L)
        return luaL_error(L, "a fiber cannot join itself");
    return lwait_list(L, p, &f->joiners, timeout, &JOIN);
}

/* t:cancel() -> boolean: was it alive? It raises "cancelled" where it waits. */
static int lfiber_cancel(lua_State *L)
{
    struct lfiber *f = check(L, 1);
    struct lloop *p = loop_of(L);

    lua_pushboolean(L, f->state == LFIBER_ALIVE);
    if (f->state != LFIBER_ALIVE)
        return 1;
    if (lloop_slot(p, f->slot)->raise == RAISE_NOTHING)
        lloop_slot(p, f->slot)->raise = RAISE_CANCEL;
    if (lloop_slot(p, f->slot)->co == L && lua_isyieldable(L))
        return lwait_raise(L, p, f->slot);      /* itself */
    lloop_give_up(p, f->slot);
    return 1;
}

/* t:status() -> "running" "waiting" "ready" "done" "failed" "cancelled" */
static int lfiber_status(lua_State *L)
{
    static const char *const ended_as[] = { "", "done", "failed", "cancelled" };
    struct lfiber *f = check(L, 1);
    const char *name = ended_as[f->state];

    if (f->state == LFIBER_ALIVE) {
        uint8_t state = lloop_slot(loop_of(L), f->slot)->state;

        name = state == SLOT_RUNNING ? "running" : state == SLOT_READY ? "ready" : "waiting";
    }
    lua_pushstring(L, name);
    return 1;
}

/* t:traceback() -> text of where it failed, or of where it is now */
static int lfiber_traceback(lua_State *L)
{
    struct lfiber *f = check(L, 1);

    if (lua_getiuservalue(L, 1, LFIBER_TRACEBACK) != LUA_TSTRING)
        luaL_traceback(L, f->base, NULL, 0);
    return 1;
}

/* fiber.current() -> fiber | nil outside one */
static int lfiber_current(lua_State *L)
{
    struct lloop *p = loop_of(L);
    uint32_t i = lloop_fiber(p, L);

    if (i)
        lfiber_push_held(L, p, lloop_slot(p, i)->fiber);
    else
        luaL_pushfail(L);
    return 1;
}

static int lfiber_tostring(lua_State *L)
{
    lua_settop(L, 1);
    lfiber_status(L);
    lua_pushfstring(L, "fiber (%s): %p", lua_tostring(L, -1), (void *)check(L, 1)->base);
    return 1;
}

static const luaL_Reg methods[] = {
    { "join", lfiber_join },
    { "cancel", lfiber_cancel },
    { "status", lfiber_status },
    { "traceback", lfiber_traceback },
    { NULL, NULL },
};

static const luaL_Reg meta[] = {
    { "__tostring", lfiber_tostring },
    { NULL, NULL },
};

static const luaL_Reg functions[] = {
    { "spawn", lfiber_spawn },
    { "current", lfiber_current },
    { NULL, NULL },
};

void lopen_fiber(lua_State *L, struct lloop *p)
{
    lopen_class(L, p, LFIBER_CLASS, methods, meta);
    lopen_functions(L, p, functions);
}
