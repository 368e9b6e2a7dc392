/*
 * ljob - iolua.core.job: crews of workers as the class "iolua.crew".
 *
 * Raw integers in, raw integers out: lua/iolua/job.lua checks options and derives rates.
 */
#include <stdlib.h>
#include <string.h>

#include "bind/bind.h"
#include "bind/lhist.h"
#include "bind/open.h"
#include "core/crew.h"
#include "core/ring.h"
#include "core/sim.h"

#define CLASS "iolua.crew"

struct lcrew {
    struct crew *crew;          /* NULL before the start and once closed */
    struct crew_spec *specs;    /* n of them, for the life of the crew */
    struct sim_spec *sims;
};

static struct crew *check(lua_State *L)
{
    struct lcrew *ud = luaL_checkudata(L, 1, CLASS);

    luaL_argcheck(L, ud->crew != NULL, 1, "job is closed");
    return ud->crew;
}

static int lcrew_close(lua_State *L)    /* also __close and __gc */
{
    struct lcrew *ud = luaL_checkudata(L, 1, CLASS);
    struct lcrew old = *ud;

    *ud = (struct lcrew){ NULL, NULL, NULL };
    if (old.crew)
        crew_close(old.crew);
    free(old.specs);
    free(old.sims);
    return 0;
}

static uint64_t u64(lua_State *L, const char *key, lua_Integer def)
{
    return (uint64_t)bind_field(L, 2, key, 0, LUA_MAXINTEGER, def);
}

static enum rig_engine engine(lua_State *L)
{
    static const char *const names[] = { "auto", "io_uring", "threads", "sync", "sim", NULL };
    const char *name = bind_stringfield(L, 2, "engine");

    for (int i = 0; names[i]; i++)
        if (name && strcmp(name, names[i]) == 0)
            return (enum rig_engine)i;
    luaL_argcheck(L, name == NULL, 2, "engine is not one of auto, io_uring, threads, sync, sim");
    return RIG_AUTO;
}

static enum load_order order(lua_State *L)
{
    if (bind_flag(L, 2, "norepeat"))
        return LOAD_NOREPEAT;
    return bind_flag(L, 2, "random") ? LOAD_RANDOM : LOAD_SEQUENTIAL;
}

/* The file in field `file` of the worker's table, NULL for nil. */
static struct file *file(lua_State *L)
{
    struct file *f;

    lua_getfield(L, 2, "file");
    f = lua_isnil(L, -1) ? NULL : lfile_check(L, lua_gettop(L));
    lua_pop(L, 1);
    return f;
}

static void read_load(lua_State *L, struct load_spec *s)
{
    s->order = order(L);
    s->nop = bind_flag(L, 2, "nop");
    s->read_percent = (unsigned)bind_field(L, 2, "read_percent", 0, 100, 100);
    s->offset = u64(L, "offset", 0);
    s->size = u64(L, "size", 0);
    s->bs = (uint32_t)bind_field(L, 2, "bs", 1, IO_LEN_MAX, 4096);
    s->seed = u64(L, "seed", 1);
    s->stream = (unsigned)bind_field(L, 2, "stream", 0, CREW_MAX, 0);
}

static void read_rig(lua_State *L, struct rig_spec *s, const struct load_spec *load)
{
    s->engine = engine(L);
    s->file = file(L);
    s->iodepth = (unsigned)bind_field(L, 2, "iodepth", 1, JOB_DEPTH_MAX, 1);
    s->bs = load->bs;
    s->data = !load->nop;
    s->node = (int)bind_field(L, 2, "node", -1, 4095, -1);
    s->seed = load->seed;
    s->stream = load->stream;
    s->sqpoll = bind_flag(L, 2, "sqpoll");
    s->iopoll = bind_flag(L, 2, "iopoll");
    s->sq_cpu = (int)bind_field(L, 2, "sq_cpu", -1, CPUSET_CPUS - 1, -1);
    s->registered = bind_flag(L, 2, "registered");
}

