/*
 * lcpuset - CPU lists from and to Lua, for every binding that takes one.
 *
 * Wherever a CPU list is accepted it may be a string ("0-3,8-11:2"), an integer, a table of
 * integers or a cpuset. A cpuset remembers whether it was made from a topology that is not
 * this machine (foreign): nothing may be placed by such a set.
 */
#ifndef IOLUA_BIND_LCPUSET_H
#define IOLUA_BIND_LCPUSET_H

#include <lua.h>
#include <stdbool.h>

#include "core/cpuset.h"

/* The list at arg, or an argument error that shows what is wrong in it. */
void lcpuset_check(lua_State *L, int arg, struct cpuset *out);

/* The same, to place something on: a foreign set is an argument error. */
void lcpuset_checkhere(lua_State *L, int arg, struct cpuset *out);

/* The list in the field `key` of the table at arg, to place something on. False for nil. */
bool lcpuset_field(lua_State *L, int arg, const char *key, struct cpuset *out);

/* Push a new cpuset. */
void lcpuset_push(lua_State *L, const struct cpuset *set);
void lcpuset_pushforeign(lua_State *L, const struct cpuset *set, bool foreign);

#endif
