#include <stdlib.h>

#include "bind/lmain.h"
#include "leave.h"

#include <lauxlib.h>

static int status_asked;        /* of this process: there is one exit */

int leave_status(void)
{
    return status_asked;
}

/* os.exit([code [, close]]): ends the run by unwinding it; the state is always closed. */
static int leave_exit(lua_State *L)
{
    lua_Integer status;

    if (lua_isboolean(L, 1))
        status = lua_toboolean(L, 1) ? EXIT_SUCCESS : EXIT_FAILURE;
    else
        status = luaL_optinteger(L, 1, EXIT_SUCCESS);
    status_asked = (int)status & 0xff;
    lmain_leave(L);             /* does not return in a fiber; pcall cannot swallow it */
    lua_createtable(L, 0, 1);
    lua_pushinteger(L, status_asked);
    lua_setfield(L, -2, "iolua_exit");
    return lua_error(L);
}

void leave_open(lua_State *L)
{
    lua_getglobal(L, "os");
    lua_pushcfunction(L, leave_exit);
    lua_setfield(L, -2, "exit");
    lua_pop(L, 1);
}
