/*
 * lhook - a worker's own Lua state, in which its functions choose operations and hear of them.
 *
 * Lua above, core polled: before each round of the job the hook is asked for as many operations
 * as there is room for, after it the hook is told what has completed.
 */
#ifndef IOLUA_BIND_LHOOK_H
#define IOLUA_BIND_LHOOK_H

#include <lua.h>

struct crew_spec;
struct lhook;

/* The field `hook` of the worker's table at arg, stored in *out at once; NULL for nil. Raises on
 * anything else. spec is the worker's, read before. */
void lhook_read(lua_State *L, int arg, struct lhook **out, struct crew_spec *spec);

/* Make whatever Lua code runs in h raise. From any thread, for when the job must end. */
void lhook_interrupt(struct lhook *h);

/* Once its worker has ended. NULL is allowed. */
void lhook_free(struct lhook *h);

#endif
