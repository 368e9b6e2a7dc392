/*
 * lfs - operations on paths and folders, as functions of iolua.core.fiber (iolua.fs uses them).
 *
 * Paths are copied: a request may outlive the fiber that made it.
 */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bind/lend.h"
#include "bind/lio.h"
#include "bind/lopen.h"
#include "bind/lstat.h"

static struct lloop *loop_of(lua_State *L)
{
    return lua_touserdata(L, lua_upvalueindex(1));
}

/* nil, "name PATH: reason", errno for the path at 1. */
static int fail(lua_State *L, const char *name, int res)
{
    luaL_pushfail(L);
    lua_pushfstring(L, "%s %s: %s", name, lua_tostring(L, 1), bind_reason(res));
    lua_pushinteger(L, -res);
    return 3;
}

static int done(lua_State *L, const struct lwait *w, int res)
{
    if (res < 0)
        return fail(L, w->name, res);
    lua_pushboolean(L, 1);
    return 1;
}

/* Wait for a request on the path at 1, which has a copy at q.addr, and on the one at `other`
 * (0: none), at q.addr2, with so many bytes for its answer before them. */
static int request(lua_State *L, struct io_req q, int other, size_t answer,
                   const struct lwait *w)
{
    const char *path = bind_checkpath(L, 1), *path2 = other ? bind_checkpath(L, other) : "";
    size_t len = strlen(path) + 1, len2 = strlen(path2) + 1;
    struct lloop *p = loop_of(L);
    uint32_t fiber = lwait_check(L, p, w->name);
    struct lwait_req r = { .q = q, .memory = lend_new(0, answer + len + len2) };
    char *copy;

    if (!r.memory)
        return fail(L, w->name, -ENOMEM);
    copy = (char *)r.memory->payload + answer;
    memcpy(copy, path, len);
    memcpy(copy + len, path2, len2);
    r.q.addr = (uintptr_t)copy;
    if (other)
        r.q.addr2 = (uintptr_t)(copy + len);
    if (answer)
        r.q.addr2 = (uintptr_t)r.memory->payload;
    return lwait_go(L, p, fiber, &r, -1, w);
}

static const struct lwait MKDIR = { "mkdir", done }, UNLINK = { "remove", done },
                          RMDIR = { "rmdir", done }, RENAME = { "rename", done },
                          SYMLINK = { "symlink", done }, LINK = { "link", done };

/* mkdir(path [, mode]) -> true | nil, message, errno */
static int lfs_mkdir(lua_State *L)
{
    unsigned mode = (unsigned)bind_optrange(L, 2, 0, 07777, 0777);

    return request(L, (struct io_req){ .kind = IO_MKDIRAT, .fd = AT_FDCWD, .len = mode }, 0, 0,
                   &MKDIR);
}

/* remove(path) -> true | nil, message, errno: a file or link, not a folder */
static int lfs_remove(lua_State *L)
{
    return request(L, (struct io_req){ .kind = IO_UNLINKAT, .fd = AT_FDCWD }, 0, 0, &UNLINK);
}

/* rmdir(path) -> true | nil, message, errno */
static int lfs_rmdir(lua_State *L)
{
    return request(L, (struct io_req){ .kind = IO_UNLINKAT, .fd = AT_FDCWD,
                                       .flags = AT_REMOVEDIR }, 0, 0, &RMDIR);
}

/* rename(from, to) -> true | nil, message, errno */
static int lfs_rename(lua_State *L)
{
    return request(L, (struct io_req){ .kind = IO_RENAMEAT, .fd = AT_FDCWD, .fd2 = AT_FDCWD }, 2,
                   0, &RENAME);
}

/* symlink(target, path) -> true | nil, message, errno */
static int lfs_symlink(lua_State *L)
{
    return request(L, (struct io_req){ .kind = IO_SYMLINKAT, .fd = AT_FDCWD }, 2, 0, &SYMLINK);
}

/* link(from, to) -> true | nil, message, errno */
static int lfs_link(lua_State *L)
{
    return request(L, (struct io_req){ .kind = IO_LINKAT, .fd = AT_FDCWD, .fd2 = AT_FDCWD }, 2,
                   0, &LINK);
}

static int stated(lua_State *L, const struct lwait *w, int res)
{
    if (res < 0)
        return fail(L, w->name, res);
    lstat_push(L, loop_of(L)->kept->payload);
    return 1;
}

static const struct lwait STAT = { "stat", stated };

/* stat(path [, follow = true]) -> table | nil, message, errno */
static int lfs_stat(lua_State *L)
{
    bool follow = lua_isnoneornil(L, 2) || lua_toboolean(L, 2);

    return request(L, (struct io_req){ .kind = IO_STATX, .fd = AT_FDCWD, .len = LSTAT_MASK,
                                       .flags = follow ? 0 : AT_SYMLINK_NOFOLLOW },
                   0, sizeof(struct statx), &STAT);
}

static int opened(lua_State *L, const struct lwait *w, int res)
{
    struct lfile *ud = lua_touserdata(L, 2);

    if (res >= 0)
        res = file_adopt(&ud->file, res, lua_tostring(L, 1), false);
    if (res < 0)
        return fail(L, w->name, res);
    lua_pushvalue(L, 2);
    return 1;
}

static const struct lwait OPEN = { "open", opened };