static void read_job(lua_State *L, struct job_spec *s)
{
    read_load(L, &s->load);
    read_rig(L, &s->rig, &s->load);
    s->batch = (unsigned)bind_field(L, 2, "batch", 0, JOB_DEPTH_MAX, 0);
    s->ramp_ns = u64(L, "ramp_ns", 0);
    s->runtime_ns = u64(L, "runtime_ns", 0);
    s->number_ios = u64(L, "number_ios", LUA_MAXINTEGER);
    s->fsync_every = (unsigned)bind_field(L, 2, "fsync_every", 0, INT32_MAX, 0);
    s->datasync = bind_flag(L, 2, "datasync");
    s->end_fsync = bind_flag(L, 2, "end_fsync");
    s->continue_on_error = bind_flag(L, 2, "continue_on_error");
    s->clock_each = bind_flag(L, 2, "clock_each");
}

static void read_cpus(lua_State *L, struct crew_spec *s)
{
    const char *text = bind_stringfield(L, 2, "cpus");
    char message[256];

    s->pinned = text != NULL;
    if (text && cpuset_parse(&s->cpus, text, strlen(text), message, sizeof message) < 0)
        luaL_argerror(L, 2, lua_pushstring(L, message));
}

static void read_sim(lua_State *L, struct crew_spec *s, struct sim_spec *sim)
{
    if (s->job.rig.engine != RIG_SIM)
        return;
    sim->channels = (unsigned)bind_field(L, 2, "sim_channels", 1, 4096, 1);
    sim->service_ns = u64(L, "sim_service_ns", 0);
    sim->size = u64(L, "sim_size", 0);
    s->job.rig.sim = sim;
}

/* job.start { worker, worker, ... } -> crew | nil, message, errno */
static int lcrew_start(lua_State *L)
{
    lua_Integer n;
    struct lcrew *ud;
    int err;

    luaL_checktype(L, 1, LUA_TTABLE);
    n = luaL_len(L, 1);
    luaL_argcheck(L, n >= 1 && n <= CREW_MAX, 1, "1 to 4096 workers");
    lua_settop(L, 1);
    lua_pushnil(L);                             /* workers (place of a worker's table) */
    ud = lua_newuserdatauv(L, sizeof *ud, 0);   /* workers nil crew */
    *ud = (struct lcrew){ NULL, NULL, NULL };
    luaL_setmetatable(L, CLASS);
    ud->specs = calloc((size_t)n, sizeof *ud->specs);
    ud->sims = calloc((size_t)n, sizeof *ud->sims);
    if (!ud->specs || !ud->sims)
        return luaL_error(L, "not enough memory");
    for (lua_Integer i = 0; i < n; i++) {
        lua_geti(L, 1, i + 1);
        lua_replace(L, 2);                      /* workers worker crew */
        luaL_checktype(L, 2, LUA_TTABLE);
        read_job(L, &ud->specs[i].job);
        read_cpus(L, &ud->specs[i]);
        read_sim(L, &ud->specs[i], &ud->sims[i]);
    }
    err = crew_start(&ud->crew, ud->specs, (unsigned)n);
    return err < 0 ? bind_fail(L, err, "job") : 1;
}

/* crew:fd() -> descriptor, readable when all workers have ended */
static int lcrew_fd(lua_State *L)
{
    lua_pushinteger(L, crew_fd(check(L)));
    return 1;
}

/* crew:progress() -> ios, bytes */
static int lcrew_progress(lua_State *L)
{
    uint64_t ios, bytes;

    crew_progress(&ios, &bytes, check(L));
    bind_pushu64(L, ios);
    bind_pushu64(L, bytes);
    return 2;
}

static int lcrew_stop(lua_State *L)
{
    crew_stop(check(L));
    return 0;
}

/* crew:join() -> true | nil, message, errno: waits for all workers */
static int lcrew_join(lua_State *L)
{
    char message[CREW_TEXT];
    int err = crew_join(check(L), message, sizeof message);

    if (err < 0)
        return bind_failmsg(L, err, message);
    lua_pushboolean(L, 1);
    return 1;
}

static void set_u64(lua_State *L, const char *key, uint64_t value)
{
    bind_pushu64(L, value);
    lua_setfield(L, -2, key);
}

/* Push { ios, bytes, short, errors, lat } */
static void push_side(lua_State *L, const struct job_count *c)
{
    lua_createtable(L, 0, 5);
    set_u64(L, "ios", c->ios);
    set_u64(L, "bytes", c->bytes);
    set_u64(L, "short", c->short_ios);
    set_u64(L, "errors", c->errors);
    *lhist_push(L) = c->lat;
    lua_setfield(L, -2, "lat");
}

