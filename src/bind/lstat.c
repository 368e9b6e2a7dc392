#include <sys/stat.h>

#include "bind/bind.h"
#include "bind/lstat.h"

static const char *type_name(unsigned mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG: return "regular";
    case S_IFDIR: return "folder";
    case S_IFBLK: return "block";
    case S_IFCHR: return "char";
    case S_IFLNK: return "link";
    case S_IFIFO: return "fifo";
    case S_IFSOCK: return "socket";
    }
    return "unknown";
}

static void set(lua_State *L, const char *key, uint64_t value)
{
    bind_pushu64(L, value);
    lua_setfield(L, -2, key);
}

static void set_time(lua_State *L, const char *key, const struct statx_timestamp *t)
{
    lua_pushinteger(L, (lua_Integer)(t->tv_sec * 1000000000ll + t->tv_nsec));
    lua_setfield(L, -2, key);
}

static void set_device(lua_State *L, const char *key, uint32_t major, uint32_t minor)
{
    lua_createtable(L, 0, 2);
    set(L, "major", major);
    set(L, "minor", minor);
    lua_setfield(L, -2, key);
}

void lstat_push(lua_State *L, const struct statx *shared)
{
    struct statx st = *shared;          /* pushing may run finalizers, which may wait */

    lua_createtable(L, 0, 16);
    lua_pushstring(L, type_name(st.stx_mode));
    lua_setfield(L, -2, "type");
    set(L, "size", st.stx_size);
    set(L, "mode", st.stx_mode & 07777);
    set(L, "nlink", st.stx_nlink);
    set(L, "uid", st.stx_uid);
    set(L, "gid", st.stx_gid);
    set(L, "inode", st.stx_ino);
    set(L, "blocks", st.stx_blocks);
    set(L, "block_size", st.stx_blksize);
    set_device(L, "device", st.stx_dev_major, st.stx_dev_minor);
    if (S_ISBLK(st.stx_mode) || S_ISCHR(st.stx_mode))
        set_device(L, "rdevice", st.stx_rdev_major, st.stx_rdev_minor);
    set_time(L, "mtime_ns", &st.stx_mtime);
    set_time(L, "atime_ns", &st.stx_atime);
    set_time(L, "ctime_ns", &st.stx_ctime);
    if (st.stx_mask & STATX_BTIME)
        set_time(L, "btime_ns", &st.stx_btime);
}
