/*
 * lsim - iolua.core.sim: descriptions of simulated devices and buses as the classes
 * "iolua.sim.device" and "iolua.sim.bus".
 *
 * Raw integers in: lua/iolua/sim.lua checks options. What is described never changes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bind/bind.h"
#include "bind/lsim.h"
#include "bind/open.h"
#include "core/simdevice.h"

#define DEVICE "iolua.sim.device"
#define BUS    "iolua.sim.bus"

struct ldevice {
    struct sim_device *device;
};

struct lbus {
    struct sim_bus *bus;
};

struct sim_device *lsim_check(lua_State *L, int arg)
{
    struct ldevice *ud = luaL_checkudata(L, arg, DEVICE);

    luaL_argcheck(L, ud->device != NULL, arg, "simulated device is closed");
    return ud->device;
}

static uint64_t u64(lua_State *L, int arg, const char *key)
{
    return (uint64_t)bind_field(L, arg, key, 0, LUA_MAXINTEGER, 0);
}

/* sim.bus(bandwidth, overhead_ns) -> bus */
static int lsim_bus(lua_State *L)
{
    uint64_t bandwidth = (uint64_t)bind_checkrange(L, 1, 1, LUA_MAXINTEGER);
    uint64_t overhead = (uint64_t)bind_optrange(L, 2, 0, LUA_MAXINTEGER, 0);
    struct lbus *ud = lua_newuserdatauv(L, sizeof *ud, 0);
    int err;

    ud->bus = NULL;
    luaL_setmetatable(L, BUS);
    err = sim_bus_new(&ud->bus, bandwidth, overhead);
    return err < 0 ? bind_fail(L, err, "sim.bus") : 1;
}

static int lbus_gc(lua_State *L)
{
    struct lbus *ud = luaL_checkudata(L, 1, BUS);

    sim_bus_unref(ud->bus);
    ud->bus = NULL;
    return 0;
}

static enum sim_kind kind(lua_State *L, int arg)
{
    static const char *const names[] = { "fixed", "exp", "normal", "uniform" };
    const char *name = bind_stringfield(L, arg, "kind");

    for (unsigned i = 0; name && i < 4; i++)
        if (strcmp(name, names[i]) == 0)
            return (enum sim_kind)i;
    luaL_argerror(L, arg, "kind of a service is not known");
    return SIM_FIXED;
}

/* The field `key` of the table at arg: { kind, a, b }; nil is 0 ns. */
static struct sim_time read_time(lua_State *L, int arg, const char *key)
{
    struct sim_time t = { SIM_FIXED, 0, 0 };
    int at = lua_gettop(L) + 1;

    if (lua_getfield(L, arg, key) == LUA_TTABLE) {
        t.kind = kind(L, at);
        t.a = u64(L, at, "a");
        t.b = u64(L, at, "b");
        luaL_argcheck(L, t.kind != SIM_UNIFORM || t.b >= t.a, arg, "uniform service is empty");
    }
    lua_pop(L, 1);
    return t;
}

static void read_phase(lua_State *L, int at, struct sim_device_spec *s, unsigned i)
{
    s->phase[i] = (struct sim_phase){ u64(L, at, "at"), read_time(L, at, "service") };
}

static void read_stall(lua_State *L, int at, struct sim_device_spec *s, unsigned i)
{
    s->stall[i] = (struct sim_stall){ u64(L, at, "operation"), u64(L, at, "at"),
                                      u64(L, at, "time") };
}

static void read_error(lua_State *L, int at, struct sim_device_spec *s, unsigned i)
{
    s->error[i] = (struct sim_error){
        u64(L, at, "offset"), u64(L, at, "bytes"), -(int)bind_field(L, at, "errno", 1, 4095, EIO),
        bind_flag(L, at, "reads"), bind_flag(L, at, "writes"), u64(L, at, "count"),
    };
}

static enum sim_damage damage(lua_State *L, int at)
{
    static const char *const names[] = { "flip", "misplaced", "torn", "lost" };
    const char *name = bind_stringfield(L, at, "kind");

