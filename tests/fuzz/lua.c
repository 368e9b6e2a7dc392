/*
 * A parser in Lua under libFuzzer: FUZZ_LUA names a driver, a chunk that gives a function of one
 * text. The parser must return or raise a string of its own making; what Lua itself raises on a
 * mistake ("attempt to index ..."), anything else that is raised, and a hang are faults.
 *
 * Lua is not instrumented: a hook on every line tells libFuzzer which lines followed which.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>
#include <lualib.h>

#define COUNTERS 65536u

__attribute__((section("__libfuzzer_extra_counters"))) static uint8_t counters[COUNTERS];

static lua_State *lua;
static uint32_t before;         /* the line that ran last */

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void on_line(lua_State *L, lua_Debug *ar)
{
    uint32_t here;

    if (!lua_getinfo(L, "S", ar))
        return;
    here = ((uint32_t)(uintptr_t)ar->source >> 4) * 2654435761u ^
           (uint32_t)ar->currentline * 40503u;
    counters[(here ^ before >> 1) % COUNTERS]++;
    before = here;
}

static void die(const char *what, const char *why)
{
    fprintf(stderr, "ERROR: %s: %s\n", what, why ? why : "no string");
    abort();
}

/* msgh(error): what Lua raises by itself gets a traceback, to tell it by. */
static int with_place(lua_State *L)
{
    static const char *const inner[] = { "attempt to ", "bad argument #", "stack overflow",
        "malformed ", "number has no integer representation", "invalid order function",
        "C stack", "'for' ", "invalid option", "invalid value (", "too many ", NULL };
    const char *text = lua_type(L, 1) == LUA_TSTRING ? lua_tostring(L, 1) : NULL;

    for (unsigned i = 0; text && inner[i]; i++)
        if (strstr(text, inner[i])) {
            luaL_traceback(L, L, text, 1);
            die("Lua", lua_tostring(L, -1));
        }
    if (!text)
        die("raised", luaL_typename(L, 1));
    return 1;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    const char *driver = getenv("FUZZ_LUA");

    (void)argc;
    (void)argv;
    lua = luaL_newstate();
    luaL_openlibs(lua);
    if (!driver || luaL_dofile(lua, driver) != LUA_OK)
        die("driver", driver ? lua_tostring(lua, -1) : "FUZZ_LUA is not set");
    lua_sethook(lua, on_line, LUA_MASKLINE, 0);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    before = 0;
    lua_pushcfunction(lua, with_place);
    lua_pushvalue(lua, 1);
    lua_pushlstring(lua, (const char *)data, n);
    lua_pcall(lua, 1, 0, 2);
    lua_settop(lua, 1);
    return 0;
}
