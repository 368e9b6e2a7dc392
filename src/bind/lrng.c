/*
 * lrng - reproducible random numbers (core/rng.h): the order of an experiment's runs, hooks.
 */
#include "bind/bind.h"
#include "bind/open.h"
#include "core/rng.h"

#define CLASS      "iolua.rng"
#define STREAM_MAX 65535

static struct rng *check(lua_State *L)
{
    return luaL_checkudata(L, 1, CLASS);
}

/* rng.new(seed [, stream]) -> rng: any integer seed; streams 0 .. 65535 do not overlap */
static int lrng_new(lua_State *L)
{
    lua_Integer seed = bind_checkrange(L, 1, LUA_MININTEGER, LUA_MAXINTEGER);
    lua_Integer stream = bind_optrange(L, 2, 0, STREAM_MAX, 0);
    struct rng *r = lua_newuserdatauv(L, sizeof *r, 0);

    rng_seed(r, (uint64_t)seed, (unsigned)stream);
    luaL_setmetatable(L, CLASS);
    return 1;
}

/* rng:next() -> integer: 64 random bits, so negative half of the time */
static int lrng_next(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer)rng_next(check(L)));
    return 1;
}

/* rng:below(n) -> integer in 0 .. n - 1 */
static int lrng_below(lua_State *L)
{
    struct rng *r = check(L);
    lua_Integer n = bind_checkrange(L, 2, 1, LUA_MAXINTEGER);

    lua_pushinteger(L, (lua_Integer)rng_below(r, (uint64_t)n));
    return 1;
}

/* rng:unit() -> float in [0, 1) */
static int lrng_unit(lua_State *L)
{
    lua_pushnumber(L, rng_unit(check(L)));
    return 1;
}

/* rng:shuffle(list) -> list: in place, every order equally likely (Fisher and Yates) */
static int lrng_shuffle(lua_State *L)
{
    struct rng *r = check(L);

    luaL_checktype(L, 2, LUA_TTABLE);
    for (lua_Unsigned i = lua_rawlen(L, 2); i > 1; i--) {
        lua_Integer j = 1 + (lua_Integer)rng_below(r, i);

        lua_rawgeti(L, 2, (lua_Integer)i);
        lua_rawgeti(L, 2, j);                   /* ... list[i] list[j] */
        lua_rawseti(L, 2, (lua_Integer)i);
        lua_rawseti(L, 2, j);
    }
    lua_settop(L, 2);
    return 1;
}

static const luaL_Reg methods[] = {
    { "next", lrng_next }, { "below", lrng_below }, { "unit", lrng_unit },
    { "shuffle", lrng_shuffle },
    { NULL, NULL },
};

static const luaL_Reg meta[] = {
    { NULL, NULL },
};

static const luaL_Reg functions[] = {
    { "new", lrng_new },
    { NULL, NULL },
};

int lrng_open(lua_State *L)
{
    bind_class(L, CLASS, methods, meta);
    luaL_newlib(L, functions);
    return 1;
}