/* open(path [, folder]) -> file | nil, message, errno: for reading, waiting in the loop */
static int lfs_open(lua_State *L)
{
    bool folder = lua_toboolean(L, 2);
    struct lfile *ud;

    bind_checkpath(L, 1);
    lua_settop(L, 1);
    ud = lua_newuserdatauv(L, sizeof *ud, 0);   /* path file: made before there is anything */
    *ud = LEND_FILE_CLOSED;
    luaL_setmetatable(L, "iolua.file");
    return request(L, (struct io_req){ .kind = IO_OPENAT, .fd = AT_FDCWD,
                                       .flags = O_RDONLY | (folder ? O_DIRECTORY : 0) },
                   0, 0, &OPEN);
}

static int closed(lua_State *L, const struct lwait *w, int res)
{
    if (res < 0)
        return lwait_fail(L, w, res);
    lua_pushboolean(L, 1);
    return 1;
}

static const struct lwait CLOSE = { "close", closed };

/* close(file) -> true | nil, message, errno: waits for what closing does. A file that requests
 * still use is closed when the last has come back. */
static int lfs_close(lua_State *L)
{
    struct lloop *p = loop_of(L);
    struct file *f = lfile_check(L, 1);
    struct lfile *ud = lua_touserdata(L, 1);
    struct lwait_req r = { .q = { .kind = IO_CLOSE, .fd = f->fd } };
    uint32_t fiber = lwait_check(L, p, "close");

    if (f->fixed)
        lloop_unfix(L, f);
    ud->file = NULL;
    if (f->lent || f->refs > 1) {
        lend_drop_file(f);
        lua_pushboolean(L, 1);
        return 1;
    }
    f->fd = -1;                 /* the request has it now */
    lend_drop_file(f);
    return lwait_go(L, p, fiber, &r, -1, &CLOSE);
}

/* A folder's entry as name and type. */
static void push_entry(lua_State *L, const char *name, unsigned char type)
{
    static const char *const names[] = {
        [DT_FIFO] = "fifo", [DT_CHR] = "char", [DT_DIR] = "folder", [DT_BLK] = "block",
        [DT_REG] = "regular", [DT_LNK] = "link", [DT_SOCK] = "socket",
    };

    lua_pushstring(L, name);
    if (type < sizeof names / sizeof *names && names[type])
        lua_pushstring(L, names[type]);
    else
        lua_pushliteral(L, "unknown");
}

struct entry {                  /* linux_dirent64 */
    uint64_t inode;
    int64_t offset;
    unsigned short length;
    unsigned char type;
    char name[];
};

static int listed(lua_State *L, const struct lwait *w, int res)
{
    const unsigned char *at = lbuf_check(L, 2)->mem, *end = at + (res > 0 ? res : 0);
    lua_Integer n = 0;

    if (res < 0)
        return lio_fail_at(L, w->name, res, 0);
    lua_newtable(L);
    for (; at < end; at += ((const struct entry *)at)->length) {
        const struct entry *e = (const struct entry *)at;

        if (strcmp(e->name, ".") == 0 || strcmp(e->name, "..") == 0)
            continue;
        push_entry(L, e->name, e->type);        /* list name type */
        lua_rawseti(L, -3, n + 2);
        lua_rawseti(L, -2, n + 1);
        n += 2;
    }
    lua_pushboolean(L, res > 0);
    return 2;
}

static const struct lwait LIST = { "list", listed };

/* entries(folder, buf) -> { name, type, name, type, ... }, more | nil, message, errno */
static int lfs_entries(lua_State *L)
{
    struct file *f = lfile_check(L, 1);
    struct buf *b = lbuf_check(L, 2);
    struct lwait_req r = { .file = f, .buf = b };

    r.q = (struct io_req){ .kind = IO_GETDENTS, .fd = f->fd, .addr = (uintptr_t)b->mem,
                           .len = b->len < IO_LEN_MAX ? (uint32_t)b->len : IO_LEN_MAX };
    return lwait_request(L, loop_of(L), &r, &LIST);
}

/* Push a closed file. */
static struct lfile *push_file(lua_State *L)
{
    struct lfile *ud = lua_newuserdatauv(L, sizeof *ud, 0);

    *ud = LEND_FILE_CLOSED;
    luaL_setmetatable(L, "iolua.file");
    return ud;
}

/* pipe() -> reader, writer | nil, message, errno */
static int lfs_pipe(lua_State *L)
{
    struct lfile *reader = push_file(L), *writer = push_file(L);
    int ends[2], err, err2;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return bind_fail(L, -errno, "pipe");
    err = file_adopt(&reader->file, ends[0], "pipe", false);
    err2 = file_adopt(&writer->file, ends[1], "pipe", true);
    return err < 0 || err2 < 0 ? bind_fail(L, -ENOMEM, "pipe") : 2;
}

static const luaL_Reg functions[] = {
    { "mkdir", lfs_mkdir },
    { "remove", lfs_remove },
    { "rmdir", lfs_rmdir },
    { "rename", lfs_rename },
    { "symlink", lfs_symlink },
    { "link", lfs_link },
    { "stat", lfs_stat },
    { "open", lfs_open },
    { "close", lfs_close },
    { "entries", lfs_entries },
    { "pipe", lfs_pipe },
    { NULL, NULL },
};

void lopen_fs(lua_State *L, struct lloop *p)
{
    lopen_functions(L, p, functions);
}
