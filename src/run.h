/*
 * run - what the command line asks for, in Lua's order: LUA_INIT, -e -l -W, the script or a
 * command, and the prompt. Each chunk runs as the main fiber.
 */
#ifndef IOLUA_RUN_H
#define IOLUA_RUN_H

#include "args.h"
#include "bind/lhost.h"

#include <lua.h>

enum run_status {
    RUN_DONE = 0,
    RUN_FAILED = 1,             /* the script failed */
    RUN_USAGE = 2,
    RUN_ERRORS = 3,             /* measured, but I/O errors occurred */
    RUN_UNRESTORED = 4,         /* something was not put back */
};

/* Run it all; errors are printed to stderr. Returns the exit status. */
int run_all(lua_State *L, const struct args *a, struct lhost *host);

/* Print the error on top of L to stderr, as a person can read it. Pops it. */
void run_print_error(lua_State *L);

/* The run's status for the error on top of L; prints what is to be said. Pops it. */
int run_failure(lua_State *L, struct lhost *host);

/* Does the error on top of L only ask to end the run (a table with iolua_exit)? */
bool run_exit(lua_State *L);

#endif
