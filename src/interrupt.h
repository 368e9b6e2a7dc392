/*
 * interrupt - SIGINT, SIGTERM and SIGHUP reach the coroutine that runs; a second one of any of
 * them ends the process at once.
 */
#ifndef IOLUA_INTERRUPT_H
#define IOLUA_INTERRUPT_H

#include "bind/lhost.h"

/* Make this program the host of L and catch the three signals. */
struct lhost *interrupt_open(lua_State *L);

/* Catch them again after one came (a line of the REPL has ended). */
void interrupt_rearm(void);

/* End this process by the signal sig, as a shell expects it. */
void interrupt_die(int sig);

#endif
