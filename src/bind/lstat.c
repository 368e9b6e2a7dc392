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

static void set_time(lua_State *L, const char *key, const struct statx_timestamp *t)
{
    lua_pushinteger(L, (lua_Integer)(t->tv_sec * 1000000000ll + t->tv_nsec));
    lua_setfield(L, -2, key);
}

static void set_device(lua_State *L, const char *key, uint32_t major, uint32_t minor)
{
    lua_createtable(L, 0, 2);
    bind_setu64(L, "major", major);
    bind_setu64(L, "minor", minor);
    lua_setfield(L, -2, key);
}

void lstat_push(lua_State *L, const struct statx *shared)
{
    struct statx st = *shared;          /* pushing may run finalizers, which may wait */

    lua_createtable(L, 0, 16);
    lua_pushstring(L, type_name(st.stx_mode));
    lua_setfield(L, -2, "type");
    bind_setu64(L, "size", st.stx_size);
    bind_setu64(L, "mode", st.stx_mode & 07777);
    bind_setu64(L, "nlink", st.stx_nlink);
    bind_setu64(L, "uid", st.stx_uid);
    bind_setu64(L, "gid", st.stx_gid);
    bind_setu64(L, "inode", st.stx_ino);
    bind_setu64(L, "blocks", st.stx_blocks);
    bind_setu64(L, "block_size", st.stx_blksize);
    set_device(L, "device", st.stx_dev_major, st.stx_dev_minor);
    if (S_ISBLK(st.stx_mode) || S_ISCHR(st.stx_mode))
        set_device(L, "rdevice", st.stx_rdev_major, st.stx_rdev_minor);
    set_time(L, "mtime_ns", &st.stx_mtime);
    set_time(L, "atime_ns", &st.stx_atime);
    set_time(L, "ctime_ns", &st.stx_ctime);
    if (st.stx_mask & STATX_BTIME)
        set_time(L, "btime_ns", &st.stx_btime);
}
