/*
 * settle - what runs have changed on the machine is put back: at the start what a killed run
 * left, at the end what this one changed.
 */
#ifndef IOLUA_SETTLE_H
#define IOLUA_SETTLE_H

#include <lua.h>

/* Undo what killed runs left, and say so on stderr. Costs a look into a folder else. */
void settle_start(lua_State *L);

/* Undo what this run changed; problems go to stderr and are marked for the exit status. The
 * three signals wait meanwhile. */
void settle_finish(lua_State *L);

#endif