    for (unsigned i = 0; name && i < 4; i++)
        if (strcmp(name, names[i]) == 0)
            return (enum sim_damage)i;
    luaL_argerror(L, 1, "kind of a corruption is not known");
    return SIM_FLIP;
}

static void read_corruption(lua_State *L, int at, struct sim_device_spec *s, unsigned i)
{
    s->corruption[i] = (struct sim_corruption){ u64(L, at, "write"), damage(L, at),
                                                u64(L, at, "byte") };
}

typedef void item_fn(lua_State *L, int at, struct sim_device_spec *s, unsigned i);

/* The list in field `key` of the table at 1: its length. */
static unsigned read_list(lua_State *L, const char *key, struct sim_device_spec *s, item_fn *read)
{
    int list = lua_gettop(L) + 1;
    lua_Integer n = 0;

    if (lua_getfield(L, 1, key) == LUA_TTABLE)
        n = (lua_Integer)lua_rawlen(L, list);
    luaL_argcheck(L, n <= (lua_Integer)SIM_LIST_MAX, 1, "a list of more than 64 items");
    for (lua_Integer i = 0; i < n; i++) {
        lua_rawgeti(L, list, i + 1);
        luaL_checktype(L, list + 1, LUA_TTABLE);
        read(L, list + 1, s, (unsigned)i);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return (unsigned)n;
}

static void read_device(lua_State *L, struct sim_device_spec *s)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    memset(s, 0, sizeof *s);
    s->size = u64(L, 1, "size");
    s->channels = (unsigned)bind_field(L, 1, "channels", 1, SIM_CHANNELS_MAX, 1);
    s->service = read_time(L, 1, "service");
    s->bandwidth = u64(L, 1, "bandwidth");
    s->seek_min = u64(L, 1, "seek_min");
    s->seek_max = u64(L, 1, "seek_max");
    s->cache_lines = u64(L, 1, "cache_lines");
    s->cache_line = u64(L, 1, "cache_line");
    s->cache_service = read_time(L, 1, "cache_service");
    s->phases = read_list(L, "phases", s, read_phase);
    s->stalls = read_list(L, "stalls", s, read_stall);
    s->errors = read_list(L, "errors", s, read_error);
    s->data = bind_flag(L, 1, "data");
    s->corruptions = read_list(L, "corruptions", s, read_corruption);
}

/* sim.device { size, channels, service, ... } [, bus] -> device */
static int lsim_device(lua_State *L)
{
    struct sim_device_spec spec;
    struct sim_bus *bus = NULL;
    struct ldevice *ud;
    int err;

    lua_settop(L, 2);
    if (!lua_isnil(L, 2))
        bus = ((struct lbus *)luaL_checkudata(L, 2, BUS))->bus;
    read_device(L, &spec);
    ud = lua_newuserdatauv(L, sizeof *ud, 0);
    ud->device = NULL;
    luaL_setmetatable(L, DEVICE);
    err = sim_device_new(&ud->device, &spec, bus);
    return err < 0 ? bind_fail(L, err, "sim.device") : 1;
}

static int ldevice_gc(lua_State *L)
{
    struct ldevice *ud = luaL_checkudata(L, 1, DEVICE);

    sim_device_unref(ud->device);
    ud->device = NULL;
    return 0;
}

static const luaL_Reg none[] = { { NULL, NULL } };

static const luaL_Reg device_meta[] = {
    { "__gc", ldevice_gc },
    { NULL, NULL },
};

static const luaL_Reg bus_meta[] = {
    { "__gc", lbus_gc },
    { NULL, NULL },
};

static const luaL_Reg functions[] = {
    { "bus", lsim_bus },
    { "device", lsim_device },
    { NULL, NULL },
};

int lsim_open(lua_State *L)
{
    bind_class(L, DEVICE, none, device_meta);
    bind_class(L, BUS, none, bus_meta);
    luaL_newlib(L, functions);
    return 1;
}
