/*
 * lspot - where operations go (core/spot.h), read from a table of Lua.
 */
#ifndef IOLUA_BIND_LSPOT_H
#define IOLUA_BIND_LSPOT_H

#include <lua.h>

struct spot_spec;

/* Fill all of s from the table at arg: kind = "zipf" ..., parameter, stride, access and size
 * (lists of parts of MIX_WHOLE), scatter, scatter_seed. Raises on anything else. */
void lspot_spec(lua_State *L, int arg, struct spot_spec *s);

#endif
