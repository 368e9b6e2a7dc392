#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lualib.h>

#include "bind/bind.h"
#include "bind/larray.h"
#include "bind/lhook.h"
#include "core/array.h"
#include "core/crew.h"
#include "core/rng.h"

#define ARRAYS_MAX 64
#define STREAM     0x686f6f6b00000000ull        /* apart from the streams that draw places */

/* Stack of the worker's state while it works. */
enum { NEXT = 1, ON_COMPLETE, IO, READ, WRITE, FSYNC, FIXED = FSYNC };

struct lhook {
    lua_State *_Atomic state;   /* NULL until the worker has opened it */
    char *code, *path;          /* of travel.pack; package.path */
    size_t code_len;
    struct array *arrays[ARRAYS_MAX];
    unsigned array_count;
    bool next, complete;        /* which functions there are */
    unsigned worker, workers;   /* from 1 */
    bool may_write;
    unsigned read_percent;
    uint64_t offset, size, seed;        /* the region */
    uint32_t bs, bs_max;
    bool sided;                 /* all operations of the job are of one side */
    enum job_side side;
    uint64_t blocks;            /* of bs in the region */
    uint64_t last;              /* where a block of bs can begin at most */
    struct rng rng;
    struct job *job;
    unsigned wanted;
};

static char *copy_field(lua_State *L, int arg, const char *key, size_t *len)
{
    const char *text;
    char *copy;

    lua_getfield(L, arg, key);
    text = lua_tolstring(L, -1, len);
    luaL_argcheck(L, text != NULL, arg, "a hook's code and path are strings");
    copy = malloc(*len + 1);
    if (copy)
        memcpy(copy, text, *len + 1);
    lua_pop(L, 1);
    if (!copy)
        luaL_error(L, "not enough memory");
    return copy;
}

static void read_arrays(lua_State *L, int arg, struct lhook *h)
{
    lua_Integer n;

    if (lua_getfield(L, arg, "arrays") == LUA_TTABLE) {
        n = (lua_Integer)lua_rawlen(L, -1);
        luaL_argcheck(L, n <= ARRAYS_MAX, arg, "more than 64 arrays");
        for (lua_Integer i = 1; i <= n; i++) {
            lua_rawgeti(L, -1, i);
            h->arrays[h->array_count] = array_ref(larray_check(L, lua_gettop(L)));
            h->array_count++;
            lua_pop(L, 1);
        }
    }
    lua_pop(L, 1);
}

static int hook_open(void *arg, struct job *j, char *message, size_t len);
static int hook_step(void *arg, struct job *j, struct job_live *live, char *message, size_t len);

void lhook_read(lua_State *L, int arg, struct lhook **out, struct crew_spec *spec)
{
    const struct load_spec *load = &spec->job.load;
    int at = lua_gettop(L) + 1;
    size_t len;
    struct lhook *h;

    if (lua_getfield(L, arg, "hook") != LUA_TTABLE) {
        lua_pop(L, 1);
        return;
    }
    *out = h = calloc(1, sizeof *h);
    if (!h)
        luaL_error(L, "not enough memory");
    h->next = bind_flag(L, at, "next");
    h->complete = bind_flag(L, at, "on_complete");
    h->may_write = bind_flag(L, at, "may_write");
    h->workers = (unsigned)bind_field(L, at, "workers", 1, CREW_MAX, 1);
    h->code = copy_field(L, at, "code", &h->code_len);
    h->path = copy_field(L, at, "path", &len);
    read_arrays(L, at, h);
    h->worker = load->stream + 1;
    h->read_percent = load->read_percent;
    h->offset = load->offset;
    h->size = load->size;
    h->seed = load->seed;
    h->bs = load->bs;
    h->bs_max = spec->job.rig.bs;
    h->sided = h->read_percent == 0 || h->read_percent == 100;
    h->side = h->read_percent ? JOB_READ : JOB_WRITE;
    h->blocks = h->size / h->bs;
    h->last = h->size >= h->bs ? h->offset + h->size - h->bs : 0;
    spec->job.hooked = h->next;
    spec->job.told = h->complete;
    spec->hook = (struct crew_hook){ h, hook_open, hook_step };
    lua_pop(L, 1);
}

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

