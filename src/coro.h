/*
 * coro - the coroutine library's resume, wrap and close, told apart from Lua's own only in
 * that the host knows which coroutine runs: so ^C stops a loop in any of them.
 */
#ifndef IOLUA_CORO_H
#define IOLUA_CORO_H

#include "bind/lhost.h"

/* Replace them in the table `coroutine` of L. h must outlive the state. */
void coro_track(lua_State *L, struct lhost *h);

#endif
