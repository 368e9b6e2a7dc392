/*
 * levents - tracepoints counted by the kernel (core/events.h), and which disks to count on.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "bind/bind.h"
#include "bind/open.h"
#include "core/blk.h"
#include "core/events.h"
#include "core/family.h"
#include "core/tracepoint.h"

#define COUNTERS  "iolua.counters"
#define PUNTS     "iolua.punts"
#define WHY_MAX   512
#define SPECS_MAX 4096

struct lcounters {
    struct events *events;      /* NULL once closed */
    unsigned specs;
};

struct lpunts {
    struct events_punts *punts;
};

static struct lcounters *check_counters(lua_State *L)
{
    struct lcounters *ud = luaL_checkudata(L, 1, COUNTERS);

    luaL_argcheck(L, ud->events != NULL, 1, "counters are closed");
    return ud;
}

/* The specs in the array at 1, in a userdata that is left on the stack; the strings stay in
 * the table. */
static struct events_spec *check_specs(lua_State *L, unsigned *n)
{
    lua_Unsigned len;
    struct events_spec *spec;

    luaL_checktype(L, 1, LUA_TTABLE);
    len = lua_rawlen(L, 1);
    luaL_argcheck(L, len >= 1 && len <= SPECS_MAX, 1, "1..4096 events");
    spec = lua_newuserdatauv(L, (size_t)len * sizeof *spec, 0);
    for (lua_Unsigned i = 0; i < len; i++) {
        lua_rawgeti(L, 1, (lua_Integer)i + 1);
        if (!lua_istable(L, -1))
            luaL_argerror(L, 1, "an event is a table { event =, filter = }");
        spec[i].event = bind_stringfield(L, lua_gettop(L), "event");
        spec[i].filter = bind_stringfield(L, lua_gettop(L), "filter");
        luaL_argcheck(L, spec[i].event != NULL, 1, "event is missing");
        lua_pop(L, 1);
    }
    *n = (unsigned)len;
    return spec;
}

/* events.count { { event = "block/block_rq_issue", filter = "dev == 7340032" }, ... }
 * -> counters | nil, message, errno */
static int levents_count(lua_State *L)
{
    unsigned n;
    struct events_spec *spec = check_specs(L, &n);
    struct lcounters *ud = lua_newuserdatauv(L, sizeof *ud, 0);
    char why[WHY_MAX];
    int err;

    *ud = (struct lcounters){ .specs = n };
    luaL_setmetatable(L, COUNTERS);
    err = events_open(&ud->events, spec, n, why, sizeof why);
    return err < 0 ? bind_failmsg(L, err, why) : 1;
}

