/*
 * lhooknext - what `next` is given and what it answers.
 */
#include <lauxlib.h>

#include "bind/bind.h"
#include "bind/lhookself.h"

#define KEPT 32                 /* results left on the stack before it is cleared */

static struct lhook *self(lua_State *L)
{
    return lua_touserdata(L, lua_upvalueindex(1));
}

/* io.random(n) -> 0 .. n - 1 */
static int io_random(lua_State *L)
{
    lua_Integer n = bind_checkrange(L, 1, 1, LUA_MAXINTEGER);

    lua_pushinteger(L, (lua_Integer)rng_below(&self(L)->rng, (uint64_t)n));
    return 1;
}

/* io.uniform() -> a float in [0, 1) */
static int io_uniform(lua_State *L)
{
    lua_pushnumber(L, rng_unit(&self(L)->rng));
    return 1;
}

/* io.block() -> the place of any block of bs in the region */
static int io_block(lua_State *L)
{
    struct lhook *h = self(L);

    lua_pushinteger(L, (lua_Integer)(h->offset + rng_below(&h->rng, h->blocks) * h->bs));
    return 1;
}

/* io.now() -> ns of the engine's clock */
static int io_now(lua_State *L)
{
    bind_pushu64(L, job_now(self(L)->job));
    return 1;
}

void lhook_pushio(lua_State *L, struct lhook *h)
{
    static const luaL_Reg functions[] = {
        { "random", io_random }, { "uniform", io_uniform }, { "block", io_block },
        { "now", io_now }, { NULL, NULL },
    };
    const struct { const char *key; uint64_t value; } numbers[] = {
        { "worker", h->worker }, { "workers", h->workers }, { "offset", h->offset },
        { "size", h->size }, { "bs", h->bs }, { "seed", h->seed },
    };

    lua_createtable(L, 0, 12);
    lua_pushlightuserdata(L, h);
    luaL_setfuncs(L, functions, 1);
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        bind_pushu64(L, numbers[i].value);
        lua_setfield(L, -2, numbers[i].key);
    }
}

static enum job_side side(lua_State *L, struct lhook *h, int at)
{
    if (lua_isnil(L, at))
        return h->read_percent == 100 || (h->read_percent > 0 &&
               rng_below(&h->rng, 100) < h->read_percent) ? JOB_READ : JOB_WRITE;
    if (lua_rawequal(L, at, READ))
        return JOB_READ;
    if (!lua_rawequal(L, at, WRITE) && !lua_rawequal(L, at, FSYNC))
        luaL_error(L, "\"%s\" is not a kind of operation: read, write or fsync",
                   luaL_tolstring(L, at, NULL));
    if (!h->may_write)
        luaL_error(L, "a job that only reads cannot do a %s", lua_tostring(L, at));
    return lua_rawequal(L, at, WRITE) ? JOB_WRITE : JOB_SYNC;
}

/* The integer at `at`, def for nil, within [lo, hi]. */
static uint64_t integer(lua_State *L, int at, const char *what, uint64_t lo, uint64_t hi,
                        uint64_t def)
{
    lua_Integer v;
    int ok;

    if (lua_isnil(L, at))
        return def;
    v = lua_tointegerx(L, at, &ok);
    if (!ok)
        luaL_error(L, "%s is a %s, not an integer", what, luaL_typename(L, at));
    if (v < 0 || (uint64_t)v < lo || (uint64_t)v > hi)
        luaL_error(L, "%s %I is not in %I to %I", what, (LUAI_UACINT)v, (LUAI_UACINT)lo,
                   (LUAI_UACINT)hi);
    return (uint64_t)v;
}

/* Where an operation of len bytes is to be: at the offset at `at`, or for true where the job
 * likes. */
static uint64_t place(lua_State *L, const struct lhook *h, int at, uint64_t len)
{
    uint64_t pos;

    if (lua_isboolean(L, at) && lua_toboolean(L, at)) {
        if (len > h->size)
            luaL_error(L, "%I bytes do not fit into the region of %I", (LUAI_UACINT)len,
                       (LUAI_UACINT)h->size);
        return JOB_OWN_PLACE;
    }
    pos = integer(L, at, "offset", h->offset, h->offset + h->size, 0);
    if (pos + len > h->offset + h->size)
        luaL_error(L, "%I bytes at %I end outside of the region, which ends at %I",
                   (LUAI_UACINT)len, (LUAI_UACINT)pos, (LUAI_UACINT)(h->offset + h->size));
    return pos;
}

/* The four results of next above top, as an operation that is given to the job. */
static void give(lua_State *L, struct lhook *h, int top)
{
    struct job_op op = { .side = side(L, h, top + 3) };

    op.think_ns = integer(L, top + 4, "think time", 0, LUA_MAXINTEGER, 0);
    if (op.side != JOB_SYNC) {
        op.len = (uint32_t)integer(L, top + 2, "bytes", 1, h->bs_max, h->bs);
        op.pos = place(L, h, top + 1, op.len);
    }
    job_give(h->job, &op);
}

/* All of next's results above top. False when there will be no more. */
static bool answer(lua_State *L, struct lhook *h, int top)
{
    lua_settop(L, top + 4);
    if (lua_isnil(L, top + 1) && !lua_rawequal(L, top + 3, FSYNC))
        return false;
    give(L, h, top);
    return true;
}

/* The one result on top is what most give: an offset that will do, or true. `same`: the one
 * before it was an offset, and this is most likely another. */
static bool simple(lua_State *L, const struct lhook *h, uint64_t *pos, bool same)
{
    int ok;

    if (!same && lua_type(L, -1) == LUA_TBOOLEAN) {
        *pos = JOB_OWN_PLACE;
        return lua_toboolean(L, -1);
    }
    *pos = (uint64_t)lua_tointegerx(L, -1, &ok);
    return ok && *pos >= h->offset && *pos <= h->last;
}

/* Simple answers go straight to the job's memory, and their values stay on the stack for a
 * while: both save a tenth of what a hook costs. Fields one by one: a copy of a struct that was
 * just put together would wait for its parts. */
int lhook_choose(lua_State *L)
{
    struct lhook *h = lua_touserdata(L, FIXED + 1);
    struct job_op *op = job_room(h->job), *first = op;
    int top = FIXED + 1;

    luaL_checkstack(L, KEPT + LUA_MINSTACK, NULL);
    for (unsigned n = h->wanted; n > 0; n--) {
        lua_pushvalue(L, NEXT);
        if (h->takes_io)
            lua_pushvalue(L, IO);
        lua_call(L, h->takes_io, LUA_MULTRET);
        if (h->sided && lua_gettop(L) == top + 1 &&
            simple(L, h, &op->pos, op > first && op[-1].pos != JOB_OWN_PLACE)) {
            op->think_ns = 0;
            op->len = h->bs;
            op->side = h->side;
            op++;
            if (++top < FIXED + KEPT)
                continue;
        } else {
            job_given(h->job, (unsigned)(op - first));
            if (!answer(L, h, top)) {
                job_end(h->job);
                return 0;
            }
            first = op = job_room(h->job);
        }
        lua_settop(L, top = FIXED + 1);
    }
    job_given(h->job, (unsigned)(op - first));
    return 0;
}
