/*
 * ljob - iolua.core.job: crews of workers as the class "iolua.crew".
 *
 * Raw integers in, raw integers out: lua/iolua/job.lua checks options and derives rates.
 */
#include <stdlib.h>

#include "bind/bind.h"
#include "bind/lhook.h"
#include "bind/lresult.h"
#include "bind/lworker.h"
#include "bind/open.h"
#include "core/clock.h"
#include "core/crew.h"
#include "core/hist.h"
#include "core/ring.h"

#define CLASS "iolua.crew"
#define PATIENCE_NS 1000000000ull       /* for a hook to return, once all is to end */

struct lcrew {
    struct crew *crew;          /* NULL before the start and once closed */
    struct crew_spec *specs;    /* n of them, for the life of the crew */
    struct lhook **hooks;       /* n of them, NULL where a worker has none */
    unsigned n;
};

static struct crew *check(lua_State *L)
{
    struct lcrew *ud = luaL_checkudata(L, 1, CLASS);

    luaL_argcheck(L, ud->crew != NULL, 1, "job is closed");
    return ud->crew;
}

/* Ask all to end. A hook that does not return would keep its worker: it is interrupted. */
static void end(struct lcrew *c)
{
    uint64_t deadline = clock_now() + PATIENCE_NS;

    crew_stop(c->crew);
    while (c->n > 0 && c->hooks[0] && !crew_ended(c->crew) && clock_now() < deadline)
        clock_sleep_until(clock_now() + 1000000);
    for (unsigned i = 0; i < c->n && !crew_ended(c->crew); i++)
        lhook_interrupt(c->hooks[i]);
}

static int lcrew_close(lua_State *L)    /* also __close and __gc */
{
    struct lcrew *ud = luaL_checkudata(L, 1, CLASS);
    struct lcrew old = *ud;

    *ud = (struct lcrew){ 0 };
    if (old.crew) {
        end(&old);
        crew_close(old.crew);
    }
    for (unsigned i = 0; i < old.n; i++)
        lhook_free(old.hooks[i]);
    free(old.hooks);
    free(old.specs);
    return 0;
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
    *ud = (struct lcrew){ 0 };
    luaL_setmetatable(L, CLASS);
    ud->specs = calloc((size_t)n, sizeof *ud->specs);
    ud->hooks = calloc((size_t)n, sizeof *ud->hooks);
    ud->n = ud->hooks ? (unsigned)n : 0;
    if (!ud->specs || !ud->hooks)
        return luaL_error(L, "not enough memory");
    for (lua_Integer i = 0; i < n; i++) {
        lua_geti(L, 1, i + 1);
        lua_replace(L, 2);                      /* workers worker crew */
        lworker_read(L, 2, &ud->specs[i]);
        lhook_read(L, 2, &ud->hooks[i], &ud->specs[i]);
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
        lresult_push(L, r);
    else
        lua_pushnil(L);
    return 1;
}

/* What the paces of all workers left, merged, in memory that Lua owns; NULL: closed loops. */
static struct pace_result *merge_pace(lua_State *L, const struct crew *c)
{
    struct pace_result *sum = lua_newuserdatauv(L, sizeof *sum, 0);
    bool first = true;

    for (unsigned i = 0; i < crew_count(c); i++) {
        const struct pace_result *r = crew_paced(c, i);

        if (r && first)
            *sum = *r;
        else if (r)
            pace_merge(sum, r);
        first = first && !r;
    }
    return first ? NULL : sum;
}

/* crew:paced([i]) -> table of worker i (from 1), or of all merged; nil for closed loops */
static int lcrew_paced(lua_State *L)
{
    struct crew *c = check(L);
    lua_Integer i = bind_optrange(L, 2, 1, crew_count(c), 0);
    const struct pace_result *r = i ? crew_paced(c, (unsigned)i - 1) : merge_pace(L, c);

    if (r)
        lresult_push_pace(L, r);
    else
        lua_pushnil(L);
    return 1;
}

/* crew:intervals() -> how many intervals all workers have ended */
static int lcrew_intervals(lua_State *L)
{
    bind_pushu64(L, crew_intervals(check(L)));
    return 1;
}

/* crew:interval(i) -> table of interval i (from 1) over all workers */
static int lcrew_interval(lua_State *L)
{
    struct crew *c = check(L);
    uint64_t i = (uint64_t)bind_checkrange(L, 2, 1, LUA_MAXINTEGER) - 1;
    struct job_count *sum = lua_newuserdatauv(L, JOB_SIDES * sizeof *sum, 0);
    struct series_point p;

    luaL_argcheck(L, i < crew_intervals(c), 2, "no such interval yet");
    crew_interval(&p, sum, c, i);
    lresult_push_point(L, sum, p.begin, p.end, p.depth_mean);
    return 1;
}

/* crew:seen(n): so many intervals were dealt with (watched crews) */
static int lcrew_seen(lua_State *L)
{
    struct crew *c = check(L);

    crew_seen(c, (uint64_t)bind_checkrange(L, 2, 0, LUA_MAXINTEGER));
    return 0;
}

/* crew:ended() -> have all workers ended? */
static int lcrew_ended(lua_State *L)
{
    lua_pushboolean(L, crew_ended(check(L)));
    return 1;
}

/* crew:control(rate, depth, read_percent): what is nil stays; the rate is of each worker */
static int lcrew_control(lua_State *L)
{
    struct crew *c = check(L);
    double rate = luaL_optnumber(L, 2, 0);
    unsigned depth = (unsigned)bind_optrange(L, 3, 1, JOB_DEPTH_MAX, 0);
    int percent = (int)bind_optrange(L, 4, 0, 100, -1);

    luaL_argcheck(L, rate >= 0 && rate <= PACE_RATE_MAX, 2, "rate out of range");
    crew_control(c, rate, depth, percent);
    return 0;
}

/* crew:rig(i) -> engine, note, fixed file, fixed memory, depth, fixed vectors of a volume; nil
 * if it has none */
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
    lua_pushboolean(L, r->fixed_vectors);
    return 6;
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
    { "paced", lcrew_paced },
    { "intervals", lcrew_intervals },
    { "interval", lcrew_interval },
    { "seen", lcrew_seen },
    { "ended", lcrew_ended },
    { "control", lcrew_control },
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
