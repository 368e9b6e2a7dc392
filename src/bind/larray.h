/*
 * larray - arrays of C memory for other bindings.
 */
#ifndef IOLUA_BIND_LARRAY_H
#define IOLUA_BIND_LARRAY_H

#include <lua.h>

struct array;

/* The array at arg, or an argument error. The caller takes a reference if it keeps it. */
struct array *larray_check(lua_State *L, int arg);

/* Push a with a reference of its own. May raise. */
void larray_push(lua_State *L, struct array *a);

#endif
