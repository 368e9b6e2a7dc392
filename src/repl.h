/*
 * repl - the prompt: lines are read with libedit, each runs as the main fiber.
 *
 * What is shown, completed and explained is decided in lua/iolua/repl.lua.
 */
#ifndef IOLUA_REPL_H
#define IOLUA_REPL_H

#include "bind/lhost.h"

#include <lua.h>

/* Run the prompt until the end of input. Returns -1, or the run's status after os.exit or a
 * second signal. */
int repl_run(lua_State *L, struct lhost *host);

#endif
