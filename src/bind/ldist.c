/*
 * ldist - orders without a table (core/dist.h): every block once, in constant memory.
 */
#include "bind/bind.h"
#include "bind/open.h"
#include "core/dist.h"

#define CLASS "iolua.permutation"

static struct dist_perm *check(lua_State *L)
{
    return luaL_checkudata(L, 1, CLASS);
}

/* dist.permutation(n, seed) -> permutation of 0 .. n - 1 */
static int ldist_permutation(lua_State *L)
{
    lua_Integer n = bind_checkrange(L, 1, 1, LUA_MAXINTEGER);
    lua_Integer seed = bind_checkrange(L, 2, LUA_MININTEGER, LUA_MAXINTEGER);
    struct dist_perm *p = lua_newuserdatauv(L, sizeof *p, 0);
    struct rng r;

    rng_seed(&r, (uint64_t)seed, 0);
    dist_perm_init(p, (uint64_t)n, &r);
    luaL_setmetatable(L, CLASS);
    return 1;
}

/* permutation:at(i) -> where index i, 0 .. n - 1, goes */
static int ldist_at(lua_State *L)
{
    struct dist_perm *p = check(L);
    lua_Integer i = bind_checkrange(L, 2, 0, (lua_Integer)p->n - 1);

    lua_pushinteger(L, (lua_Integer)dist_perm_at(p, (uint64_t)i));
    return 1;
}

/* #permutation -> n */
static int ldist_len(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer)check(L)->n);
    return 1;
}

static const luaL_Reg methods[] = {
    { "at", ldist_at },
    { NULL, NULL },
};

static const luaL_Reg meta[] = {
    { "__len", ldist_len },
    { NULL, NULL },
};

static const luaL_Reg functions[] = {
    { "permutation", ldist_permutation },
    { NULL, NULL },
};

int ldist_open(lua_State *L)
{
    bind_class(L, CLASS, methods, meta);
    luaL_newlib(L, functions);
    return 1;
}
