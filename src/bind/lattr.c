/*
 * lattr - small text files of the kernel, as core.attr.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bind/bind.h"
#include "bind/open.h"
#include "core/attr.h"

#define CLASS "iolua.attr.hold"
#define FOLDER "iolua.attr.folder"

struct lattr_hold {
    int fd;                     /* -1 once closed */
};

/* attr.read(path) -> text without its final newline | nil, message, errno */
static int lattr_read(lua_State *L)
{
    const char *path = bind_checkpath(L, 1);
    char text[65536];
    int n = attr_read(text, sizeof text, path);

    if (n < 0)
        return bind_fail(L, n, lua_pushfstring(L, "read %s", path));
    lua_pushlstring(L, text, (size_t)n);
    return 1;
}

/* attr.write(path, value) -> true | nil, message, errno */
static int lattr_write(lua_State *L)
{
    const char *path = bind_checkpath(L, 1), *value = bind_checkpath(L, 2);
    int err = attr_write(path, value);

    if (err < 0)
        return bind_fail(L, err, lua_pushfstring(L, "write \"%s\" to %s", value, path));
    lua_pushboolean(L, 1);
    return 1;
}

/* Closes the folder that lattr_list reads, also when an error is raised meanwhile. */
static int lattr_closedir(lua_State *L)
{
    DIR **box = luaL_checkudata(L, 1, FOLDER);

    if (*box)
        closedir(*box);
    *box = NULL;
    return 0;
}

/* attr.list(folder) -> names without hidden ones, in no order | nil, message, errno */
static int lattr_list(lua_State *L)
{
    const char *path = bind_checkpath(L, 1);
    DIR **box = lua_newuserdatauv(L, sizeof *box, 0);
    struct dirent *e;
    lua_Integer n = 0;

    *box = NULL;
    luaL_setmetatable(L, FOLDER);
    *box = opendir(path);
    if (!*box)
        return bind_fail(L, -errno, lua_pushfstring(L, "list %s", path));
    lua_newtable(L);
    while ((e = readdir(*box))) {
        if (e->d_name[0] == '.')
            continue;
        lua_pushstring(L, e->d_name);
        lua_rawseti(L, -2, ++n);
    }
    closedir(*box);
    *box = NULL;
    return 1;
}

/* attr.real(path) -> path without links | nil, message, errno */
static int lattr_real(lua_State *L)
{
    const char *path = bind_checkpath(L, 1);
    char real[PATH_MAX];

    if (!realpath(path, real))
        return bind_fail(L, -errno, lua_pushfstring(L, "%s", path));
    lua_pushstring(L, real);
    return 1;
}

/* attr.hold(path, value) -> hold | nil, message, errno: writes the 32-bit number and keeps the
 * file open; the kernel forgets the request when it is closed (/dev/cpu_dma_latency). */
static int lattr_hold(lua_State *L)
{
    const char *path = bind_checkpath(L, 1);
    int32_t value = (int32_t)bind_checkrange(L, 2, 0, INT32_MAX);
    struct lattr_hold *h = lua_newuserdatauv(L, sizeof *h, 0);
    struct stat st;

    h->fd = -1;
    luaL_setmetatable(L, CLASS);
    h->fd = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY);
    if (h->fd < 0 || fstat(h->fd, &st) < 0)
        return bind_fail(L, -errno, lua_pushfstring(L, "open %s", path));
    if (S_ISBLK(st.st_mode))                    /* those have a guard, and it is not here */
        return bind_fail(L, -EINVAL, lua_pushfstring(L, "open %s", path));
    if (write(h->fd, &value, sizeof value) != sizeof value)
        return bind_fail(L, -errno, lua_pushfstring(L, "write to %s", path));
    return 1;
}

/* hold:value() -> what is in force, which another program may have asked lower */
static int lattr_hold_value(lua_State *L)
{
    struct lattr_hold *h = luaL_checkudata(L, 1, CLASS);
    int32_t value;

    luaL_argcheck(L, h->fd >= 0, 1, "hold is closed");
    if (pread(h->fd, &value, sizeof value, 0) != sizeof value)
        return bind_fail(L, -errno, "read");
    lua_pushinteger(L, value);
    return 1;
}

/* hold:close() */
static int lattr_hold_close(lua_State *L)
{
    struct lattr_hold *h = luaL_checkudata(L, 1, CLASS);

    if (h->fd >= 0)
        close(h->fd);
    h->fd = -1;
    return 0;
}

static const luaL_Reg methods[] = {
    { "value", lattr_hold_value },
    { "close", lattr_hold_close },
    { NULL, NULL },
};

static const luaL_Reg meta[] = {
    { "__close", lattr_hold_close },
    { "__gc", lattr_hold_close },
    { NULL, NULL },
};

static const luaL_Reg folder_meta[] = {
    { "__gc", lattr_closedir },
    { NULL, NULL },
};

static const luaL_Reg functions[] = {
    { "read", lattr_read },
    { "write", lattr_write },
    { "list", lattr_list },
    { "real", lattr_real },
    { "hold", lattr_hold },
    { NULL, NULL },
};

int lattr_open(lua_State *L)
{
    static const luaL_Reg none[] = { { NULL, NULL } };

    bind_class(L, CLASS, methods, meta);
    bind_class(L, FOLDER, none, folder_meta);
    luaL_newlib(L, functions);
    return 1;
}
