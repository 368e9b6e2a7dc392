/*
 * interrupt - SIGINT, SIGTERM, SIGHUP and SIGPIPE reach the coroutine that runs; a second one
 * ends the process at once, but for SIGPIPE: a reader that left ends a run as the others do, and
 * what was set is put back.
 */
#ifndef IOLUA_INTERRUPT_H
#define IOLUA_INTERRUPT_H

#include "bind/lhost.h"

/* Make this program the host of L and catch the signals; a file beyond its limit
 * (SIGXFSZ) is an error of the write. */
struct lhost *interrupt_open(lua_State *L);

/* Catch them again after one came (a line of the REPL has ended). */
void interrupt_rearm(void);

/* End this process by the signal sig, as a shell expects it. */
void interrupt_die(int sig);

#endif
