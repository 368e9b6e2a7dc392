/*
 * lspot - iolua.core.spot: places of a region as the class "iolua.spot".
 *
 * What a job's workers draw in C; scripts and tests look at the same numbers one by one.
 * lua/iolua/distribution.lua makes the tables that are read here.
 */
#include <errno.h>
#include <string.h>

#include "bind/bind.h"
#include "bind/lspot.h"
#include "bind/open.h"
#include "core/spot.h"

#define CLASS      "iolua.spot"
#define STREAM_MAX 65535

struct lspot {
    struct rng rng;
    struct spot spot;
};

static enum spot_kind kind(lua_State *L, int arg)
{
    static const char *const names[] = {
        [SPOT_SEQUENTIAL] = "sequential", [SPOT_UNIFORM] = "uniform",
        [SPOT_NOREPEAT] = "norepeat", [SPOT_STRIDE] = "stride", [SPOT_ZIPF] = "zipf",
        [SPOT_PARETO] = "pareto", [SPOT_NORMAL] = "normal", [SPOT_ZONED] = "zoned",
    };
    const char *name = bind_stringfield(L, arg, "kind");

    for (unsigned i = 0; name && i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return (enum spot_kind)i;
    luaL_argerror(L, arg, lua_pushfstring(L, "kind %s is not known", name ? name : "nil"));
    return SPOT_UNIFORM;
}

static double parameter(lua_State *L, int arg)
{
    int type = lua_getfield(L, arg, "parameter");
    double v = lua_tonumber(L, -1);

    lua_pop(L, 1);
    if (type != LUA_TNUMBER && type != LUA_TNIL)
        luaL_argerror(L, arg, "parameter must be a number");
    return v;
}

/* The list of shares in field `key`: its length, 0 for nil. */
static unsigned read_shares(lua_State *L, int arg, const char *key, uint32_t *shares)
{
    lua_Integer n = 0, v;
    int ok;

    if (lua_getfield(L, arg, key) == LUA_TTABLE) {      /* ... list */
        n = (lua_Integer)lua_rawlen(L, -1);
        luaL_argcheck(L, n <= (lua_Integer)MIX_MAX, arg, "more than 256 zones");
    }
    for (lua_Integer i = 1; i <= n; i++) {
        lua_rawgeti(L, -1, i);
        v = lua_tointegerx(L, -1, &ok);
        luaL_argcheck(L, ok && v >= 0 && v <= (lua_Integer)MIX_WHOLE, arg, "bad share");
        shares[i - 1] = (uint32_t)v;
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return (unsigned)n;
}

void lspot_spec(lua_State *L, int arg, struct spot_spec *s)
{
    luaL_checktype(L, arg, LUA_TTABLE);
    memset(s, 0, sizeof *s);
    s->kind = kind(L, arg);
    s->parameter = parameter(L, arg);
    s->stride = (uint64_t)bind_field(L, arg, "stride", 1, LUA_MAXINTEGER, 1);
    s->scatter = bind_flag(L, arg, "scatter");
    s->scatter_seed = (uint64_t)bind_field(L, arg, "scatter_seed", LUA_MININTEGER,
                                           LUA_MAXINTEGER, 0);
    s->zones = read_shares(L, arg, "access", s->access);
    luaL_argcheck(L, read_shares(L, arg, "size", s->size) == s->zones, arg,
                  "as many sizes as accesses are needed");
}

/* spot.new(spec, blocks, seed [, stream]) -> spot | nil, message, errno */
static int lspot_new(lua_State *L)
{
    lua_Integer blocks = bind_checkrange(L, 2, 1, LUA_MAXINTEGER);
    lua_Integer seed = bind_checkrange(L, 3, LUA_MININTEGER, LUA_MAXINTEGER);
    lua_Integer stream = bind_optrange(L, 4, 0, STREAM_MAX, 0);
    struct spot_spec spec;
    struct lspot *ud;
    int err;

    lspot_spec(L, 1, &spec);
    ud = lua_newuserdatauv(L, sizeof *ud, 0);
    rng_seed(&ud->rng, (uint64_t)seed, (unsigned)stream);
    err = spot_init(&ud->spot, &spec, (uint64_t)blocks, &ud->rng);
    if (err == -ERANGE)
        return bind_failmsg(L, err, "distribution: a zone has no block");
    if (err < 0)
        return bind_fail(L, err, "distribution");
    luaL_setmetatable(L, CLASS);
    return 1;
}

/* spot:next() -> block, 0 .. blocks - 1 */
static int lspot_next(lua_State *L)
{
    struct lspot *ud = luaL_checkudata(L, 1, CLASS);

    lua_pushinteger(L, (lua_Integer)spot_next(&ud->spot, &ud->rng));
    return 1;
}

static const luaL_Reg methods[] = {
    { "next", lspot_next },
    { NULL, NULL },
};

static const luaL_Reg meta[] = {
    { NULL, NULL },
};

static const luaL_Reg functions[] = {
    { "new", lspot_new },
    { NULL, NULL },
};

int lspot_open(lua_State *L)
{
    bind_class(L, CLASS, methods, meta);
    luaL_newlib(L, functions);
    return 1;
}
