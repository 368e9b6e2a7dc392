/*
 * lopen - the parts of iolua.core.fiber. Their functions have the loop as upvalue 1.
 */
#ifndef IOLUA_BIND_LOPEN_H
#define IOLUA_BIND_LOPEN_H

#include "bind/bind.h"
#include "bind/lloop.h"

/* As bind_class. */
void lopen_class(lua_State *L, struct lloop *p, const char *name, const luaL_Reg *methods,
                 const luaL_Reg *meta);

/* Add functions to the table on top of L. */
void lopen_functions(lua_State *L, struct lloop *p, const luaL_Reg *functions);

/* Add methods to a class that exists. */
void lopen_methods(lua_State *L, struct lloop *p, const char *name, const luaL_Reg *methods);

/* Each part adds its functions to the table on top of L. */
void lopen_fiber(lua_State *L, struct lloop *p);        /* lfiber.c */
void lopen_pause(lua_State *L, struct lloop *p);        /* lpause.c */
void lopen_wrap(lua_State *L, struct lloop *p);         /* lwrap.c */
void lopen_fixed(lua_State *L, struct lloop *p);        /* lfixed.c */
void lopen_io(lua_State *L, struct lloop *p);           /* lio.c */
void lopen_volume(lua_State *L, struct lloop *p);       /* lvolumeio.c */
void lopen_vec(lua_State *L, struct lloop *p);          /* lvec.c */
void lopen_range(lua_State *L, struct lloop *p);        /* lrange.c */
void lopen_collect(lua_State *L, struct lloop *p);      /* lcollect.c */
void lopen_draw(lua_State *L, struct lloop *p);         /* ldraw.c */
void lopen_prepared(lua_State *L, struct lloop *p);     /* lprepared.c */
void lopen_latency(lua_State *L, struct lloop *p);      /* llatency.c */
void lopen_fs(lua_State *L, struct lloop *p);           /* lfs.c, lstat.c */

#endif
