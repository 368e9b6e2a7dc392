/*
 * lfile - iolua.core.file: a file or device open for I/O as the class "iolua.file".
 *
 * What may wait for the device (read, write, fsync, ...) is in lio.c.
 */
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "bind/bind.h"
#include "bind/lend.h"
#include "bind/lloop.h"
#include "bind/open.h"
#include "core/file.h"

#define CLASS "iolua.file"

struct file *lfile_check(lua_State *L, int arg)
{
    struct lfile *ud = luaL_checkudata(L, arg, CLASS);

    luaL_argcheck(L, ud->file != NULL, arg, "file is closed");
    return ud->file;
}

/* file.open(path, { write, create, overwrite, direct, sync, destroy }) -> file | nil, message,
 * errno */
static int lfile_new(lua_State *L)
{
    const char *path = bind_checkpath(L, 1);
    struct file_options o;
    struct lfile *ud;
    char message[512];
    int err;

    lua_settop(L, 2);
    if (lua_isnil(L, 2)) {
        lua_newtable(L);
        lua_replace(L, 2);
    }
    luaL_checktype(L, 2, LUA_TTABLE);
    o.write = bind_flag(L, 2, "write");
    o.create = bind_flag(L, 2, "create");
    o.overwrite = bind_flag(L, 2, "overwrite");
    o.direct = bind_flag(L, 2, "direct");
    o.sync = bind_flag(L, 2, "sync");
    o.destroy = bind_stringfield(L, 2, "destroy");
    ud = lua_newuserdatauv(L, sizeof *ud, 0);
    *ud = LEND_FILE_CLOSED;     /* until it owns something */
    luaL_setmetatable(L, CLASS);
    err = file_open(&ud->file, path, &o, message, sizeof message);
    return err < 0 ? bind_failmsg(L, err, message) : 1;
}

/* file.scratch(folder, direct) -> file | nil, message, errno: a file without a name */
static int lfile_scratch(lua_State *L)
{
    const char *dir = bind_checkpath(L, 1);
    bool direct = lua_toboolean(L, 2);
    struct lfile *ud = lua_newuserdatauv(L, sizeof *ud, 0);
    char message[512];
    int err;

    *ud = LEND_FILE_CLOSED;
    luaL_setmetatable(L, CLASS);
    err = file_scratch(&ud->file, dir, direct, message, sizeof message);
    return err < 0 ? bind_failmsg(L, err, message) : 1;
}

/* f:close(): drops Lua's reference; requests in flight hold their own. */
static int lfile_close(lua_State *L)    /* also __close and __gc */
{
    struct lfile *ud = luaL_checkudata(L, 1, CLASS);
    struct file *f = ud->file;

    ud->file = NULL;
    if (f && f->fixed)
        lloop_unfix(L, f);
    lend_drop_file(f);
    return 0;
}

/* f:size() -> bytes | nil, message, errno */
static int lfile_size(lua_State *L)
{
    uint64_t bytes;
    int err = file_size(&bytes, lfile_check(L, 1));

    if (err < 0)
        return bind_fail(L, err, "size");
    bind_pushu64(L, bytes);
    return 1;
}

/* f:block_size() -> bytes: what positions and lengths must be multiples of */
static int lfile_block_size(lua_State *L)
{
    lua_pushinteger(L, lfile_check(L, 1)->block_size);
    return 1;
}

/* f:path() -> the path as it was opened */
static int lfile_path(lua_State *L)
{
    lua_pushstring(L, lfile_check(L, 1)->path);
    return 1;
}

/* f:type() -> "regular" "block" "char" "other" */
static int lfile_type(lua_State *L)
{
    static const char *const names[] = { "regular", "block", "char", "other" };

    lua_pushstring(L, names[lfile_check(L, 1)->type]);
    return 1;
}

/* f:fd() -> descriptor, for the modules below iolua */
static int lfile_fd(lua_State *L)
{
    lua_pushinteger(L, lfile_check(L, 1)->fd);
    return 1;
}

/* f:id() -> what tells this file or device from every other: device and file number */
static int lfile_id(lua_State *L)
{
    struct file *f = lfile_check(L, 1);
    struct stat st;

    if (f->type == FILE_BLOCK || f->type == FILE_CHAR)
        lua_pushfstring(L, "%s %d:%d", f->type == FILE_BLOCK ? "block" : "char",
                        (int)major(f->rdev), (int)minor(f->rdev));
    else if (fstat(f->fd, &st) == 0)
        lua_pushfstring(L, "%I:%I", (LUAI_UACINT)st.st_dev, (LUAI_UACINT)st.st_ino);
    else
        lua_pushstring(L, f->path);
    return 1;
}

/* f:direct(), f:writable() -> boolean */
static int lfile_direct(lua_State *L)
{
    lua_pushboolean(L, lfile_check(L, 1)->direct);
    return 1;
}

static int lfile_writable(lua_State *L)
{
    lua_pushboolean(L, lfile_check(L, 1)->writable);
    return 1;
}

static int lfile_tostring(lua_State *L)
{
    struct lfile *ud = luaL_checkudata(L, 1, CLASS);

    lua_pushfstring(L, "file (%s)", ud->file ? ud->file->path : "closed");
    return 1;
}

static const luaL_Reg methods[] = {
    { "close", lfile_close },
    { "size", lfile_size },
    { "block_size", lfile_block_size },
    { "path", lfile_path },
    { "type", lfile_type },
    { "fd", lfile_fd },
    { "id", lfile_id },
    { "direct", lfile_direct },
    { "writable", lfile_writable },
    { NULL, NULL },
};

static const luaL_Reg meta[] = {
    { "__tostring", lfile_tostring },
    { "__close", lfile_close },
    { "__gc", lfile_close },
    { NULL, NULL },
};

static const luaL_Reg functions[] = {
    { "open", lfile_new },
    { "scratch", lfile_scratch },
    { NULL, NULL },
};

int lfile_open(lua_State *L)
{
    bind_class(L, CLASS, methods, meta);
    luaL_newlib(L, functions);
    return 1;
}
