/*
 * open - what exists in iolua.core, in one screen.
 */
#include "bind/bind.h"
#include "bind/open.h"

static const luaL_Reg modules[] = {
    { "array", larray_open },
    { "attr", lattr_open },
    { "blk", lblk_open },
    { "buf", lbuf_open },
    { "cache", lcache_open },
    { "clock", lclock_open },
    { "dm", ldm_open },
    { "cpuset", lcpuset_open },
    { "disk", ldisk_open },
    { "dist", ldist_open },
    { "errand", lerrand_open },
    { "events", levents_open },
    { "file", lfile_open },
    { "folder", lfolder_open },
    { "flush", lflush_open },
    { "hist", lhist_open },
    { "journal", ljournal_open },
    { "place", lplace_open },
    { "record", lrecord_open },
    { "job", ljob_open },
    { "ledger", lledger_open },
    { "stamp", lstamp_open },
    { "ring", lring_open },
    { "rng", lrng_open },
    { "run", lrun_open },
    { "term", lterm_open },
    { "spawn", lspawn_open },
    { "sim", lsim_open },
    { "spot", lspot_open },
    { "topo", ltopo_open },
    { "volume", lvolume_open },
    { "fiber", lfiber_open },           /* after the classes whose methods wait */
    { NULL, NULL },
};

int luaopen_iolua_core(lua_State *L)
{
    lua_newtable(L);                            /* core */
    for (const luaL_Reg *m = modules; m->name; m++) {
        m->func(L);                             /* core module */
        lua_setfield(L, -2, m->name);
    }
    return 1;
}
