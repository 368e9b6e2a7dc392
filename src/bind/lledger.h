/*
 * lledger - what jobs have written, for other bindings.
 */
#ifndef IOLUA_BIND_LLEDGER_H
#define IOLUA_BIND_LLEDGER_H

#include <lua.h>

struct ledger;
struct stamp_damage;

/* The ledger at arg, or an argument error. The caller takes a reference if it keeps it. */
struct ledger *lledger_check(lua_State *L, int arg);

/* Push n entries as a list of { kind, offset, bytes, expected, found }. */
void lledger_push_damage(lua_State *L, const struct stamp_damage *list, unsigned n);

#endif
