/*
 * llatency - latencies of what fibers read and write, into a histogram of the script's.
 *
 * One clock reading a round of the loop: a request is stamped with the round in which it was
 * made, and recorded with the round in which its completion was taken. What other fibers of the
 * round do in Lua before it is submitted is part of it, as it is for who waits.
 */
#include "bind/lhist.h"
#include "bind/lopen.h"
#include "core/hist.h"

static const char KEY;          /* its address is the key of the histogram in the registry */

/* fiber.latency(hist | nil): record reads and writes there from now on; nil: no more */
static int llatency_set(lua_State *L)
{
    struct lloop *p = lua_touserdata(L, lua_upvalueindex(1));
    struct hist *h = lua_isnoneornil(L, 1) ? NULL : lhist_check(L, 1);

    lua_settop(L, 1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &KEY);    /* the histogram lives while it is used */
    p->latency = h;
    p->now = clock_now();
    return 0;
}

static const luaL_Reg functions[] = {
    { "latency", llatency_set },
    { NULL, NULL },
};

void lopen_latency(lua_State *L, struct lloop *p)
{
    lopen_functions(L, p, functions);
}
