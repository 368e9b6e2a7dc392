/*
 * open - the modules of iolua.core, each pushes one table. A name here is a file l<name>.c.
 */
#ifndef IOLUA_BIND_OPEN_H
#define IOLUA_BIND_OPEN_H

#include <lua.h>

int larray_open(lua_State *L);
int lattr_open(lua_State *L);
int lblk_open(lua_State *L);
int lbuf_open(lua_State *L);
int lcache_open(lua_State *L);
int lclock_open(lua_State *L);
int ldm_open(lua_State *L);
int lcpuset_open(lua_State *L);
int ldisk_open(lua_State *L);
int ldist_open(lua_State *L);
int lerrand_open(lua_State *L);
int levents_open(lua_State *L);
int lfiber_open(lua_State *L);
int lfile_open(lua_State *L);
int lfolder_open(lua_State *L);
int lflush_open(lua_State *L);
int lhist_open(lua_State *L);
int ljournal_open(lua_State *L);
int lplace_open(lua_State *L);
int lrecord_open(lua_State *L);
int ljob_open(lua_State *L);
int lledger_open(lua_State *L);
int lstamp_open(lua_State *L);
int lring_open(lua_State *L);
int lrng_open(lua_State *L);
int lrun_open(lua_State *L);
int lvolume_open(lua_State *L);
int lterm_open(lua_State *L);
int lspawn_open(lua_State *L);
int lsim_open(lua_State *L);
int lspot_open(lua_State *L);
int ltopo_open(lua_State *L);

#endif
