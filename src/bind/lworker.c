/*
 * lworker - a worker of a job, read from the table that lua/iolua/job/plan.lua made.
 */
#include <string.h>

#include "bind/bind.h"
#include "bind/lledger.h"
#include "bind/lsim.h"
#include "bind/lvolume.h"
#include "bind/lspot.h"
#include "bind/lworker.h"
#include "core/crew.h"

static uint64_t u64(lua_State *L, int arg, const char *key, lua_Integer def)
{
    return (uint64_t)bind_field(L, arg, key, 0, LUA_MAXINTEGER, def);
}

static enum rig_engine engine(lua_State *L, int arg)
{
    static const char *const names[] = { "auto", "io_uring", "threads", "sync", "mmap", "sim",
                                         NULL };
    const char *name = bind_stringfield(L, arg, "engine");

    for (int i = 0; names[i]; i++)
        if (name && strcmp(name, names[i]) == 0)
            return (enum rig_engine)i;
    luaL_argcheck(L, name == NULL, arg,
                  "engine is not one of auto, io_uring, threads, sync, mmap, sim");
    return RIG_AUTO;
}

static enum load_order order(lua_State *L, int arg)
{
    if (bind_flag(L, arg, "norepeat"))
        return LOAD_NOREPEAT;
    return bind_flag(L, arg, "random") ? LOAD_RANDOM : LOAD_SEQUENTIAL;
}

/* The file in field `file` of the worker's table, NULL for nil. */
static struct file *file(lua_State *L, int arg)
{
    struct file *f;

    lua_getfield(L, arg, "file");
    f = lua_isnil(L, -1) ? NULL : lfile_check(L, lua_gettop(L));
    lua_pop(L, 1);
    return f;
}

/* Item i of the list in field `key` of the table at arg. */
static uint32_t item(lua_State *L, int arg, const char *key, lua_Integer i)
{
    lua_Integer v;
    int ok;

    lua_getfield(L, arg, key);
    luaL_argcheck(L, lua_istable(L, -1), arg, "sizes are lists");
    lua_rawgeti(L, -1, i);
    v = lua_tointegerx(L, -1, &ok);
    luaL_argcheck(L, ok && v >= 0 && v <= (lua_Integer)UINT32_MAX, arg, "bad item of sizes");
    lua_pop(L, 2);
    return (uint32_t)v;
}

/* The field `sizes`: lists share, low, high and step of one length. */
static void read_sizes(lua_State *L, int arg, struct sizes_spec *s)
{
    int list = lua_gettop(L) + 1;

    if (lua_getfield(L, arg, "sizes") == LUA_TTABLE) {
        s->count = (unsigned)bind_field(L, list, "count", 1, MIX_MAX, 1);
        for (unsigned i = 0; i < s->count; i++) {
            s->share[i] = item(L, list, "share", i + 1);
            s->range[i] = (struct sizes_range){ item(L, list, "low", i + 1),
                                                item(L, list, "high", i + 1),
                                                item(L, list, "step", i + 1) };
        }
    }
    lua_pop(L, 1);
}

/* The field `distribution`, as lua/iolua/distribution.lua made it. */
static void read_distribution(lua_State *L, int arg, struct load_spec *s)
{
    if (lua_getfield(L, arg, "distribution") == LUA_TTABLE) {
        lspot_spec(L, lua_gettop(L), &s->spot);
        s->order = LOAD_SPOT;
    }
    lua_pop(L, 1);
}

static void read_load(lua_State *L, int arg, struct load_spec *s)
{
    s->order = order(L, arg);
    s->nop = bind_flag(L, arg, "nop");
    s->read_percent = (unsigned)bind_field(L, arg, "read_percent", 0, 100, 100);
    s->offset = u64(L, arg, "offset", 0);
    s->size = u64(L, arg, "size", 0);
    s->bs = (uint32_t)bind_field(L, arg, "bs", 1, IO_LEN_MAX, 4096);
    s->seed = u64(L, arg, "seed", 1);
    s->stream = (unsigned)bind_field(L, arg, "stream", 0, CREW_MAX, 0);
    read_sizes(L, arg, &s->sizes);
    read_distribution(L, arg, s);
}

