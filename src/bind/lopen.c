/*
 * lopen - makes the loop of a state, and iolua.core.fiber around it; closes it with the state.
 */
#include <stdlib.h>
#include <string.h>

#include "bind/lend.h"
#include "bind/lopen.h"
#include "bind/open.h"

#define CLASS "iolua.loop"
#define CLOSE_GRACE_NS (5 * CLOCK_SECOND)

static const char KEY;          /* its address is the key of the loop in the registry */

struct lloop *lloop_of(lua_State *L)
{
    struct lloop *p;

    lua_rawgetp(L, LUA_REGISTRYINDEX, &KEY);
    p = lua_touserdata(L, -1);
    lua_pop(L, 1);
    if (!p)
        luaL_error(L, "iolua.core is not loaded");
    return p;
}

/* What requests used that are no longer out. */
static void return_all(struct lloop *p)
{
    for (uint32_t i = 1; i < p->slots.used; i++) {
        struct slot *s = lloop_slot(p, i);

        free(s->room);
        lend_free(s->memory);
        if (s->buf)
            lend_return_buf(s->buf);
        if (s->file)
            lend_return_file(s->file);
    }
}

/* lua_close: cancel what is out and wait for it. What does not come back within the grace is
 * never freed: the kernel may still write there. */
static int loop_gc(lua_State *L)
{
    struct lloop *p = luaL_checkudata(L, 1, CLASS);

    if (p->closed)
        return 0;
    p->closed = true;
    if (lengine_close(p, CLOSE_GRACE_NS) < 0) {
        lua_warning(L, "iolua: I/O requests did not end; their memory is kept", 0);
        return 0;
    }
    return_all(p);
    lend_free(p->kept);
    p->kept = NULL;
    lslot_close(&p->slots);
    return 0;
}

static const luaL_Reg meta[] = {
    { "__gc", loop_gc },
    { NULL, NULL },
};

static const luaL_Reg none[] = {
    { NULL, NULL },
};

static struct lloop *make(lua_State *L)
{
    struct lloop *p = lua_newuserdatauv(L, sizeof *p, 0);

    memset(p, 0, sizeof *p);
    p->host = lhost_of(L);
    bind_class(L, CLASS, none, meta);
    luaL_setmetatable(L, CLASS);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &KEY);
    lua_newtable(L);                            /* the fibers that the loop holds */
    lua_rawsetp(L, LUA_REGISTRYINDEX, p);
    return p;
}

void lopen_functions(lua_State *L, struct lloop *p, const luaL_Reg *functions)
{
    lua_pushlightuserdata(L, p);
    luaL_setfuncs(L, functions, 1);
}

void lopen_methods(lua_State *L, struct lloop *p, const char *name, const luaL_Reg *methods)
{
    luaL_getmetatable(L, name);                 /* meta */
    lua_getfield(L, -1, "__index");
    lopen_functions(L, p, methods);
    lua_pop(L, 2);
}

void lopen_class(lua_State *L, struct lloop *p, const char *name, const luaL_Reg *methods,
                 const luaL_Reg *metamethods)
{
    bind_class(L, name, none, none);
    lopen_methods(L, p, name, methods);
    luaL_getmetatable(L, name);
    lopen_functions(L, p, metamethods);
    lua_pop(L, 1);
}

int lfiber_open(lua_State *L)
{
    struct lloop *p = make(L);

    lua_newtable(L);                            /* fiber */
    lopen_fiber(L, p);
    lopen_pause(L, p);
    lopen_wrap(L, p);
    lopen_io(L, p);
    lopen_fixed(L, p);
    lopen_volume(L, p);
    lopen_vec(L, p);
    lopen_range(L, p);
    lopen_latency(L, p);
    lopen_collect(L, p);
    lopen_draw(L, p);
    lopen_prepared(L, p);
    lopen_fs(L, p);
    return 1;
}
