/*
 * lvolume - iolua.core.volume: a volume in user space as the class "iolua.uservolume".
 *
 * It is a job's target like a file. What may wait for the legs is in lvolumeio.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bind/bind.h"
#include "bind/lsim.h"
#include "bind/lvolume.h"
#include "bind/open.h"

struct lvolume {
    struct volume *volume;      /* NULL once closed */
};

struct volume *lvolume_check(lua_State *L, int arg)
{
    struct lvolume *ud = luaL_checkudata(L, arg, LVOLUME_CLASS);

    luaL_argcheck(L, ud->volume != NULL, arg, "volume is closed");
    return ud->volume;
}

static enum stripe_kind read_kind(lua_State *L)
{
    static const char *const names[] = { "stripe", "concat", "mirror", NULL };
    const char *name = bind_stringfield(L, 1, "kind");

    for (int i = 0; name && names[i]; i++)
        if (strcmp(name, names[i]) == 0)
            return (enum stripe_kind)i;
    return (enum stripe_kind)luaL_argerror(L, 1, "kind is not one of stripe, concat, mirror");
}

/* The legs' offsets, sizes and files, in memory that is on the stack. */
struct given {
    uint64_t offset[STRIPE_LEGS_MAX], size[STRIPE_LEGS_MAX];
    struct file *file[STRIPE_LEGS_MAX];
    struct sim_device *sim[STRIPE_LEGS_MAX];
    unsigned n;
};

static struct given *read_legs(lua_State *L)
{
    struct given *g = lua_newuserdatauv(L, sizeof *g, 0);       /* given */
    lua_Integer n;

    luaL_argcheck(L, lua_getfield(L, 1, "legs") == LUA_TTABLE, 1, "legs must be a table");
    n = luaL_len(L, -1);                        /* given legs */
    luaL_argcheck(L, n >= 1 && n <= STRIPE_LEGS_MAX, 1, "1 to 1024 legs");
    g->n = (unsigned)n;
    for (unsigned i = 0; i < g->n; i++) {
        int at;

        luaL_argcheck(L, lua_rawgeti(L, -1, i + 1) == LUA_TTABLE, 1, "legs are tables");
        at = lua_gettop(L);                     /* given legs leg */
        g->offset[i] = (uint64_t)bind_field(L, at, "offset", 0, LUA_MAXINTEGER, 0);
        g->size[i] = (uint64_t)bind_field(L, at, "size", 0, LUA_MAXINTEGER, 0);
        g->file[i] = NULL;
        g->sim[i] = NULL;
        if (lua_getfield(L, at, "sim") != LUA_TNIL)
            g->sim[i] = lsim_check(L, at + 1);
        lua_settop(L, at);
        if (lua_getfield(L, at, "file") != LUA_TNIL)
            g->file[i] = lfile_check(L, at + 1);
        lua_settop(L, at - 1);                  /* the tables hold the file */
    }
    return g;
}

/* volume.new{ kind =, chunk =, merge =, legs = { { file = or sim =, neither for an error leg,
 * offset =, size = } } } -> volume | nil, message, errno */
static int lvolume_new(lua_State *L)
{
    enum stripe_kind kind;
    uint64_t chunk;
    struct stripe *map;
    struct lvolume *ud;
    struct given *g;
    char message[256];
    int merge, err;

    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    kind = read_kind(L);
    chunk = (uint64_t)bind_field(L, 1, "chunk", 0, LUA_MAXINTEGER, 0);
    merge = bind_flag(L, 1, "merge");
    g = read_legs(L);
    ud = lua_newuserdatauv(L, sizeof *ud, 0);
    ud->volume = NULL;                          /* closed until it owns something */
    luaL_setmetatable(L, LVOLUME_CLASS);
    err = stripe_new(&map, kind, chunk, g->n, g->offset, g->size, message, sizeof message);
    if (err < 0)
        return bind_failmsg(L, err, message);
    err = volume_new(&ud->volume, map, g->file, g->sim, merge);
    if (err < 0)
        free(map);
    if (err == -EINVAL)
        return bind_failmsg(L, err, "simulated and real members cannot be mixed");
    if (err < 0)
        return bind_fail(L, err, "volume");
    return 1;
}

