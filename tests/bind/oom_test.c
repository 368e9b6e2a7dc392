/*
 * oom - what happens when memory runs out at any point: an allocator that refuses every growth
 * from the N-th on, for each N until a run needs no more; and one that refuses only the N-th,
 * which makes Lua collect everything there and try again.
 *
 * A run ends in success or in a Lua error, with no buffer alive and, under ASan, no leak.
 */
#include <stdbool.h>
#include <stdlib.h>

#include "../core/check.h"
#include "bind/bind.h"
#include "bind/lmain.h"
#include "core/buf.h"

#include <lualib.h>

static const char script[] =
    "local core = require 'iolua.core'\n"
    "local fiber = core.fiber\n"
    "local f <close> = assert(core.file.open('/dev/zero'))\n"
    "local function read(n)\n"
    "  local b <close> = assert(core.buf.new(4096))\n"
    "  for i = 1, n do assert(f:read(b, i)) end\n"
    "  return n\n"
    "end\n"
    "local list = {}\n"
    "for i = 1, 4 do list[i] = fiber.spawn(read, i) end\n"
    "for i = 1, 4 do assert(list[i]:join() == i) end\n"
    "local r, w = fiber.pipe()\n"
    "local stuck = fiber.spawn(function()\n"
    "  local b <close> = assert(core.buf.new(100))\n"
    "  return r:read(b, 0)\n"
    "end)\n"
    "fiber.sleep(0)\n"
    "stuck:cancel()\n"
    "stuck:join()\n"
    "local bad = fiber.spawn(error, 'x')\n"
    "assert(not pcall(bad.join, bad))\n"
    "local g = fiber.wrap(function() fiber.sleep(1000) coroutine.yield(1) end)\n"
    "g()\n"
    "assert(fiber.stat('/').type == 'folder')\n"
    "local a, b = core.buf.new(10), core.buf.new(20)\n"
    "assert(f:readv({ a, b }, 0) == 30)\n"
    "local q = fiber.queue()\n"
    "local waiter = fiber.spawn(function() return q:wait() end)\n"
    "fiber.sleep(0)\n"
    "q:wake()\n"
    "assert(waiter:join())\n"
    "a:close() b:close() r:close() w:close()\n";

struct limit {
    long left;                  /* growths until the refused one; < 0: counting */
    bool forever;               /* and all after it */
    bool refused;
    long count;
};

static void *allocate(void *ud, void *old, size_t old_size, size_t size)
{
    struct limit *l = ud;

    if (size == 0) {
        free(old);
        return NULL;
    }
    if (size > (old ? old_size : 0)) {
        l->count++;
        if (l->left >= 0 && (l->left == 0 || (l->refused && l->forever))) {
            l->refused = true;
            if (!l->forever)
                l->left = -1;
            return NULL;
        }
        if (l->left > 0)
            l->left--;
    }
    return realloc(old, size);
}

static int run(lua_State *L)
{
    enum lmain_end end;

    if (luaL_loadstring(L, script) != LUA_OK)
        return lua_error(L);
    end = lmain_call(L, 0);
    if (end == LMAIN_DONE)
        end = lmain_rest(L);
    if (end == LMAIN_FAILED)
        return lua_error(L);
    return 0;
}

static int stop(lua_State *L)
{
    lmain_stop(L);
    return 0;
}

static int prepare(lua_State *L)
{
    luaL_openlibs(L);
    luaL_requiref(L, "iolua.core", luaopen_iolua_core, 0);
    lua_pop(L, 1);
    return 0;
}

static bool protected(lua_State *L, lua_CFunction fn)
{
    lua_pushcfunction(L, fn);           /* a light function: it needs no memory */
    return lua_pcall(L, 0, 0, 0) == LUA_OK;
}

/* One run with the limit set before (or after) the libraries are loaded. True: not refused. */
static bool run_at(long n, bool forever, bool loading)
{
    struct limit limit = { -1, forever, false, 0 };
    lua_State *L = lua_newstate(allocate, &limit);
    bool loaded;

    CHECK(L != NULL);
    if (loading)
        limit.left = n;
    loaded = protected(L, prepare);
    CHECK(loaded || limit.refused);
    if (!loading)
        limit.left = n;
    if (loaded) {
        bool ok = protected(L, run);

        CHECK(ok || limit.refused);
        if (!ok && !limit.refused)
            printf("%s\n", lua_tostring(L, -1));
        limit.left = -1;
        protected(L, stop);
    }
    limit.left = -1;
    lua_close(L);
    CHECK_INT(buf_alive(), 0);
    return !limit.refused;
}

static void sweep(bool forever, bool loading, long step)
{
    long n = 0;

    while (n < 100000 && !run_at(n, forever, loading) && check_case_ok)
        n += step;
    printf("%ld points\n", n / step);
    CHECK(n > 0 && n < 100000);
}

static void running_survives_the_end_of_memory_at_every_point(void)
{
    sweep(true, false, 1);
}

static void running_survives_a_full_collection_at_every_point(void)
{
    sweep(false, false, 1);
}

static void loading_survives_the_end_of_memory(void)
{
    sweep(true, true, 7);
}

int main(void)
{
    CASE(running_survives_the_end_of_memory_at_every_point);
    CASE(running_survives_a_full_collection_at_every_point);
    CASE(loading_survives_the_end_of_memory);
    return DONE();
}
