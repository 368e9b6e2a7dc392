/*
 * ldraw - fiber.draw: a function that gives one position after another, without a check or a
 * number of Lua's own: an eighth of what drawing costs in a script.
 */
#include "bind/ldraw.h"
#include "bind/lopen.h"

/* draw() -> position */
static int draw(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer)ldraw_next(lua_touserdata(L, lua_upvalueindex(1))));
    return 1;
}

struct ldraw *ldraw_check(lua_State *L, int arg)
{
    struct ldraw *d;

    luaL_argcheck(L, lua_tocfunction(L, arg) == draw, arg,
                  "what iolua.fiber.draw gives is expected");
    lua_getupvalue(L, arg, 1);
    d = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return d;
}

/* fiber.draw(first, step, count [, seed]) -> draw: random with a seed, else in sequence */
static int ldraw_draw(lua_State *L)
{
    lua_Integer first = bind_checkrange(L, 1, 0, LUA_MAXINTEGER);
    lua_Integer step = bind_checkrange(L, 2, 1, LUA_MAXINTEGER - first);
    lua_Integer count = bind_checkrange(L, 3, 1, (LUA_MAXINTEGER - first) / step);
    lua_Integer seed = bind_optrange(L, 4, LUA_MININTEGER, LUA_MAXINTEGER, 0);
    struct ldraw *d = lua_newuserdatauv(L, sizeof *d, 0);

    *d = (struct ldraw){ .first = (uint64_t)first, .step = (uint64_t)step,
                         .count = (uint64_t)count, .random = !lua_isnoneornil(L, 4) };
    rng_seed(&d->rng, (uint64_t)seed, 0);
    lua_pushcclosure(L, draw, 1);
    return 1;
}

static const luaL_Reg functions[] = {
    { "draw", ldraw_draw },
    { NULL, NULL },
};

void lopen_draw(lua_State *L, struct lloop *p)
{
    lopen_functions(L, p, functions);
}
