/*
 * paths - where `require` looks: iolua's own lua/ folder, the script's folder, then Lua's paths.
 */
#ifndef IOLUA_PATHS_H
#define IOLUA_PATHS_H

#include <lua.h>

/*
 * Set package.path and package.cpath. iolua's folder is found relative to the executable:
 * ../../lua in a build tree, ../share/iolua/lua where installed. script (may be NULL) adds its
 * folder as an absolute entry. For root, relative entries are then removed: whoever can write
 * to the current folder could otherwise run code as root.
 */
void paths_set(lua_State *L, const char *script);

#endif
