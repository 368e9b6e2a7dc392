#include "bind/bind.h"
#include "bind/lhost.h"
#include "bind/lrun.h"
#include "bind/open.h"

static const char KEY;          /* its address is the key of the marks in the registry */

struct lrun lrun_marks(lua_State *L)
{
    struct lrun none = { false, false }, *marks;

    lua_rawgetp(L, LUA_REGISTRYINDEX, &KEY);
    marks = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return marks ? *marks : none;
}

static struct lrun *marks_of(lua_State *L)
{
    return lua_touserdata(L, lua_upvalueindex(1));
}

/* run.mark_errors(): measured, but I/O errors occurred; the runner ends with status 3. */
static int lrun_mark_errors(lua_State *L)
{
    marks_of(L)->errors = true;
    return 0;
}

/* run.mark_unrestored(): something was not put back; the runner ends with status 4. */
static int lrun_mark_unrestored(lua_State *L)
{
    marks_of(L)->unrestored = true;
    return 0;
}

/* run.marks() -> errors, unrestored */
static int lrun_marks_lua(lua_State *L)
{
    lua_pushboolean(L, marks_of(L)->errors);
    lua_pushboolean(L, marks_of(L)->unrestored);
    return 2;
}

/* run.interrupted() -> "interrupted" "terminated" "hung up", the signal's number | nil: the
 * signal that asked this run to end */
static int lrun_interrupted(lua_State *L)
{
    struct lhost *h = lhost_of(L);

    if (!h || !h->signal)
        return 0;
    lua_pushstring(L, lhost_word(h->signal));
    lua_pushinteger(L, h->signal);
    return 2;
}

static const luaL_Reg functions[] = {
    { "mark_errors", lrun_mark_errors },
    { "mark_unrestored", lrun_mark_unrestored },
    { "marks", lrun_marks_lua },
    { "interrupted", lrun_interrupted },
    { NULL, NULL },
};

int lrun_open(lua_State *L)
{
    struct lrun *marks;

    luaL_newlibtable(L, functions);                     /* run */
    marks = lua_newuserdatauv(L, sizeof *marks, 0);     /* run marks */
    *marks = (struct lrun){ false, false };
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &KEY);
    luaL_setfuncs(L, functions, 1);                     /* run */
    return 1;
}
