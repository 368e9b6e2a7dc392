#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "paths.h"

#include <lauxlib.h>

static const char *const places[] = { "../../lua", "../share/iolua/lua" };

/* Push iolua's folder of Lua files, or nil. */
static void push_home(lua_State *L)
{
    char exe[PATH_MAX], file[PATH_MAX + 64];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    char *folder;

    exe[n > 0 ? n : 0] = '\0';
    folder = dirname(exe);
    for (unsigned i = 0; i < sizeof places / sizeof places[0]; i++) {
        char real[PATH_MAX];

        snprintf(file, sizeof file, "%s/%s/iolua/init.lua", folder, places[i]);
        if (access(file, R_OK) < 0)
            continue;
        snprintf(file, sizeof file, "%s/%s", folder, places[i]);
        if (realpath(file, real)) {
            lua_pushstring(L, real);
            return;
        }
    }
    lua_pushnil(L);
}

/* Push the absolute folder of the script, or nil. */
static void push_folder(lua_State *L, const char *script)
{
    char copy[PATH_MAX], real[PATH_MAX];

    if (script && strlen(script) < sizeof copy && realpath(dirname(strcpy(copy, script)), real))
        lua_pushstring(L, real);
    else
        lua_pushnil(L);
}

/* Add "folder/?.lua;folder/?/init.lua;" for the folder on top of L; pops it. */
static void add_folder(lua_State *L, luaL_Buffer *b, int folder)
{
    static const char *const patterns[] = { "/?.lua;", "/?/init.lua;" };

    if (lua_isnil(L, folder))
        return;
    for (int i = 0; i < 2; i++) {
        luaL_addstring(b, lua_tostring(L, folder));
        luaL_addstring(b, patterns[i]);
    }
}

/* Add the entries of a path; for root only the absolute ones. */
static void add_entries(luaL_Buffer *b, const char *path)
{
    int root = geteuid() == 0;

    while (*path) {
        size_t n = strcspn(path, ";");

        if (n > 0 && (!root || *path == '/')) {
            luaL_addlstring(b, path, n);
            luaL_addchar(b, ';');
        }
        path += n + (path[n] == ';');
    }
}

/* Replace package[field] (package is at index 1) by the folders and what it held. */
static void set_field(lua_State *L, const char *field, int home, int folder)
{
    luaL_Buffer b;
    int old;

    lua_getfield(L, 1, field);
    old = lua_gettop(L);
    luaL_buffinit(L, &b);
    if (home) {
        add_folder(L, &b, home);
        add_folder(L, &b, folder);
    }
    add_entries(&b, lua_isstring(L, old) ? lua_tostring(L, old) : "");
    luaL_pushresult(&b);
    if (lua_rawlen(L, -1) > 0) {                /* without the last ";" */
        lua_pushlstring(L, lua_tostring(L, -1), lua_rawlen(L, -1) - 1);
        lua_remove(L, -2);
    }
    lua_setfield(L, 1, field);
    lua_pop(L, 1);
}

/* Runs as a C function of its own, so that package is at index 1. */
static int set_both(lua_State *L)
{
    const char *script = lua_touserdata(L, 1);

    lua_settop(L, 0);
    lua_getglobal(L, "package");
    push_home(L);                               /* package home */
    push_folder(L, script);                     /* package home folder */
    set_field(L, "path", 2, 3);
    set_field(L, "cpath", 0, 0);
    return 0;
}

void paths_set(lua_State *L, const char *script)
{
    lua_pushcfunction(L, set_both);
    lua_pushlightuserdata(L, (void *)script);
    lua_call(L, 1, 0);
}