static void push_error(lua_State *L, const struct job_result *r)
{
    static const char *const side[] = { "read", "write", "fsync" };

    lua_createtable(L, 0, 4);
    lua_pushinteger(L, -r->error);
    lua_setfield(L, -2, "errno");
    lua_pushstring(L, bind_reason(r->error));
    lua_setfield(L, -2, "reason");
    lua_pushstring(L, side[r->error_side]);
    lua_setfield(L, -2, "operation");
    set_u64(L, "offset", r->error_pos);
    lua_setfield(L, -2, "error");
}

/* Push the result as a table of integers. */
static void push_result(lua_State *L, const struct job_result *r)
{
    static const char *const names[JOB_SIDES] = { "read", "write", "sync" };

    lua_createtable(L, 0, 16);
    for (unsigned i = 0; i < JOB_SIDES; i++) {
        push_side(L, &r->side[i]);
        lua_setfield(L, -2, names[i]);
    }
    set_u64(L, "elapsed_ns", r->end > r->begin ? r->end - r->begin : 0);
    set_u64(L, "begin_ns", r->begin);
    set_u64(L, "end_ns", r->end);
    lua_pushnumber(L, r->depth_mean);
    lua_setfield(L, -2, "depth_mean");
    set_u64(L, "user_ns", r->user_ns);
    set_u64(L, "system_ns", r->system_ns);
    set_u64(L, "end_fsync_ns", r->end_fsync_ns);
    set_u64(L, "issued", r->issued);
    if (r->error)
        push_error(L, r);
}

/* The workers' results merged, in memory that Lua owns. */
static struct job_result *merge(lua_State *L, const struct crew *c)
{
    struct job_result *sum = lua_newuserdatauv(L, sizeof *sum, 0);
    bool first = true;

    for (unsigned i = 0; i < crew_count(c); i++) {
        const struct job_result *r = crew_result(c, i);

        if (r && first)
            *sum = *r;
        else if (r)
            job_merge(sum, r);
        first = first && !r;
    }
    return first ? NULL : sum;
}

/* crew:result([i]) -> table of worker i (from 1), or of all merged; nil if none ran */
static int lcrew_result(lua_State *L)
{
    struct crew *c = check(L);
    lua_Integer i = bind_optrange(L, 2, 1, crew_count(c), 0);
    const struct job_result *r = i ? crew_result(c, (unsigned)i - 1) : merge(L, c);

    if (r)
        push_result(L, r);
    else
        lua_pushnil(L);
    return 1;
}

/* crew:rig(i) -> engine, note, fixed file, fixed memory, depth; nil if it has none */
static int lcrew_rig(lua_State *L)
{
    struct crew *c = check(L);
    const struct rig *r = crew_rig(c, (unsigned)bind_checkrange(L, 2, 1, crew_count(c)) - 1);

    if (!r || !r->engine)
        return lua_pushnil(L), 1;
    lua_pushstring(L, r->engine->name);
    lua_pushstring(L, r->note);
    lua_pushboolean(L, r->fixed_file);
    lua_pushboolean(L, r->fixed_memory);
    lua_pushinteger(L, r->depth);
    return 5;
}

/* job.available() -> true | nil, why, errno: can io_uring be used here? */
static int lcrew_available(lua_State *L)
{
    char message[256];
    int err = ring_available(message, sizeof message);

    if (err < 0)
        return bind_failmsg(L, err, message);
    lua_pushboolean(L, 1);
    return 1;
}

static const luaL_Reg methods[] = {
    { "fd", lcrew_fd },
    { "progress", lcrew_progress },
    { "stop", lcrew_stop },
    { "join", lcrew_join },
    { "result", lcrew_result },
    { "rig", lcrew_rig },
    { "close", lcrew_close },
    { NULL, NULL },
};

static const luaL_Reg meta[] = {
    { "__close", lcrew_close },
    { "__gc", lcrew_close },
    { NULL, NULL },
};

static const luaL_Reg functions[] = {
    { "start", lcrew_start },
    { "available", lcrew_available },
    { NULL, NULL },
};

int ljob_open(lua_State *L)
{
    bind_class(L, CLASS, methods, meta);
    luaL_newlib(L, functions);
    return 1;
}
