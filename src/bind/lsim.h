/*
 * lsim - simulated devices for other bindings.
 */
#ifndef IOLUA_BIND_LSIM_H
#define IOLUA_BIND_LSIM_H

#include <lua.h>

struct sim_device;

/* The device at arg, or an argument error. The caller takes a reference if it keeps it. */
struct sim_device *lsim_check(lua_State *L, int arg);

#endif
