/*
 * lblk - block devices and what protects them, as core.blk. A device is a table of what it is;
 * numbers are texts "8:0", as sysfs has them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "bind/bind.h"
#include "bind/open.h"
#include "core/blk.h"
#include "core/busy.h"
#include "core/family.h"
#include "core/file.h"
#include "core/guard.h"

static void push_number(lua_State *L, dev_t dev)
{
    lua_pushfstring(L, "%d:%d", (int)major(dev), (int)minor(dev));
}

static dev_t check_number(lua_State *L, int arg)
{
    unsigned maj, min;
    char rest;

    if (sscanf(bind_checkpath(L, arg), "%u:%u%c", &maj, &min, &rest) != 2)
        luaL_argerror(L, arg, "a device number is written \"8:0\"");
    return makedev(maj, min);
}

static const char *root_at(lua_State *L, int arg)
{
    return lua_isnoneornil(L, arg) ? "" : bind_checkpath(L, arg);
}

static void push_device(lua_State *L, const struct blk *b)
{
    uint64_t bytes;
    uint32_t logical;

    lua_createtable(L, 0, 9);
    push_number(L, b->dev);
    lua_setfield(L, -2, "dev");
    push_number(L, b->disk);
    lua_setfield(L, -2, "disk_dev");
    lua_pushstring(L, b->name);
    lua_setfield(L, -2, "name");
    lua_pushstring(L, b->disk_name);
    lua_setfield(L, -2, "disk");
    lua_pushstring(L, b->sys);
    lua_setfield(L, -2, "sys");
    lua_pushstring(L, b->disk_sys);
    lua_setfield(L, -2, "disk_sys");
    lua_pushboolean(L, b->disk != b->dev);
    lua_setfield(L, -2, "partition");
    if (blk_size(&bytes, b) == 0) {
        bind_pushu64(L, bytes);
        lua_setfield(L, -2, "bytes");
    }
    if (blk_logical(&logical, b) == 0) {
        lua_pushinteger(L, logical);
        lua_setfield(L, -2, "block_size");
    }
}

/* blk.find(path or file [, root]) -> device under it | nil, message, errno */
static int lblk_find(lua_State *L)
{
    const char *root = root_at(L, 2), *what;
    struct blk b;
    dev_t dev = 0;
    int err;

    if (lua_isuserdata(L, 1)) {
        struct file *f = lfile_check(L, 1);

        what = f->path;
        err = blk_of_fd(&dev, root, f->fd);
    } else {
        what = bind_checkpath(L, 1);
        err = blk_of_path(&dev, root, what);
    }
    if (err == 0)
        err = blk_find(&b, root, dev);
    if (err == -ENODEV) {
        lua_pushfstring(L, "%s: no block device is known to hold it", what);
        return bind_failmsg(L, err, lua_tostring(L, -1));
    }
    if (err < 0)
        return bind_fail(L, err, what);
    push_device(L, &b);
    return 1;
}

/* blk.at(number [, root]) -> device | nil, message, errno */
static int lblk_at(lua_State *L)
{
    dev_t dev = check_number(L, 1);
    struct blk b;
    int err = blk_find(&b, root_at(L, 2), dev);

    if (err < 0)
        return bind_fail(L, err, lua_tostring(L, 1));
    push_device(L, &b);
    return 1;
}

/* A set that the collector frees: pushing its numbers may raise. */
#define SET "iolua.blk.set"

static int lblk_set_gc(lua_State *L)
{
    dev_set_free(luaL_checkudata(L, 1, SET));
    return 0;
}

static int push_set(lua_State *L, struct dev_set *set, int err)
{
    if (err < 0)
        return bind_fail(L, err, "devices related to it");
    lua_createtable(L, (int)set->n, 0);
    for (unsigned i = 0; i < set->n; i++) {
        push_number(L, set->dev[i]);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

/* blk.related(number, "partitions" | "parents" | "holders" [, root]) -> numbers */
static int lblk_related(lua_State *L)
{
    static const char *const words[] = { "partitions", "parents", "holders", NULL };
    dev_t dev = check_number(L, 1);
    int relation = luaL_checkoption(L, 2, NULL, words);
    const char *root = root_at(L, 3);
    struct dev_set *set = lua_newuserdatauv(L, sizeof *set, 0);
    struct blk b;
    int err;

    memset(set, 0, sizeof *set);
    luaL_setmetatable(L, SET);
    err = blk_find(&b, root, dev);
    if (err == 0)
        err = family_direct(set, root, &b, (enum family_relation)relation);
    return push_set(L, set, err);
}

/* blk.busy(number [, root]) -> nil when nobody is known to use it, else who, errno */
static int lblk_busy(lua_State *L)
{
    char message[512] = "";
    int err = busy_device(root_at(L, 2), check_number(L, 1), message, sizeof message);

    if (err == 0)
        return 0;
    lua_pushstring(L, message);
    lua_pushinteger(L, -err);
    return 2;
}

/* blk.may_write(path [, destroy]) -> true | nil, why not, errno: what the guard would say of a
 * device; it is claimed and let go. */
static int lblk_may_write(lua_State *L)
{
    const char *path = bind_checkpath(L, 1);
    const char *destroy = lua_isnoneornil(L, 2) ? NULL : bind_checkpath(L, 2);
    char message[1024];
    int err = guard_device(path, destroy, message, sizeof message);

    if (err < 0)
        return bind_failmsg(L, err, message);
    lua_pushboolean(L, 1);
    return 1;
}

static const luaL_Reg set_meta[] = {
    { "__gc", lblk_set_gc },
    { NULL, NULL },
};

static const luaL_Reg functions[] = {
    { "find", lblk_find },
    { "at", lblk_at },
    { "related", lblk_related },
    { "busy", lblk_busy },
    { "may_write", lblk_may_write },
    { NULL, NULL },
};

int lblk_open(lua_State *L)
{
    static const luaL_Reg none[] = { { NULL, NULL } };

    bind_class(L, SET, none, set_meta);
    luaL_newlib(L, functions);
    return 1;
}
