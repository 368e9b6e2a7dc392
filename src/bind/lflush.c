/*
 * lflush - write out and drop caches before a run (core/flush.h).
 */
#include "bind/bind.h"
#include "bind/open.h"
#include "core/flush.h"

/* flush.filesystem(path) -> true | nil, message, errno */
static int lflush_filesystem(lua_State *L)
{
    const char *path = bind_checkpath(L, 1);
    int err = flush_filesystem(path);

    if (err < 0)
        return bind_fail(L, err, path);
    lua_pushboolean(L, 1);
    return 1;
}

/* flush.file(f) -> true | nil, message, errno */
static int lflush_file(lua_State *L)
{
    const struct file *f = lfile_check(L, 1);
    int err = flush_file(f);

    if (err < 0)
        return bind_fail(L, err, f->path);
    lua_pushboolean(L, 1);
    return 1;
}

static const luaL_Reg functions[] = {
    { "file", lflush_file }, { "filesystem", lflush_filesystem }, { NULL, NULL },
};

int lflush_open(lua_State *L)
{
    luaL_newlib(L, functions);
    return 1;
}
