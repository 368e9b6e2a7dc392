#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bind/lmain.h"
#include "leave.h"
#include "repl.h"
#include "run.h"
#include "version.h"

#include <lauxlib.h>

static const char *const commands[] = { "report", "compare", "fio", "help", "new", NULL };

/* shown(value) -> string: __tostring, a field `message`, or the pretty printer's text. */
static int shown(lua_State *L)
{
    if (luaL_callmeta(L, 1, "__tostring"))
        return 1;
    if (lua_istable(L, 1) && lua_getfield(L, 1, "message") == LUA_TSTRING)
        return 1;
    lua_settop(L, 1);
    lua_getglobal(L, "require");
    lua_pushliteral(L, "iolua.show");
    lua_call(L, 1, 1);                          /* value show */
    lua_pushvalue(L, 1);
    lua_call(L, 1, 1);
    lua_pushfstring(L, "(error object is a %s) %s", luaL_typename(L, 1),
                    luaL_tolstring(L, -1, NULL));
    return 1;
}

void run_print_error(lua_State *L)
{
    int base = lua_gettop(L);

    if (!lua_isstring(L, -1)) {
        lua_pushcfunction(L, shown);
        lua_pushvalue(L, -2);
        if (lua_pcall(L, 1, 1, 0) != LUA_OK || !lua_isstring(L, -1))
            lua_pushfstring(L, "(error object is a %s value)", luaL_typename(L, -2));
    }
    fprintf(stderr, "iolua: %s\n", lua_tostring(L, -1));
    lua_settop(L, base - 1);
}

/* exit_request(value) -> status, message | nothing: an error that only asks to end the run. */
static int exit_request(lua_State *L)
{
    if (!lua_istable(L, 1) || lua_getfield(L, 1, "iolua_exit") != LUA_TNUMBER)
        return 0;
    lua_getfield(L, 1, "message");
    return 2;
}

bool run_exit(lua_State *L)
{
    int base = lua_gettop(L);
    bool is;

    lua_pushcfunction(L, exit_request);
    lua_pushvalue(L, base);
    is = lua_pcall(L, 1, LUA_MULTRET, 0) == LUA_OK && lua_gettop(L) == base + 2;
    lua_settop(L, base);
    return is;
}

/* The status that an error asks for. What is none is told. */
static int asked_status(lua_State *L, int at)
{
    int whole;
    lua_Integer status = lua_tointegerx(L, at, &whole);

    if (whole && status >= 0 && status <= 255)
        return (int)status;
    fprintf(stderr, "iolua: iolua_exit = %s is no exit status (0 to 255): the run ends with %d\n",
            luaL_tolstring(L, at, NULL), RUN_FAILED);
    lua_pop(L, 1);
    return RUN_FAILED;
}

int run_failure(lua_State *L, struct lhost *host)
{
    int status = RUN_FAILED, base = lua_gettop(L);

    lua_pushcfunction(L, exit_request);
    lua_pushvalue(L, base);
    if (lua_pcall(L, 1, LUA_MULTRET, 0) == LUA_OK && lua_gettop(L) == base + 2) {
        status = asked_status(L, base + 1);
        if (lua_isstring(L, base + 2))
            fprintf(stderr, "iolua: %s\n", lua_tostring(L, base + 2));
    } else if (host->signal) {
        if (host->signal != SIGPIPE)    /* `iolua x.lua | head` is quiet, as with cat */
            fprintf(stderr, "iolua: %s\n", lhost_word(host->signal));
    } else {
        lua_settop(L, base);
        run_print_error(L);
    }
    lua_settop(L, base - 1);
    return status;
}

/* The run's status for the way a main fiber ended, -1 when it goes on. */
static int status_of(lua_State *L, enum lmain_end end, struct lhost *host)
{
    if (end == LMAIN_FAILED)
        return run_failure(L, host);
    if (end == LMAIN_LEFT)
        return leave_status();
    return host->signal ? RUN_FAILED : -1;
}

/* Call the function below nargs arguments as the main fiber. Returns -1 when it ended well,
 * else the run's status. */
static int call(lua_State *L, int nargs, struct lhost *host)
{
    int base = lua_gettop(L) - nargs - 1;
    int status = status_of(L, lmain_call(L, nargs), host);

    lua_settop(L, base);
    return status;
}

/* Run what a luaL_load function left on top of L. */
static int run_loaded(lua_State *L, int status, int nargs, struct lhost *host)
{
    if (status != LUA_OK)
        return run_failure(L, host);
    lua_insert(L, -(nargs + 1));
    return call(L, nargs, host);
}

static int run_init(lua_State *L, struct lhost *host)
{
    const char *name = "=LUA_INIT_" LUA_VERSION_MAJOR "_" LUA_VERSION_MINOR;
    const char *init = getenv(name + 1);

    if (!init)
        init = getenv((name = "=LUA_INIT") + 1);
    if (!init)
        return -1;
    if (init[0] == '@')
        return run_loaded(L, luaL_loadfile(L, init + 1), 0, host);
    return run_loaded(L, luaL_loadbuffer(L, init, strlen(init), name), 0, host);
}

/* library(text): text is "name" or "global=name". */
static int library(lua_State *L)
{
    const char *text = lua_tostring(L, 1), *eq = strchr(text, '=');
    const char *name = eq ? eq + 1 : text;

    lua_getglobal(L, "require");
    lua_pushstring(L, name);
    lua_call(L, 1, 1);
    lua_pushlstring(L, text, eq ? (size_t)(eq - text) : strlen(text));
    lua_insert(L, -2);
    lua_pushglobaltable(L);
    lua_insert(L, -3);
    lua_settable(L, -3);
    return 0;
}

