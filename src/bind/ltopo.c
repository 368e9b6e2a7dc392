/*
 * ltopo - iolua.core.topo: a topology as the class "iolua.topo", and what devices are near.
 *
 * The plain facts; lua/iolua/topo.lua makes the interface of scripts from them.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "bind/bind.h"
#include "bind/lcpuset.h"
#include "bind/open.h"
#include "core/blk.h"
#include "core/file.h"
#include "core/near.h"
#include "core/relation.h"
#include "core/topo.h"

#define CLASS "iolua.topo"

struct ltopo {
    struct topo *topo;          /* NULL once closed */
};

static struct topo *check(lua_State *L, int arg)
{
    struct ltopo *ud = luaL_checkudata(L, arg, CLASS);

    luaL_argcheck(L, ud->topo != NULL, arg, "topology is closed");
    return ud->topo;
}

static void push_cpus(lua_State *L, const struct topo *t, const struct cpuset *cpus)
{
    lcpuset_pushforeign(L, cpus, !topo_here(t));
}

/* topo.open([synthetic [, xml]]) -> topo | nil, message, errno */
static int ltopo_new(lua_State *L)
{
    const char *synthetic = lua_isnoneornil(L, 1) ? NULL : bind_checkpath(L, 1);
    const char *xml = lua_isnoneornil(L, 2) ? NULL : bind_checkpath(L, 2);
    struct ltopo *ud = lua_newuserdatauv(L, sizeof *ud, 0);
    char message[512];
    int err;

    ud->topo = NULL;            /* closed until it owns something */
    luaL_setmetatable(L, CLASS);
    err = topo_open(&ud->topo, synthetic, xml, message, sizeof message);
    return err < 0 ? bind_failmsg(L, err, message) : 1;
}

static int ltopo_close(lua_State *L)    /* also __close and __gc */
{
    struct ltopo *ud = luaL_checkudata(L, 1, CLASS);
    struct topo *t = ud->topo;

    ud->topo = NULL;
    topo_close(t);
    return 0;
}

/* topo:here() -> boolean: is it this machine? */
static int ltopo_here(lua_State *L)
{
    lua_pushboolean(L, topo_here(check(L, 1)));
    return 1;
}

/* topo:cpus() -> cpuset */
static int ltopo_cpus(lua_State *L)
{
    struct topo *t = check(L, 1);

    push_cpus(L, t, topo_cpus(t));
    return 1;
}

/* The type named at arg; nearest names are topo.lua's business. */
static int check_type(lua_State *L, int arg)
{
    int type = topo_type(bind_checkpath(L, arg));

    luaL_argcheck(L, type >= 0, arg, "unknown type of object");
    return type;
}

/* topo:count(type) -> integer */
static int ltopo_count(lua_State *L)
{
    struct topo *t = check(L, 1);

    lua_pushinteger(L, topo_count(t, check_type(L, 2)));
    return 1;
}

static void set_integer(lua_State *L, const char *key, lua_Integer value)
{
    lua_pushinteger(L, value);
    lua_setfield(L, -2, key);
}

static void push_object(lua_State *L, const struct topo *t, const struct topo_object *o)
{
    lua_createtable(L, 0, 7);
    lua_pushstring(L, o->type);
    lua_setfield(L, -2, "type");
    if (o->name) {
        lua_pushstring(L, o->name);
        lua_setfield(L, -2, "name");
    }
    set_integer(L, "depth", o->depth);
    if (o->index >= 0)
        set_integer(L, "index", o->index);
    if (o->number >= 0)
        set_integer(L, "number", o->number);
    bind_pushu64(L, o->bytes);
    lua_setfield(L, -2, "bytes");
    push_cpus(L, t, &o->cpus);
    lua_setfield(L, -2, "cpus");
}

/* topo:object(type, index) -> { type, name, index, number, bytes, cpus }; index from 0 */
static int ltopo_object(lua_State *L)
{
    struct topo *t = check(L, 1);
    int type = check_type(L, 2);
    lua_Integer last = (lua_Integer)topo_count(t, type) - 1, index;
    struct topo_object o;

    if (last < 0)
        return luaL_argerror(L, 2, "this topology has none");
    index = bind_checkrange(L, 3, 0, last);
    if (topo_object(&o, t, type, (unsigned)index) < 0)
        return luaL_argerror(L, 3, "no such object");
    push_object(L, t, &o);
    return 1;
}

/* topo:walk() -> array of all objects, each before what is in it, with its depth */
static int ltopo_walk(lua_State *L)
{
    struct topo *t = check(L, 1);
    struct topo_object o;
    void *cursor = NULL;

    lua_newtable(L);
    for (lua_Integer i = 1; topo_walk(&o, t, &cursor); i++) {
        push_object(L, t, &o);
        lua_rawseti(L, -2, i);
    }
    return 1;
}

static int absent(lua_State *L, int arg, const struct topo *t)
{
    char all[128];

    return luaL_argerror(L, arg, lua_pushfstring(L, "no such CPU in this topology; it has %s",
                                                 cpuset_brief(all, sizeof all, topo_cpus(t))));
}

static unsigned check_cpu(lua_State *L, int arg, const struct topo *t)
{
    unsigned cpu = (unsigned)bind_checkrange(L, arg, 0, CPUSET_CPUS - 1);

    if (!cpuset_has(topo_cpus(t), cpu))
        absent(L, arg, t);
    return cpu;
}

