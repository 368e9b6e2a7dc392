/*
 * lhist - histograms for other bindings: the class "iolua.hist" is a struct hist in a userdata.
 */
#ifndef IOLUA_BIND_LHIST_H
#define IOLUA_BIND_LHIST_H

#include <lua.h>

struct hist;

/* Push a new empty histogram; the pointer is valid while Lua holds the value. May raise. */
struct hist *lhist_push(lua_State *L);

/* The histogram at arg, or an argument error. */
struct hist *lhist_check(lua_State *L, int arg);

#endif
