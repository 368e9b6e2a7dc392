/*
 * lhist - counts of durations (core/hist.h): what a job's `lat` is, and iolua.hist().
 */
#include "bind/bind.h"
#include "bind/lhist.h"
#include "bind/open.h"
#include "core/hist.h"

#define CLASS "iolua.hist"

struct hist *lhist_check(lua_State *L, int arg)
{
    return luaL_checkudata(L, arg, CLASS);
}

struct hist *lhist_push(lua_State *L)
{
    struct hist *h = lua_newuserdatauv(L, sizeof *h, 0);

    hist_reset(h);
    luaL_setmetatable(L, CLASS);
    return h;
}

/* Push what a moment of the histogram at 1 is, nil when there are too few values. */
static int moment(lua_State *L, bool get(double *out, const struct hist *h))
{
    double value;

    if (get(&value, lhist_check(L, 1)))
        lua_pushnumber(L, value);
    else
        lua_pushnil(L);
    return 1;
}

/* hist.new() -> hist */
static int lhist_new(lua_State *L)
{
    lhist_push(L);
    return 1;
}

/* hist:record(ns [, count]) -> hist */
static int lhist_record(lua_State *L)
{
    struct hist *h = lhist_check(L, 1);
    lua_Integer ns = bind_checkrange(L, 2, 0, LUA_MAXINTEGER);
    lua_Integer count = bind_optrange(L, 3, 0, LUA_MAXINTEGER, 1);

    if ((uint64_t)count > UINT64_MAX - h->count)
        return luaL_argerror(L, 3, "more than 2^64 - 1 values");
    if (count > 0)
        hist_record(h, (uint64_t)ns, (uint64_t)count);
    lua_settop(L, 1);
    return 1;
}

/* hist:merge(other) -> hist: adds the counts of another one. */
static int lhist_merge(lua_State *L)
{
    struct hist *h = lhist_check(L, 1), *other = lhist_check(L, 2);

    if (other->count > UINT64_MAX - h->count)
        return luaL_argerror(L, 2, "more than 2^64 - 1 values");
    hist_merge(h, other);
    lua_settop(L, 1);
    return 1;
}

/* hist:reset() -> hist */
static int lhist_reset(lua_State *L)
{
    hist_reset(lhist_check(L, 1));
    lua_settop(L, 1);
    return 1;
}

/* hist:count() -> integer */
static int lhist_count(lua_State *L)
{
    bind_pushu64(L, lhist_check(L, 1)->count);
    return 1;
}

/* hist:sum() -> ns: an integer, or a float from 2^63 on */
static int lhist_sum(lua_State *L)
{
    const struct hist *h = lhist_check(L, 1);

    if (h->sum >> 64)
        lua_pushnumber(L, (lua_Number)h->sum);
    else
        bind_pushu64(L, (uint64_t)h->sum);
    return 1;
}

static int extreme(lua_State *L, const struct hist *h, uint64_t value)
{
    if (h->count)
        bind_pushu64(L, value);
    else
        lua_pushnil(L);
    return 1;
}

/* hist:min() -> ns | nil */
static int lhist_min(lua_State *L)
{
    const struct hist *h = lhist_check(L, 1);

    return extreme(L, h, h->min);
}

/* hist:max() -> ns | nil */
static int lhist_max(lua_State *L)
{
    const struct hist *h = lhist_check(L, 1);

    return extreme(L, h, h->max);
}

/* hist:mean() -> ns | nil */
static int lhist_mean(lua_State *L)
{
    return moment(L, hist_mean);
}

/* hist:stddev() -> ns | nil: of the sample, so nil for fewer than two values */
static int lhist_stddev(lua_State *L)
{
    return moment(L, hist_stddev);
}

/* hist:percentile(p) -> ns | nil: p in per cent, 0 .. 100 */
static int lhist_percentile(lua_State *L)
{
    const struct hist *h = lhist_check(L, 1);
    uint64_t v = 0;
    lua_Number p;

    luaL_checktype(L, 2, LUA_TNUMBER);
    p = lua_tonumber(L, 2);
    if (!(p >= 0 && p <= 100))
        return luaL_argerror(L, 2, lua_pushfstring(L, "%s is not in 0..100",
                                                   luaL_tolstring(L, 2, NULL)));
    hist_percentile(&v, h, p);          /* false only when there is no value */
    return extreme(L, h, v);
}

/* hist:buckets() -> { { upper = ns, count = n }, ... }: those that are not empty, in order */
static int lhist_buckets(lua_State *L)
{
    const struct hist *h = lhist_check(L, 1);
    lua_Integer n = 0;

    lua_newtable(L);                            /* list */
    for (unsigned i = 0; i < HIST_BUCKETS; i++) {
        if (h->counts[i] == 0)
            continue;
        lua_createtable(L, 0, 2);               /* list bucket */
        bind_pushu64(L, hist_upper(i));
        lua_setfield(L, -2, "upper");
        bind_pushu64(L, h->counts[i]);
        lua_setfield(L, -2, "count");
        lua_rawseti(L, -2, ++n);
    }
    return 1;
}

/* tostring(hist): "hist: 1000 values, mean 5123 ns, 17..99301 ns" */
static int lhist_tostring(lua_State *L)
{
    const struct hist *h = lhist_check(L, 1);
    double mean = 0;
    char text[32];

    if (!hist_mean(&mean, h)) {
        lua_pushliteral(L, "hist: empty");
        return 1;
    }
    bind_pushu64(L, h->count);
    bind_pushu64(L, h->min);
    bind_pushu64(L, h->max);                    /* ... count min max */
    snprintf(text, sizeof text, "%.1f", mean);
    lua_pushfstring(L, "hist: %s values, mean %s ns, %s..%s ns", lua_tostring(L, -3), text,
                    lua_tostring(L, -2), lua_tostring(L, -1));
    return 1;
}

static const luaL_Reg methods[] = {
    { "record", lhist_record },     { "merge", lhist_merge },   { "reset", lhist_reset },
    { "count", lhist_count },       { "sum", lhist_sum },       { "min", lhist_min },
    { "max", lhist_max },           { "mean", lhist_mean },     { "stddev", lhist_stddev },
    { "percentile", lhist_percentile },                         { "buckets", lhist_buckets },
    { NULL, NULL },
};

static const luaL_Reg meta[] = {
    { "__tostring", lhist_tostring },
    { NULL, NULL },
};

static const luaL_Reg functions[] = {
    { "new", lhist_new },
    { NULL, NULL },
};

int lhist_open(lua_State *L)
{
    bind_class(L, CLASS, methods, meta);
    luaL_newlib(L, functions);
    return 1;
}
