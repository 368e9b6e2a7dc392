/*
 * lclock - the monotonic clock (core/clock.h) for scripts that time things themselves.
 */
#include "bind/bind.h"
#include "bind/open.h"
#include "core/clock.h"

/* clock.now() -> ns of CLOCK_MONOTONIC */
static int lclock_now(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer)clock_now());
    return 1;
}

static const luaL_Reg functions[] = {
    { "now", lclock_now },
    { NULL, NULL },
};

int lclock_open(lua_State *L)
{
    luaL_newlib(L, functions);
    return 1;
}
