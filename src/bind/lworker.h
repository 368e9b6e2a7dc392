/*
 * lworker - the table of one worker: see lua/iolua/job/plan.lua for its fields.
 */
#ifndef IOLUA_BIND_LWORKER_H
#define IOLUA_BIND_LWORKER_H

#include <lua.h>

struct crew_spec;

/* Fill s, which is zero, from the table at arg. Files and devices are not referenced: the table
 * must live until the crew has started. Raises on anything else. */
void lworker_read(lua_State *L, int arg, struct crew_spec *s);

/* What the load of a worker draws, from the same table. */
struct load_spec;
void lworker_load(lua_State *L, int arg, struct load_spec *s);

#endif