/* topo:relation(a, b) -> "same" "smt" "cache" "node" "package" "machine" */
static int ltopo_relation(lua_State *L)
{
    struct topo *t = check(L, 1);
    unsigned a = check_cpu(L, 2, t), b = check_cpu(L, 3, t);

    lua_pushstring(L, relation_name(relation_of(t, a, b)));
    return 1;
}

/* topo:nearest(cpu, among), topo:farthest(cpu, among) -> cpu | nil: no other one in `among` */
static int pick(lua_State *L, int (*find)(const struct topo *, unsigned, const struct cpuset *))
{
    struct topo *t = check(L, 1);
    unsigned cpu = check_cpu(L, 2, t);
    struct cpuset among;
    int found;

    lcpuset_check(L, 3, &among);
    found = find(t, cpu, &among);
    if (found < 0)
        luaL_pushfail(L);
    else
        lua_pushinteger(L, found);
    return 1;
}

static int ltopo_nearest(lua_State *L)
{
    return pick(L, relation_nearest);
}

static int ltopo_farthest(lua_State *L)
{
    return pick(L, relation_farthest);
}

/* topo:kinds() -> { { cpus =, efficiency =, name = }, ... }, the most efficient first */
static int ltopo_kinds(lua_State *L)
{
    struct topo *t = check(L, 1);
    unsigned n = topo_kinds(t);
    struct topo_kind kind;

    lua_createtable(L, (int)n, 0);
    for (unsigned i = 0; i < n && topo_kind(&kind, t, i) == 0; i++) {
        lua_createtable(L, 0, 3);
        push_cpus(L, t, &kind.cpus);
        lua_setfield(L, -2, "cpus");
        if (kind.efficiency >= 0)
            set_integer(L, "efficiency", kind.efficiency);
        if (kind.name) {
            lua_pushstring(L, kind.name);
            lua_setfield(L, -2, "name");
        }
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

/* topo:device(name) -> cpuset | nil, message, errno: as the topology itself has it */
static int ltopo_device(lua_State *L)
{
    struct topo *t = check(L, 1);
    const char *name = bind_checkpath(L, 2);
    struct cpuset cpus;
    int err = topo_device(&cpus, t, name);

    if (err < 0) {
        luaL_pushfail(L);
        lua_pushfstring(L, "near %s: this topology has no such device", name);
        lua_pushinteger(L, -err);
        return 3;
    }
    push_cpus(L, t, &cpus);
    return 1;
}

/* What arg (file, path, folder of sysfs) is near. 0 or -errno. */
static int find_near(lua_State *L, int arg, struct near *near)
{
    const char *path;
    dev_t dev;
    int err;

    if (luaL_testudata(L, arg, "iolua.file")) {
        err = blk_of_fd(&dev, "", lfile_check(L, arg)->fd);
    } else {
        path = bind_checkpath(L, arg);
        if (strncmp(path, "/sys/", 5) != 0)
            err = blk_of_path(&dev, "", path);
        else if ((err = blk_number(&dev, path)) < 0)
            return near_folder(near, "", path);         /* a controller's */
    }
    return err < 0 ? err : near_device(near, "", dev);
}

/* topo.near(f) -> { cpus =, node =, tied =, disks = } | nil, reason, errno; f is a file, a path
 * or a folder of sysfs */
static int ltopo_near(lua_State *L)
{
    struct near near;
    int err = find_near(L, 1, &near);

    if (err < 0) {
        luaL_pushfail(L);
        lua_pushstring(L, err == -ENODEV || err == -ENOTBLK ? "no disk is known under it"
                                                            : bind_reason(err));
        lua_pushinteger(L, -err);
        return 3;
    }
    lua_createtable(L, 0, 4);
    lcpuset_push(L, &near.cpus);
    lua_setfield(L, -2, "cpus");
    if (near.node >= 0)
        set_integer(L, "node", near.node);
    set_integer(L, "disks", near.disks);
    lua_pushboolean(L, near.tied);
    lua_setfield(L, -2, "tied");
    return 1;
}

/* topo.controller(folder) -> folder of the controller above it | nil, message, errno */
static int ltopo_controller(lua_State *L)
{
    const char *folder = bind_checkpath(L, 1);
    char out[PATH_MAX];
    int err = near_controller(out, sizeof out, folder);

    if (err < 0)
        return bind_fail(L, err, folder);
    lua_pushstring(L, out);
    return 1;
}

/* topo.types() -> array of all names of types */
static int ltopo_types(lua_State *L)
{
    lua_newtable(L);
    for (int type = 0; topo_type_name(type); type++) {
        lua_pushstring(L, topo_type_name(type));
        lua_rawseti(L, -2, type + 1);
    }
    return 1;
}

static const luaL_Reg methods[] = {
    { "close", ltopo_close },
    { "here", ltopo_here },
    { "cpus", ltopo_cpus },
    { "count", ltopo_count },
    { "object", ltopo_object },
    { "walk", ltopo_walk },
    { "relation", ltopo_relation },
    { "nearest", ltopo_nearest },
    { "farthest", ltopo_farthest },
    { "kinds", ltopo_kinds },
    { "device", ltopo_device },
    { NULL, NULL },
};

static const luaL_Reg meta[] = {
    { "__close", ltopo_close },
    { "__gc", ltopo_close },
    { NULL, NULL },
};

static const luaL_Reg functions[] = {
    { "open", ltopo_new },
    { "near", ltopo_near },
    { "controller", ltopo_controller },
    { "types", ltopo_types },
    { NULL, NULL },
};

int ltopo_open(lua_State *L)
{
    bind_class(L, CLASS, methods, meta);
    luaL_newlib(L, functions);
    return 1;
}
