/*
 * lstat - what statx tells, as a table.
 */
#ifndef IOLUA_BIND_LSTAT_H
#define IOLUA_BIND_LSTAT_H

#include <lua.h>

struct statx;

#define LSTAT_MASK 0x0fffu      /* STATX_BASIC_STATS | STATX_BTIME */

/* Push a table: type, size, mode, nlink, uid, gid, inode, blocks, block_size, device = { major,
 * minor }, and rdevice for devices; mtime_ns, atime_ns, ctime_ns, btime_ns since 1970. */
void lstat_push(lua_State *L, const struct statx *st);

#endif
