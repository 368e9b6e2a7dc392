#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lualib.h>

#include "bind/bind.h"
#include "bind/larray.h"
#include "bind/lhook.h"
#include "bind/lhookself.h"
#include "core/crew.h"

#define STREAM 0x686f6f6b00000000ull    /* apart from the streams that draw places */

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

/* os.exit() in a worker would end the process past every closer: settings would stay changed. */
static int no_exit(lua_State *L)
{
    return luaL_error(L, "os.exit: a hook cannot end the process; an error ends the job");
}

static void open_libraries(lua_State *L, const struct lhook *h)
{
    luaL_openlibs(L);
    lua_getglobal(L, LUA_OSLIBNAME);
    lua_pushcfunction(L, no_exit);
    lua_setfield(L, -2, "exit");
    lua_pop(L, 1);
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
    lua_pushcfunction(L, luaopen_iolua_core);
    lua_setfield(L, -2, "iolua.core");
    lua_pop(L, 1);
    lua_getglobal(L, "package");
    lua_pushstring(L, h->path);
    lua_setfield(L, -2, "path");
    lua_pop(L, 1);
}

/* Does the function on top of the stack look at what it is given? */
static bool takes(lua_State *L)
{
    lua_Debug about;

    if (!lua_isfunction(L, -1))
        return false;
    lua_pushvalue(L, -1);
    lua_getinfo(L, ">u", &about);
    return about.nparams > 0 || about.isvararg;
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
    h->takes_io = takes(L);
    lua_getfield(L, -2, "on_complete");
    lhook_pushio(L, h);
    lua_pushliteral(L, "read");
    lua_pushliteral(L, "write");
    lua_pushliteral(L, "fsync");
    return FIXED;
}

/* With the traceback, where there is more to it than the call by C. */
static int traced(lua_State *L)
{
    static const char bare[] = "\nstack traceback:\n\t[C]: in ?";
    const char *text;
    size_t len;

    luaL_traceback(L, L, luaL_tolstring(L, 1, NULL), 1);
    text = lua_tolstring(L, -1, &len);
    if (len >= sizeof bare && strcmp(text + len - (sizeof bare - 1), bare) == 0)
        lua_pushlstring(L, text, len - (sizeof bare - 1));
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
        err = run(h, lhook_choose, "next", message, len);
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