/* counters:read() -> { { [cpu] = count }, ... } in the order of the events */
static int lcounters_read(lua_State *L)
{
    struct lcounters *ud = check_counters(L);
    const int *cpu;
    unsigned cpus = events_cpus(ud->events, &cpu);
    uint64_t *n = lua_newuserdatauv(L, (size_t)ud->specs * cpus * sizeof *n, 0);

    events_read(ud->events, n);
    lua_createtable(L, (int)ud->specs, 0);              /* counts all */
    for (unsigned i = 0; i < ud->specs; i++) {
        lua_createtable(L, (int)cpus, 1);               /* counts all one */
        for (unsigned k = 0; k < cpus; k++) {
            bind_pushu64(L, n[(size_t)i * cpus + k]);
            lua_rawseti(L, -2, cpu[k]);
        }
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

/* counters:close() */
static int lcounters_close(lua_State *L)
{
    struct lcounters *ud = luaL_checkudata(L, 1, COUNTERS);
    struct events *e = ud->events;

    ud->events = NULL;
    events_close(e);
    return 0;
}

/* events.punts() -> punts | nil, message, errno */
static int levents_punts(lua_State *L)
{
    struct lpunts *ud = lua_newuserdatauv(L, sizeof *ud, 0);
    char why[WHY_MAX];
    int err;

    ud->punts = NULL;
    luaL_setmetatable(L, PUNTS);
    err = events_punts_open(&ud->punts, why, sizeof why);
    return err < 0 ? bind_failmsg(L, err, why) : 1;
}

/* punts:read() -> integer since it was opened */
static int lpunts_read(lua_State *L)
{
    struct lpunts *ud = luaL_checkudata(L, 1, PUNTS);

    luaL_argcheck(L, ud->punts != NULL, 1, "counter is closed");
    bind_pushu64(L, events_punts_read(ud->punts));
    return 1;
}

/* punts:close() */
static int lpunts_close(lua_State *L)
{
    struct lpunts *ud = luaL_checkudata(L, 1, PUNTS);
    struct events_punts *p = ud->punts;

    ud->punts = NULL;
    events_punts_close(p);
    return 0;
}

/* events.available([event]) -> true | nil, message, errno: may it be counted here? */
static int levents_available(lua_State *L)
{
    struct events_spec spec = { "block/block_bio_queue", NULL };
    struct events *e = NULL;
    char why[WHY_MAX];
    int err;

    if (!lua_isnoneornil(L, 1))
        spec.event = bind_checkpath(L, 1);
    err = events_open(&e, &spec, 1, why, sizeof why);
    if (err < 0)
        return bind_failmsg(L, err, why);
    events_close(e);
    lua_pushboolean(L, 1);
    return 1;
}

static bool is_volume(const struct blk *b)
{
    return strncmp(b->disk_name, "dm-", 3) == 0 || strncmp(b->disk_name, "md", 2) == 0;
}

/* Add the whole disks that the volume dev lies on at last; what is no volume is added itself. */
static int add_disks(struct dev_set *set, dev_t dev, unsigned depth)
{
    struct dev_set parents = { 0 };
    struct blk b;
    int err = blk_find(&b, "", dev);

    if (err < 0)
        return err;
    if (!is_volume(&b))
        return dev_set_add(set, b.disk);
    if (depth == 0)
        return -ELOOP;
    err = family_direct(&parents, "", &b, FAMILY_PARENTS);
    for (unsigned i = 0; err >= 0 && i < parents.n; i++)
        err = add_disks(set, parents.dev[i], depth - 1);
    dev_set_free(&parents);
    return err;
}

/* Push { dev = the kernel's number, name = }. */
static void push_disk(lua_State *L, dev_t dev)
{
    struct blk b;

    lua_createtable(L, 0, 2);
    lua_pushinteger(L, (lua_Integer)major(dev) << 20 | minor(dev));
    lua_setfield(L, -2, "dev");
    lua_pushstring(L, blk_find(&b, "", dev) < 0 ? "?" : b.disk_name);
    lua_setfield(L, -2, "name");
}

/* The set lives in a userdata while Lua values are made of it, for that may raise. */
static int free_set(lua_State *L)
{
    dev_set_free(lua_touserdata(L, 1));
    return 0;
}

static struct dev_set *new_set(lua_State *L)
{
    struct dev_set *set = lua_newuserdatauv(L, sizeof *set, 0);

    *set = (struct dev_set){ 0 };
    if (luaL_newmetatable(L, "iolua.devset")) {
        lua_pushcfunction(L, free_set);
        lua_setfield(L, -2, "__gc");
    }
    lua_setmetatable(L, -2);
    return set;
}

/* events.disk(path) -> { dev =, name =, legs = { { dev =, name = }, ... } } | nil, message,
 * errno: the whole disk of a file, device or partition; legs: the disks under a volume */
static int levents_disk(lua_State *L)
{
    const char *path = bind_checkpath(L, 1);
    struct dev_set *legs = new_set(L);
    struct blk b = { 0 };
    dev_t dev = 0;
    int err = blk_of_path(&dev, "", path);

    if (err >= 0)
        err = blk_find(&b, "", dev);
    if (err >= 0 && is_volume(&b))
        err = add_disks(legs, b.disk, 16);
    if (err == -ENODEV) {
        lua_pushfstring(L, "trace %s: no block device is known under it", path);
        return bind_failmsg(L, err, lua_tostring(L, -1));
    }
    if (err < 0) {
        lua_pushfstring(L, "trace %s", path);
        return bind_fail(L, err, lua_tostring(L, -1));
    }
    push_disk(L, b.disk);
    lua_createtable(L, (int)legs->n, 0);                /* disk legs */
    for (unsigned i = 0; i < legs->n; i++) {
        push_disk(L, legs->dev[i]);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    lua_setfield(L, -2, "legs");
    return 1;
}

static const luaL_Reg counters_methods[] = {
    { "read", lcounters_read },
    { "close", lcounters_close },
    { NULL, NULL },
};

static const luaL_Reg counters_meta[] = {
    { "__close", lcounters_close },
    { "__gc", lcounters_close },
    { NULL, NULL },
};

static const luaL_Reg punts_methods[] = {
    { "read", lpunts_read },
    { "close", lpunts_close },
    { NULL, NULL },
};

static const luaL_Reg punts_meta[] = {
    { "__close", lpunts_close },
    { "__gc", lpunts_close },
    { NULL, NULL },
};

static const luaL_Reg functions[] = {
    { "available", levents_available },
    { "count", levents_count },
    { "disk", levents_disk },
    { "punts", levents_punts },
    { NULL, NULL },
};

int levents_open(lua_State *L)
{
    bind_class(L, COUNTERS, counters_methods, counters_meta);
    bind_class(L, PUNTS, punts_methods, punts_meta);
    luaL_newlib(L, functions);
    return 1;
}
