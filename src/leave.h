/*
 * leave - os.exit of the runner: the main fiber's closers run first.
 */
#ifndef IOLUA_LEAVE_H
#define IOLUA_LEAVE_H

#include <lua.h>

/* Replace os.exit. */
void leave_open(lua_State *L);

/* The status that os.exit gave. */
int leave_status(void);

#endif