static int run_library(lua_State *L, const char *text, struct lhost *host)
{
    lua_pushcfunction(L, library);
    lua_pushstring(L, text);
    return call(L, 1, host);
}

/* -e, -l and -W in their order. */
static int run_chunks(lua_State *L, const struct args *a, struct lhost *host)
{
    const char *text;
    int at = 1, status = -1;
    char letter;

    while (status < 0 && (letter = args_chunk(a, &at, &text))) {
        if (letter == 'W')
            lua_warning(L, "@on", 0);
        else if (letter == 'l')
            status = run_library(L, text, host);
        else
            status = run_loaded(L, luaL_loadbuffer(L, text, strlen(text), "=(command line)"), 0,
                                host);
    }
    return status;
}

static int push_args(lua_State *L, const struct args *a)
{
    int n = a->argc - a->script - 1;

    luaL_checkstack(L, n + 3, "too many arguments to script");
    for (int i = 0; i < n; i++)
        lua_pushstring(L, a->argv[a->script + 1 + i]);
    return n;
}

static bool is_command(const char *name)
{
    const char *const *c = commands;

    while (*c && strcmp(*c, name) != 0)
        c++;
    return *c != NULL;
}

/* The command has returned: its result is the exit status (nil: 0). */
static int command_done(lua_State *L, int how, lua_KContext context)
{
    (void)how;
    (void)context;
    if (lua_isinteger(L, -1) && lua_tointeger(L, -1) != 0) {
        lua_createtable(L, 0, 1);
        lua_insert(L, -2);
        lua_setfield(L, -2, "iolua_exit");
        return lua_error(L);
    }
    return 0;
}

/* command(name, ...): the module iolua.command.NAME is a function of the arguments, which may
 * wait. */
static int command(lua_State *L)
{
    lua_getglobal(L, "require");
    lua_pushfstring(L, "iolua.command.%s", lua_tostring(L, 1));
    lua_call(L, 1, 1);
    lua_replace(L, 1);
    lua_callk(L, lua_gettop(L) - 1, 1, 0, command_done);
    return command_done(L, LUA_OK, 0);
}

static int run_command(lua_State *L, const struct args *a, const char *name, struct lhost *host)
{
    int n;

    lua_pushcfunction(L, command);
    lua_pushstring(L, name);
    n = a->script < a->argc ? push_args(L, a) : 0;
    return call(L, n + 1, host);
}

static int run_script(lua_State *L, const struct args *a, struct lhost *host)
{
    int n = push_args(L, a);

    return run_loaded(L, luaL_loadfile(L, a->stdin_script ? NULL : a->argv[a->script]), n, host);
}

/* The global iolua of -e and of the prompt. */
static int run_global(lua_State *L, struct lhost *host)
{
    return run_library(L, "iolua", host);
}

/* use_machine(file): from here on the script sees the machine that the file describes. */
static int use_machine(lua_State *L)
{
    lua_getglobal(L, "require");
    lua_pushliteral(L, "iolua.machine");
    lua_call(L, 1, 1);
    lua_getfield(L, -1, "use");
    lua_pushvalue(L, 1);
    lua_call(L, 1, 0);
    return 0;
}

static int run_machine(lua_State *L, const char *file, struct lhost *host)
{
    lua_pushcfunction(L, use_machine);
    lua_pushstring(L, file);
    return call(L, 1, host);
}

/* Is there a prompt: asked for, or nothing else to do and a terminal? */
static bool prompts(const struct args *a)
{
    return a->interactive || (!a->version && !a->chunks && !a->command &&
                              a->script >= a->argc && isatty(STDIN_FILENO));
}

static int run_prompt(lua_State *L, const struct args *a, struct lhost *host)
{
    if (isatty(STDIN_FILENO) && !a->version)
        printf("iolua %s  (%s)  help() explains\n", IOLUA_VERSION, LUA_RELEASE);
    return repl_run(L, host);
}

static int run_rest(lua_State *L, const struct args *a, struct lhost *host)
{
    if (a->command)
        return run_command(L, a, a->command, host);
    if (a->script < a->argc && is_command(a->argv[a->script]))
        return run_command(L, a, a->argv[a->script], host);
    if (a->script < a->argc)
        return run_script(L, a, host);
    if (a->chunks || a->version || isatty(STDIN_FILENO))
        return -1;
    return run_loaded(L, luaL_loadfile(L, NULL), 0, host);
}

int run_all(lua_State *L, const struct args *a, struct lhost *host)
{
    int status = -1;

    if (!a->no_env)
        status = run_init(L, host);
    if (status < 0 && a->machine)
        status = run_machine(L, a->machine, host);
    if (status < 0 && (a->chunks || prompts(a)))
        status = run_global(L, host);
    if (status < 0)
        status = run_chunks(L, a, host);
    if (status < 0)
        status = run_rest(L, a, host);
    if (status == RUN_FAILED && a->interactive && !host->signal)
        status = -1;            /* the prompt comes all the same */
    if (status < 0 && prompts(a))
        status = run_prompt(L, a, host);        /* its fibers end with it */
    else if (status < 0)
        status = status_of(L, lmain_rest(L), host);
    lmain_stop(L);
    return status < 0 ? RUN_DONE : status;
}