/* Push the table that `next` is given. */
static void push_io(lua_State *L, struct lhook *h)
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

static void open_libraries(lua_State *L, const struct lhook *h)
{
    luaL_openlibs(L);
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
    lua_pushcfunction(L, luaopen_iolua_core);
    lua_setfield(L, -2, "iolua.core");
    lua_pop(L, 1);
    lua_getglobal(L, "package");
    lua_pushstring(L, h->path);
    lua_setfield(L, -2, "path");
    lua_pop(L, 1);
}

/* Leaves the functions and what they are given on the stack, as the enum says. */
static int set_up(lua_State *L)
{
    struct lhook *h = lua_touserdata(L, 1);

    open_libraries(L, h);
    lua_getglobal(L, "require");
    lua_pushliteral(L, "iolua.travel");
    lua_call(L, 1, 1);
    lua_getfield(L, -1, "unpack");              /* hook travel unpack */
    lua_pushlstring(L, h->code, h->code_len);
    lua_createtable(L, (int)h->array_count, 0);
    for (unsigned i = 0; i < h->array_count; i++) {
        larray_push(L, h->arrays[i]);
        lua_rawseti(L, -2, i + 1);
    }
    lua_call(L, 2, 1);                          /* hook travel functions */
    lua_getfield(L, -1, "next");
    lua_getfield(L, -2, "on_complete");
    push_io(L, h);
    lua_pushliteral(L, "read");
    lua_pushliteral(L, "write");
    lua_pushliteral(L, "fsync");
    return FIXED;
}

static int traced(lua_State *L)
{
    luaL_traceback(L, L, luaL_tolstring(L, 1, NULL), 1);
    return 1;
}

/* The error on top of the state, as the worker's. */
static int fail(lua_State *L, const char *what, char *message, size_t len)
{
    snprintf(message, len, "%s: %s", what, lua_tostring(L, -1));
    lua_pop(L, 1);
    return -ECANCELED;
}

