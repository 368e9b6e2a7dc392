#include <pthread.h>
#include <signal.h>
#include <stdio.h>

#include "settle.h"

#include <lauxlib.h>

static const char start[] =
    "if not require('iolua.core').journal.pending(os.getenv('IOLUA_STATE')) then return {} end\n"
    "local journal = require 'iolua.journal'\n"
    "return journal.lines(journal.recover())";

static const char finish[] =
    "local journal = package.loaded['iolua.journal']\n"
    "return journal and journal.lines(journal.restore()) or {}";

static void print_lines(lua_State *L)
{
    lua_Integer n = (lua_Integer)lua_rawlen(L, -1);

    for (lua_Integer i = 1; i <= n; i++) {
        lua_rawgeti(L, -1, i);
        fprintf(stderr, "iolua: %s\n", lua_tostring(L, -1));
        lua_pop(L, 1);
    }
}

static void run(lua_State *L, const char *chunk)
{
    if (luaL_loadstring(L, chunk) == LUA_OK && lua_pcall(L, 0, 1, 0) == LUA_OK
        && lua_istable(L, -1))
        print_lines(L);
    else
        fprintf(stderr, "iolua: %s\n", luaL_tolstring(L, -1, NULL));
    lua_settop(L, 0);
}

void settle_start(lua_State *L)
{
    run(L, start);
}

void settle_finish(lua_State *L)
{
    sigset_t stop, before;

    sigemptyset(&stop);
    sigaddset(&stop, SIGINT);
    sigaddset(&stop, SIGTERM);
    sigaddset(&stop, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &stop, &before);
    lua_sethook(L, NULL, 0, 0);         /* a stop that was asked for just now */
    run(L, finish);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}
