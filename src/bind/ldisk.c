/*
 * ldisk - iolua.core.disk: loop devices of our own (core/loopmake.h) as the class "iolua.disk".
 */
#include <string.h>
#include <unistd.h>

#include "bind/bind.h"
#include "bind/open.h"
#include "core/file.h"
#include "core/loopmake.h"

#define CLASS "iolua.disk"

struct ldisk {
    int fd;                     /* -1 once closed */
    char path[64];
};

/* disk.loop(file [, block_size]) -> disk | nil, message, errno */
static int ldisk_loop(lua_State *L)
{
    struct file *f = lfile_check(L, 1);
    uint32_t block = (uint32_t)bind_optrange(L, 2, 512, 4096, 512);
    struct ldisk *ud = lua_newuserdatauv(L, sizeof *ud, 0);
    char message[200];
    int err;

    ud->fd = -1;                                /* closed until it owns something */
    luaL_setmetatable(L, CLASS);
    err = loop_make(&ud->fd, ud->path, f->fd, block, message, sizeof message);
    return err < 0 ? bind_failmsg(L, err, message) : 1;
}

/* disk:path() -> "/dev/loopN" */
static int ldisk_path(lua_State *L)
{
    struct ldisk *ud = luaL_checkudata(L, 1, CLASS);

    luaL_argcheck(L, ud->fd >= 0, 1, "disk is closed");
    lua_pushstring(L, ud->path);
    return 1;
}

/* disk:close(): the kernel detaches it when nobody else has it open. */
static int ldisk_close(lua_State *L)            /* also __close and __gc */
{
    struct ldisk *ud = luaL_checkudata(L, 1, CLASS);
    int fd = ud->fd;

    ud->fd = -1;
    if (fd >= 0)
        close(fd);
    return 0;
}

static const luaL_Reg methods[] = {
    { "path", ldisk_path },
    { "close", ldisk_close },
    { NULL, NULL },
};

static const luaL_Reg meta[] = {
    { "__close", ldisk_close },
    { "__gc", ldisk_close },
    { NULL, NULL },
};

static const luaL_Reg functions[] = {
    { "loop", ldisk_loop },
    { NULL, NULL },
};

int ldisk_open(lua_State *L)
{
    bind_class(L, CLASS, methods, meta);
    luaL_newlib(L, functions);
    return 1;
}