static int hook_open(void *arg, struct job *j, char *message, size_t len)
{
    struct lhook *h = arg;
    lua_State *L = luaL_newstate();

    if (!L) {
        snprintf(message, len, "state of a worker: %s", strerrordesc_np(ENOMEM));
        return -ENOMEM;
    }
    h->job = j;
    rng_seed(&h->rng, h->seed ^ STREAM, h->worker);
    atomic_store_explicit(&h->state, L, memory_order_release);
    lua_pushcfunction(L, set_up);
    lua_pushlightuserdata(L, h);
    if (lua_pcall(L, 1, FIXED, 0) != LUA_OK)
        return fail(L, "hook", message, len);
    return 0;
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

/* The four results of next on top of the stack, as an operation that is given to the job. */
static void give(lua_State *L, struct lhook *h, int top)
{
    enum job_side to = side(L, h, top + 3);
    uint64_t think = integer(L, top + 4, "think time", 0, LUA_MAXINTEGER, 0), len, pos;

    if (to == JOB_SYNC) {
        job_give(h->job, to, 0, 0, think);
        return;
    }
    len = integer(L, top + 2, "bytes", 1, h->bs_max, h->bs);
    pos = lua_isboolean(L, top + 1) && lua_toboolean(L, top + 1) ? job_place(h->job)
        : integer(L, top + 1, "offset", h->offset, h->offset + h->size, 0);
    if (pos + len > h->offset + h->size)
        luaL_error(L, "%I bytes at %I end outside of the region, which ends at %I",
                   (LUAI_UACINT)len, (LUAI_UACINT)pos, (LUAI_UACINT)(h->offset + h->size));
    job_give(h->job, to, pos, (uint32_t)len, think);
}

/* Next's answer: an offset alone, which is what most give, or all of its results. False when
 * there will be no more. */
static bool answer(lua_State *L, struct lhook *h, int top)
{
    int whole = lua_gettop(L) == top + 1 && h->sided;
    lua_Integer pos = 0;

    if (whole && lua_isboolean(L, top + 1) && lua_toboolean(L, top + 1))
        pos = (lua_Integer)job_place(h->job);
    else if (whole)
        pos = lua_tointegerx(L, top + 1, &whole);
    if (whole && (uint64_t)pos >= h->offset && (uint64_t)pos <= h->last) {
        job_give(h->job, h->side, (uint64_t)pos, h->bs, 0);
        return true;
    }
    lua_settop(L, top + 4);
    if (lua_isnil(L, top + 1) && !lua_rawequal(L, top + 3, FSYNC))
        return false;
    give(L, h, top);
    return true;
}

/* next ... fsync hook | Ask for as many operations as are wanted. */
static int choose(lua_State *L)
{
    struct lhook *h = lua_touserdata(L, FIXED + 1);
    int top = FIXED + 1;

    for (unsigned n = h->wanted; n > 0; n--) {
        lua_pushvalue(L, NEXT);
        lua_pushvalue(L, IO);
        lua_call(L, 1, LUA_MULTRET);
        if (!answer(L, h, top)) {
            job_end(h->job);
            return 0;
        }
        lua_settop(L, top);
    }
    return 0;
}

/* next ... fsync hook | Tell what the last round has brought. */
static int tell(lua_State *L)
{
    struct lhook *h = lua_touserdata(L, FIXED + 1);
    const struct job_told *told;
    unsigned n;

    told = job_told(h->job, &n);
    for (unsigned i = 0; i < n; i++) {
        lua_pushvalue(L, ON_COMPLETE);
        lua_pushvalue(L, told[i].side == JOB_READ ? READ : told[i].side == JOB_WRITE ? WRITE
                                                                                     : FSYNC);
        lua_pushinteger(L, (lua_Integer)told[i].pos);
        lua_pushinteger(L, told[i].len);
        lua_pushinteger(L, told[i].res);
        lua_pushinteger(L, (lua_Integer)told[i].lat_ns);
        lua_call(L, 5, 0);
    }
    return 0;
}

/* Run fn with the fixed values of the state and the hook. */
static int run(struct lhook *h, lua_CFunction fn, const char *what, char *message, size_t len)
{
    lua_State *L = atomic_load_explicit(&h->state, memory_order_relaxed);
    int err = 0;

    lua_pushcfunction(L, traced);               /* fixed traced */
    lua_pushcfunction(L, fn);
    for (int i = 1; i <= FIXED; i++)
        lua_pushvalue(L, i);
    lua_pushlightuserdata(L, h);
    if (lua_pcall(L, FIXED + 1, 0, FIXED + 1) != LUA_OK)
        err = fail(L, what, message, len);
    lua_settop(L, FIXED);
    return err;
}

static int hook_step(void *arg, struct job *j, struct job_live *live, char *message, size_t len)
{
    struct lhook *h = arg;
    unsigned told;
    int err = 0, went;

    if (h->next && (h->wanted = job_wants(j)) > 0)
        err = run(h, choose, "next", message, len);
    if (err < 0)
        return err;
    went = job_step(j, live);
    job_told(j, &told);
    if (h->complete && told > 0)
        err = run(h, tell, "on_complete", message, len);
    return err < 0 ? err : went;
}

static void stop(lua_State *L, lua_Debug *where)
{
    (void)where;
    lua_sethook(L, NULL, 0, 0);
    luaL_error(L, "interrupted");
}

void lhook_interrupt(struct lhook *h)
{
    lua_State *L = h ? atomic_load_explicit(&h->state, memory_order_acquire) : NULL;

    if (L)
        lua_sethook(L, stop, LUA_MASKCALL | LUA_MASKRET | LUA_MASKCOUNT, 1);
}

void lhook_free(struct lhook *h)
{
    lua_State *L = h ? atomic_load_explicit(&h->state, memory_order_acquire) : NULL;

    if (!h)
        return;
    if (L)
        lua_close(L);
    for (unsigned i = 0; i < h->array_count; i++)
        array_unref(h->arrays[i]);
    free(h->code);
    free(h->path);
    free(h);
}
