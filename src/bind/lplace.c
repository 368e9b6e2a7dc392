/*
 * lplace - iolua.core.place: what the process may run on, and pinning the calling thread.
 */
#include <stdio.h>

#include "bind/bind.h"
#include "bind/lcpuset.h"
#include "bind/open.h"
#include "core/buf.h"
#include "core/place.h"

/* place.pin(list) -> true | nil, message, errno */
static int lplace_pin(lua_State *L)
{
    struct cpuset set;
    char message[512];
    int err;

    lcpuset_checkhere(L, 1, &set);
    err = place_pin(&set, message, sizeof message);
    if (err < 0)
        return bind_failmsg(L, err, message);
    lua_pushboolean(L, 1);
    return 1;
}

/* place.pinned() -> cpuset | nil, message, errno: where the thread may run now */
static int lplace_pinned(lua_State *L)
{
    struct cpuset set;
    int err = place_pinned(&set);

    if (err < 0)
        return bind_fail(L, err, "pinned");
    lcpuset_push(L, &set);
    return 1;
}

/* place.cpus() -> { present =, online =, allowed = } | nil, message, errno */
static int lplace_cpus(lua_State *L)
{
    struct place_cpus cpus;
    int err = place_cpus(&cpus);

    if (err < 0)
        return bind_fail(L, err, "read the CPUs of this machine");
    lua_createtable(L, 0, 3);
    lcpuset_push(L, &cpus.present);
    lua_setfield(L, -2, "present");
    lcpuset_push(L, &cpus.online);
    lua_setfield(L, -2, "online");
    lcpuset_push(L, &cpus.allowed);
    lua_setfield(L, -2, "allowed");
    return 1;
}

/* place.memory(buf, node) -> true | nil, message, errno */
static int lplace_memory(lua_State *L)
{
    struct buf *b = lbuf_check(L, 1);
    unsigned node = (unsigned)bind_checkrange(L, 2, 0, 65535);
    char what[64];
    int err = place_memory(b->mem, b->len, node);

    if (err < 0) {
        snprintf(what, sizeof what, "memory on node %u", node);
        return bind_fail(L, err, what);
    }
    lua_pushboolean(L, 1);
    return 1;
}

static const luaL_Reg functions[] = {
    { "pin", lplace_pin },
    { "pinned", lplace_pinned },
    { "cpus", lplace_cpus },
    { "memory", lplace_memory },
    { NULL, NULL },
};

int lplace_open(lua_State *L)
{
    luaL_newlib(L, functions);
    return 1;
}
