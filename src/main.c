/*
 * main - the program iolua: arguments, one Lua state, the script or the REPL, exit status.
 *
 * Exit status: 0 done, 1 the script failed, 2 usage, 3 measured but I/O errors occurred,
 * 4 something was not put back; ended by the signal when interrupted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "args.h"
#include "bind/bind.h"
#include "bind/lrun.h"
#include "bind/lspawn.h"
#include "coro.h"
#include "interrupt.h"
#include "leave.h"
#include "paths.h"
#include "run.h"
#include "settle.h"
#include "streams.h"
#include "version.h"

#include <lualib.h>

static const char usage[] =
    "usage: iolua [options] [script [args]]\n"
    "  -e chunk       run chunk\n"
    "  -i             go to the prompt after the script\n"
    "  -l name        require name into a global (also -l g=name)\n"
    "  -v             show version information\n"
    "  -E             ignore LUA_INIT, LUA_PATH and LUA_CPATH\n"
    "  -W             turn warnings on\n"
    "  --             stop handling options\n"
    "  -              run standard input as a script\n"
    "  --machine file run on the machine that file describes, in virtual time\n"
    "  --doctor       say what works on this machine, and why not\n"
    "  --restore      undo what a killed run left behind\n"
    "  -h, --help     show this text\n"
    "Commands: iolua report | compare | fio | help | new [args]\n"
    "A script lists its own options: iolua script.lua --help\n";

static int complain(const char *message)
{
    fprintf(stderr, "iolua: %s\n%s", message, usage);
    return RUN_USAGE;
}

/* What needs no Lua state. Returns the status, or -1 to go on. */
static int at_once(const struct args *a)
{
    if (a->help) {
        fputs(usage, stdout);
        return RUN_DONE;
    }
    if (!a->version)
        return -1;
    printf("iolua %s  (%s)\n", IOLUA_VERSION, LUA_RELEASE);
    fflush(stdout);
    return a->interactive || a->chunks || a->script < a->argc ? -1 : RUN_DONE;
}

/* The global arg: the script is at 0, its arguments follow, what precedes it is negative. */
static void set_arg(lua_State *L, const struct args *a)
{
    int script = a->script < a->argc ? a->script : 0;

    lua_createtable(L, a->argc - script, script + 1);
    for (int i = 0; i < a->argc; i++) {
        lua_pushstring(L, a->argv[i]);
        lua_rawseti(L, -2, i - script);
    }
    lua_setglobal(L, "arg");
}

/* Libraries, paths, arg. */
static void prepare(lua_State *L, const struct args *a)
{
    bool file = a->script < a->argc && !a->stdin_script;

    if (a->no_env) {
        lua_pushboolean(L, 1);
        lua_setfield(L, LUA_REGISTRYINDEX, "LUA_NOENV");
    }
    luaL_openlibs(L);
    luaL_requiref(L, "iolua.core", luaopen_iolua_core, 0);
    lua_pushliteral(L, IOLUA_VERSION);
    lua_setfield(L, -2, "version");
    lua_pop(L, 1);
    paths_set(L, file ? a->argv[a->script] : NULL);
    set_arg(L, a);
}

struct run {
    const struct args *args;
    struct lhost *host;         /* NULL until the signals are caught */
    int status;
};

/* The status of a run that ended with `status`, by what it left behind. */
static int final_status(lua_State *L, int status)
{
    struct lrun marks = lrun_marks(L);

    if (marks.unrestored)
        return RUN_UNRESTORED;
    return status == RUN_DONE && marks.errors ? RUN_ERRORS : status;
}

/* Everything that may raise runs in here. */
static int protected(lua_State *L)
{
    struct run *run = lua_touserdata(L, 1);

    lua_settop(L, 0);
    run->host = interrupt_open(L);              /* the loop looks for it */
    prepare(L, run->args);
    coro_track(L, run->host);
    leave_open(L);
    if (!run->args->command)            /* --restore does it itself, --doctor changes nothing */
        settle_start(L);
    run->status = run_all(L, run->args, run->host);
    settle_finish(L);
    run->status = final_status(L, run->status);
    return 0;
}

/* A state for the run. Returns the exit status; *sig is the signal that ended it, or 0. */
static int run_state(const struct args *a, int *sig)
{
    struct run run = { a, NULL, RUN_FAILED };
    lua_State *L = luaL_newstate();

    if (!L) {
        fputs("iolua: not enough memory\n", stderr);
        return RUN_FAILED;
    }
    lua_pushcfunction(L, protected);
    lua_pushlightuserdata(L, &run);
    if (lua_pcall(L, 1, 0, 0) != LUA_OK)
        fprintf(stderr, "iolua: %s\n", lua_tostring(L, -1));
    lua_close(L);
    if (run.status == RUN_DONE)
        run.status = leave_status();            /* of a finalizer that called os.exit */
    *sig = run.host ? run.host->signal : 0;
    return run.status;
}

int main(int argc, char **argv)
{
    char message[256];
    struct args a;
    int status, sig = 0;

    if (streams_take() < 0)
        return RUN_FAILED;
    if (lspawn_minds(argv))
        return lspawn_mind(argv);
    if (args_parse(&a, argc, argv, message, sizeof message) < 0)
        return complain(message);
    status = at_once(&a);
    if (status < 0)
        status = run_state(&a, &sig);
    if (status != RUN_UNRESTORED && sig)
        interrupt_die(sig);
    if (streams_finish() < 0 && status != RUN_UNRESTORED)
        return RUN_FAILED;
    return status;
}
