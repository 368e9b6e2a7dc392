/*
 * lvolume - volumes in user space at an argument.
 */
#ifndef IOLUA_BIND_LVOLUME_H
#define IOLUA_BIND_LVOLUME_H

#include <lua.h>

#include "core/volume.h"

#define LVOLUME_CLASS "iolua.uservolume"

/* The open volume at arg, or an argument error. */
struct volume *lvolume_check(lua_State *L, int arg);

#endif