/* volume:close(): drops Lua's reference; jobs hold their own. */
static int lvolume_close(lua_State *L)          /* also __close and __gc */
{
    struct lvolume *ud = luaL_checkudata(L, 1, LVOLUME_CLASS);
    struct volume *v = ud->volume;

    ud->volume = NULL;
    volume_unref(v);
    return 0;
}

static int lvolume_size(lua_State *L)
{
    bind_pushu64(L, lvolume_check(L, 1)->map->size);
    return 1;
}

static int lvolume_block_size(lua_State *L)
{
    lua_pushinteger(L, lvolume_check(L, 1)->block_size);
    return 1;
}

static int lvolume_direct(lua_State *L)
{
    lua_pushboolean(L, lvolume_check(L, 1)->direct);
    return 1;
}

static int lvolume_writable(lua_State *L)
{
    lua_pushboolean(L, lvolume_check(L, 1)->writable);
    return 1;
}

static int lvolume_type(lua_State *L)
{
    lvolume_check(L, 1);
    lua_pushliteral(L, "volume");
    return 1;
}

/* volume:path() -> what messages call it: "stripe of 3" */
static int lvolume_path(lua_State *L)
{
    static const char *const names[] = { "stripe", "concat", "mirror" };
    const struct volume *v = lvolume_check(L, 1);

    lua_pushfstring(L, "%s of %d", names[v->map->kind], (int)v->map->legs);
    return 1;
}

/* volume:map(pos) -> leg from 1, pos on it, bytes that stay together from there */
static int lvolume_map(lua_State *L)
{
    const struct volume *v = lvolume_check(L, 1);
    lua_Integer pos = bind_checkrange(L, 2, 0, (lua_Integer)v->map->size - 1);
    struct stripe_place p = stripe_at(v->map, (uint64_t)pos);

    lua_pushinteger(L, p.leg + 1);
    bind_pushu64(L, p.pos);
    bind_pushu64(L, p.run);
    return 3;
}

/* volume:legs() -> { { ios =, bytes =, errors =, failed =, offset =, size =,
 * unused = } } */
static int lvolume_legs(lua_State *L)
{
    struct volume *v = lvolume_check(L, 1);

    lua_createtable(L, (int)v->map->legs, 0);
    for (unsigned i = 0; i < v->map->legs; i++) {
        struct volume_leg *leg = &v->leg[i];

        lua_createtable(L, 0, 7);
        bind_setu64(L, "ios", atomic_load_explicit(&leg->ios, memory_order_relaxed));
        bind_setu64(L, "bytes", atomic_load_explicit(&leg->bytes, memory_order_relaxed));
        bind_setu64(L, "errors", atomic_load_explicit(&leg->errors, memory_order_relaxed));
        bind_setu64(L, "offset", v->map->leg[i].offset);
        bind_setu64(L, "size", v->map->leg[i].bytes);
        bind_setu64(L, "unused", v->map->leg[i].unused);
        lua_pushboolean(L, atomic_load_explicit(&leg->failed, memory_order_relaxed));
        lua_setfield(L, -2, "failed");
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

static int lvolume_tostring(lua_State *L)
{
    struct lvolume *ud = luaL_checkudata(L, 1, LVOLUME_CLASS);

    lua_pushfstring(L, "volume in user space (%s)", ud->volume ? "open" : "closed");
    return 1;
}

static const luaL_Reg methods[] = {
    { "close", lvolume_close },
    { "size", lvolume_size },
    { "block_size", lvolume_block_size },
    { "direct", lvolume_direct },
    { "writable", lvolume_writable },
    { "type", lvolume_type },
    { "path", lvolume_path },
    { "map", lvolume_map },
    { "legs", lvolume_legs },
    { NULL, NULL },
};

static const luaL_Reg meta[] = {
    { "__tostring", lvolume_tostring },
    { "__close", lvolume_close },
    { "__gc", lvolume_close },
    { NULL, NULL },
};

static const luaL_Reg functions[] = {
    { "new", lvolume_new },
    { NULL, NULL },
};

int lvolume_open(lua_State *L)
{
    bind_class(L, LVOLUME_CLASS, methods, meta);
    luaL_newlib(L, functions);
    return 1;
}
