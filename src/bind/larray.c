/*
 * larray - iolua.core.array: numbers that all workers share, as the class "iolua.array".
 */
#include "bind/bind.h"
#include "bind/larray.h"
#include "bind/open.h"
#include "core/array.h"

#include <string.h>

#define CLASS "iolua.array"

struct larray {
    struct array *array;
};

struct array *larray_check(lua_State *L, int arg)
{
    struct larray *ud = luaL_checkudata(L, arg, CLASS);

    luaL_argcheck(L, ud->array != NULL, arg, "array is closed");
    return ud->array;
}

static struct larray *push_empty(lua_State *L)
{
    struct larray *ud = lua_newuserdatauv(L, sizeof *ud, 0);

    ud->array = NULL;
    luaL_setmetatable(L, CLASS);
    return ud;
}

void larray_push(lua_State *L, struct array *a)
{
    push_empty(L)->array = array_ref(a);
}

/* array.new(count [, "integer" | "double"]) -> array | nil, message, errno */
static int larray_new(lua_State *L)
{
    static const char *const types[] = { "integer", "double", NULL };
    uint64_t count = (uint64_t)bind_checkrange(L, 1, 1, (lua_Integer)ARRAY_MAX);
    int doubles = luaL_checkoption(L, 2, "integer", types);
    int err = array_new(&push_empty(L)->array, count, doubles);

    return err < 0 ? bind_fail(L, err, "array") : 1;
}

static uint64_t index_at(lua_State *L, int arg, const struct array *a)
{
    return (uint64_t)bind_checkrange(L, arg, 1, (lua_Integer)a->count) - 1;
}

static void push_element(lua_State *L, const struct array *a, uint64_t i)
{
    if (a->doubles)
        lua_pushnumber(L, array_double(a, i));
    else
        lua_pushinteger(L, array_integer(a, i));
}

/* array[i] -> number, i from 1; array.name -> method */
static int larray_index(lua_State *L)
{
    const struct array *a;

    luaL_checkudata(L, 1, CLASS);
    if (lua_type(L, 2) == LUA_TSTRING) {        /* of closed ones too: close is a method */
        lua_settop(L, 2);
        lua_rawget(L, lua_upvalueindex(1));
        return 1;
    }
    a = larray_check(L, 1);
    push_element(L, a, index_at(L, 2, a));
    return 1;
}

static int larray_newindex(lua_State *L)
{
    struct array *a = larray_check(L, 1);
    uint64_t i = index_at(L, 2, a);

    if (a->doubles)
        array_set_double(a, i, luaL_checknumber(L, 3));
    else
        array_set_integer(a, i, bind_checkrange(L, 3, LUA_MININTEGER, LUA_MAXINTEGER));
    return 0;
}

static int larray_len(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer)larray_check(L, 1)->count);
    return 1;
}

/* array:add(i, v) -> the new value; no other worker's addition is lost */
static int larray_add(lua_State *L)
{
    struct array *a = larray_check(L, 1);
    uint64_t i = index_at(L, 2, a);

    if (a->doubles)
        lua_pushnumber(L, array_add_double(a, i, luaL_checknumber(L, 3)));
    else
        lua_pushinteger(L, array_add_integer(a, i, bind_checkrange(L, 3, LUA_MININTEGER,
                                                                   LUA_MAXINTEGER)));
    return 1;
}

/* array:type() -> "integer" or "double" */
static int larray_type(lua_State *L)
{
    lua_pushstring(L, larray_check(L, 1)->doubles ? "double" : "integer");
    return 1;
}

/* array.is(value) -> is it one? */
static int larray_is(lua_State *L)
{
    lua_pushboolean(L, luaL_testudata(L, 1, CLASS) != NULL);
    return 1;
}

static int larray_close(lua_State *L)   /* also __close and __gc */
{
    struct larray *ud = luaL_checkudata(L, 1, CLASS);
    struct array *a = ud->array;

    ud->array = NULL;
    array_unref(a);
    return 0;
}

static const luaL_Reg methods[] = {
    { "add", larray_add },
    { "type", larray_type },
    { "close", larray_close },
    { NULL, NULL },
};

static const luaL_Reg meta[] = {
    { "__newindex", larray_newindex },
    { "__len", larray_len },
    { "__close", larray_close },
    { "__gc", larray_close },
    { NULL, NULL },
};

static const luaL_Reg functions[] = {
    { "new", larray_new },
    { "is", larray_is },
    { NULL, NULL },
};

int larray_open(lua_State *L)
{
    bind_class(L, CLASS, methods, meta);
    luaL_getmetatable(L, CLASS);                /* meta */
    lua_getfield(L, -1, "__index");             /* meta methods */
    lua_pushcclosure(L, larray_index, 1);       /* meta index */
    lua_setfield(L, -2, "__index");
    lua_pop(L, 1);
    luaL_newlib(L, functions);
    return 1;
}