static void read_rig(lua_State *L, int arg, struct rig_spec *s, const struct load_spec *load)
{
    bool simulated;

    s->engine = engine(L, arg);
    s->file = file(L, arg);
    s->iodepth = (unsigned)bind_field(L, arg, "iodepth", 1, JOB_DEPTH_MAX, 1);
    s->bs = (uint32_t)bind_field(L, arg, "bs_max", 1, IO_LEN_MAX, load->bs);
    s->data = !load->nop;
    s->node = (int)bind_field(L, arg, "node", -1, 4095, -1);
    s->seed = load->seed;
    s->stream = load->stream;
    s->sqpoll = bind_flag(L, arg, "sqpoll");
    s->iopoll = bind_flag(L, arg, "iopoll");
    s->sq_cpu = (int)bind_field(L, arg, "sq_cpu", -1, CPUSET_CPUS - 1, -1);
    s->registered = bind_flag(L, arg, "registered");
    s->sim_distance = u64(L, arg, "sim_distance_ns", 0);
    lua_getfield(L, arg, "volume");
    s->volume = lua_isnil(L, -1) ? NULL : lvolume_check(L, lua_gettop(L));
    lua_getfield(L, arg, "sim");
    s->sim = lua_isnil(L, -1) ? NULL : lsim_check(L, lua_gettop(L));
    simulated = s->sim || (s->volume && s->volume->simulated);
    luaL_argcheck(L, simulated == (s->engine == RIG_SIM), arg,
                  "a simulated device and the engine sim go together");
    lua_pop(L, 2);
}

static double rate(lua_State *L, int arg)
{
    double v;

    lua_getfield(L, arg, "rate");
    v = lua_tonumber(L, -1);
    lua_pop(L, 1);
    return v;
}

static void read_pace(lua_State *L, int arg, struct pace_spec *s)
{
    s->rate = rate(L, arg);
    if (s->rate == 0)
        return;
    s->kind = bind_flag(L, arg, "poisson") ? PACE_POISSON : PACE_FIXED;
    s->bytes = bind_flag(L, arg, "rate_of_bytes");
    s->backlog = u64(L, arg, "backlog", 0);
}

static void read_job(lua_State *L, int arg, struct job_spec *s)
{
    read_load(L, arg, &s->load);
    s->trim = bind_flag(L, arg, "trim");
    read_rig(L, arg, &s->rig, &s->load);
    s->rig.data = s->rig.data && !s->trim;
    s->batch = (unsigned)bind_field(L, arg, "batch", 0, JOB_DEPTH_MAX, 0);
    s->ramp_ns = u64(L, arg, "ramp_ns", 0);
    s->grace_ns = u64(L, arg, "grace_ns", 0);
    s->runtime_ns = u64(L, arg, "runtime_ns", 0);
    s->number_ios = u64(L, arg, "number_ios", LUA_MAXINTEGER);
    s->fsync_every = (unsigned)bind_field(L, arg, "fsync_every", 0, INT32_MAX, 0);
    s->datasync = bind_flag(L, arg, "datasync");
    s->end_fsync = bind_flag(L, arg, "end_fsync");
    s->continue_on_error = bind_flag(L, arg, "continue_on_error");
    s->clock_each = bind_flag(L, arg, "clock_each");
    s->number_bytes = u64(L, arg, "number_bytes", 0);
    s->interval_ns = u64(L, arg, "interval_ns", 0);
    read_pace(L, arg, &s->pace);
    s->think_ns = u64(L, arg, "think_ns", 0);
    s->think_blocks = (unsigned)bind_field(L, arg, "think_blocks", 1, INT32_MAX, 1);
    lua_getfield(L, arg, "ledger");
    s->ledger = lua_isnil(L, -1) ? NULL : lledger_check(L, lua_gettop(L));
    lua_pop(L, 1);
    s->read_back = bind_flag(L, arg, "read_back");
}

static void read_cpus(lua_State *L, int arg, struct crew_spec *s)
{
    const char *text = bind_stringfield(L, arg, "cpus");
    char message[256];

    s->pinned = text != NULL;
    if (text && cpuset_parse(&s->cpus, text, strlen(text), message, sizeof message) < 0)
        luaL_argerror(L, arg, lua_pushstring(L, message));
}

void lworker_load(lua_State *L, int arg, struct load_spec *s)
{
    read_load(L, arg, s);
}

void lworker_read(lua_State *L, int arg, struct crew_spec *s)
{
    luaL_checktype(L, arg, LUA_TTABLE);
    read_job(L, arg, &s->job);
    s->watched = bind_flag(L, arg, "watched");
    read_cpus(L, arg, s);
}
