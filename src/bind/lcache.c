/*
 * lcache - iolua.core.cache: the page cache of files and devices.
 */
#include "bind/bind.h"
#include "bind/open.h"
#include "core/cache.h"

static int done(lua_State *L, int err, const char *what)
{
    if (err < 0)
        return bind_fail(L, err, what);
    lua_pushboolean(L, 1);
    return 1;
}

/* cache.flush(file) -> true | nil, message, errno: written out, then dropped */
static int lcache_flush(lua_State *L)
{
    return done(L, cache_flush(lfile_check(L, 1)), "drop cache");
}

/* cache.flush_device(file) -> true | nil, message, errno: by BLKFLSBUF */
static int lcache_flush_device(lua_State *L)
{
    return done(L, cache_flush_device(lfile_check(L, 1)), "BLKFLSBUF");
}

/* cache.resident(file [, offset [, bytes]]) -> bytes, means | nil, message, errno */
static int lcache_resident(lua_State *L)
{
    struct file *f = lfile_check(L, 1);
    uint64_t offset = (uint64_t)bind_optrange(L, 2, 0, LUA_MAXINTEGER, 0);
    uint64_t len = (uint64_t)bind_optrange(L, 3, 0, LUA_MAXINTEGER, 0);
    enum cache_means means;
    uint64_t bytes;
    int err = cache_resident(&bytes, &means, f, offset, len);

    if (err < 0)
        return bind_fail(L, err, "count cached pages");
    bind_pushu64(L, bytes);
    lua_pushstring(L, means == CACHE_CACHESTAT ? "cachestat" : "mincore");
    return 2;
}

/* cache.mincore(file [, offset [, bytes]]) -> bytes | nil, message, errno */
static int lcache_mincore(lua_State *L)
{
    struct file *f = lfile_check(L, 1);
    uint64_t offset = (uint64_t)bind_optrange(L, 2, 0, LUA_MAXINTEGER, 0);
    uint64_t len = (uint64_t)bind_optrange(L, 3, 0, LUA_MAXINTEGER, 0);
    uint64_t bytes;
    int err = cache_mincore(&bytes, f, offset, len);

    if (err < 0)
        return bind_fail(L, err, "mincore");
    bind_pushu64(L, bytes);
    return 1;
}

static const luaL_Reg functions[] = {
    { "flush", lcache_flush },
    { "flush_device", lcache_flush_device },
    { "resident", lcache_resident },
    { "mincore", lcache_mincore },
    { NULL, NULL },
};

int lcache_open(lua_State *L)
{
    luaL_newlib(L, functions);
    return 1;
}
