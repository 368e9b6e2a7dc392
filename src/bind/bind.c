#include <string.h>

#include "bind/bind.h"

static lua_Integer in_range(lua_State *L, lua_Integer v, lua_Integer lo, lua_Integer hi, int arg,
                            const char *key)
{
    const char *what;

    if (v >= lo && v <= hi)
        return v;
    what = lua_pushfstring(L, "%s%s%I is not in %I..%I", key ? key : "", key ? " = " : "",
                           (LUAI_UACINT)v, (LUAI_UACINT)lo, (LUAI_UACINT)hi);
    return luaL_argerror(L, arg, what);
}

lua_Integer bind_checkrange(lua_State *L, int arg, lua_Integer lo, lua_Integer hi)
{
    if (lua_type(L, arg) != LUA_TNUMBER)        /* no strings that look like numbers */
        luaL_typeerror(L, arg, "integer");
    return in_range(L, luaL_checkinteger(L, arg), lo, hi, arg, NULL);
}

lua_Integer bind_optrange(lua_State *L, int arg, lua_Integer lo, lua_Integer hi, lua_Integer def)
{
    return lua_isnoneornil(L, arg) ? def : bind_checkrange(L, arg, lo, hi);
}

lua_Integer bind_field(lua_State *L, int arg, const char *key, lua_Integer lo, lua_Integer hi,
                       lua_Integer def)
{
    int type = lua_getfield(L, arg, key), ok;
    lua_Integer v = lua_tointegerx(L, -1, &ok);

    lua_pop(L, 1);
    if (type == LUA_TNIL)
        return def;
    if (type != LUA_TNUMBER || !ok)
        return luaL_argerror(L, arg, lua_pushfstring(L, "%s must be an integer", key));
    return in_range(L, v, lo, hi, arg, key);
}

int bind_flag(lua_State *L, int arg, const char *key)
{
    int type = lua_getfield(L, arg, key), v = lua_toboolean(L, -1);

    lua_pop(L, 1);
    if (type != LUA_TNIL && type != LUA_TBOOLEAN)
        return luaL_argerror(L, arg, lua_pushfstring(L, "%s must be a boolean", key));
    return v;
}

const char *bind_stringfield(lua_State *L, int arg, const char *key)
{
    int type = lua_getfield(L, arg, key);
    size_t len = 0;
    const char *s = type == LUA_TSTRING ? lua_tolstring(L, -1, &len) : NULL;

    lua_pop(L, 1);
    if (type != LUA_TNIL && type != LUA_TSTRING)
        luaL_argerror(L, arg, lua_pushfstring(L, "%s must be a string", key));
    if (s && strlen(s) != len)
        luaL_argerror(L, arg, lua_pushfstring(L, "%s contains a NUL byte", key));
    return s;
}

const char *bind_checkpath(lua_State *L, int arg)
{
    size_t len;
    const char *s;

    if (lua_type(L, arg) != LUA_TSTRING)
        luaL_typeerror(L, arg, "string");
    s = lua_tolstring(L, arg, &len);
    luaL_argcheck(L, strlen(s) == len, arg, "string contains a NUL byte");
    return s;
}

const char *bind_reason(int err)
{
    const char *text = strerrordesc_np(err < 0 ? -err : err);

    return text ? text : "unknown error";
}

int bind_failmsg(lua_State *L, int err, const char *message)
{
    luaL_pushfail(L);
    lua_pushstring(L, message);
    lua_pushinteger(L, -err);
    return 3;
}

int bind_fail(lua_State *L, int err, const char *what)
{
    luaL_pushfail(L);
    lua_pushfstring(L, "%s: %s", what, bind_reason(err));
    lua_pushinteger(L, -err);
    return 3;
}

void bind_class(lua_State *L, const char *name, const luaL_Reg *methods, const luaL_Reg *meta)
{
    if (!luaL_newmetatable(L, name))
        luaL_error(L, "class %s exists already: iolua is loaded twice", name);
    luaL_setfuncs(L, meta, 0);                  /* meta */
    lua_newtable(L);                            /* meta methods */
    luaL_setfuncs(L, methods, 0);
    lua_setfield(L, -2, "__index");             /* meta */
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 1);
}

void bind_pushu64(lua_State *L, uint64_t value)
{
    if (value <= (uint64_t)LUA_MAXINTEGER)
        lua_pushinteger(L, (lua_Integer)value);
    else
        lua_pushnumber(L, (lua_Number)value);
}

void bind_setu64(lua_State *L, const char *key, uint64_t value)
{
    bind_pushu64(L, value);
    lua_setfield(L, -2, key);
}
