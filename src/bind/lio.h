/*
 * lio - what the waiting methods of "iolua.file" share.
 */
#ifndef IOLUA_BIND_LIO_H
#define IOLUA_BIND_LIO_H

#include "bind/lwait.h"

/* nil, "name PATH at POS: reason", errno for the file at 1 and the position at arg (0: none). */
int lio_fail_at(lua_State *L, const char *name, int res, int arg);

/* A finish: true, or nil, "name PATH: reason", errno. */
int lio_done(lua_State *L, const struct lwait *w, int res);

/* Wait for q, with its descriptor set, on f. */
int lio_request(lua_State *L, struct file *f, struct io_req q, const struct lwait *w);

#endif
