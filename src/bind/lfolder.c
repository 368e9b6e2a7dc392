/*
 * lfolder - folders for results: made by us, never by a shell.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "bind/bind.h"
#include "bind/open.h"

/* Make path, whose parent exists; one that is there already is fine. 0 or -errno. */
static int make_one(const char *path)
{
    struct stat st;

    if (mkdir(path, 0777) == 0)
        return 0;
    if (errno == EEXIST && stat(path, &st) == 0)
        return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
    return -errno;
}

/* Make path and the folders above it. 0 or -errno. */
static int make(const char *path)
{
    char part[4096];
    size_t len = strlen(path);
    int err = 0;

    if (len == 0 || len >= sizeof part)
        return len ? -ENAMETOOLONG : -ENOENT;
    for (size_t i = 1; i <= len && err == 0; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        memcpy(part, path, i);
        part[i] = '\0';
        err = make_one(part);
    }
    return err;
}

/* folder.make(path) -> true | nil, message, errno: with the folders above it */
static int lfolder_make(lua_State *L)
{
    const char *path = bind_checkpath(L, 1);
    int err = make(path);

    if (err < 0)
        return bind_fail(L, err, lua_pushfstring(L, "make folder %s", path));
    lua_pushboolean(L, 1);
    return 1;
}

/* folder.free(path) -> bytes that this user may still write there | nil, message, errno */
static int lfolder_free(lua_State *L)
{
    const char *path = bind_checkpath(L, 1);
    struct statvfs st;
    uint64_t bytes;

    if (statvfs(path, &st) < 0)
        return bind_fail(L, -errno, lua_pushfstring(L, "free space in %s", path));
    if (__builtin_mul_overflow((uint64_t)(geteuid() == 0 ? st.f_bfree : st.f_bavail),
                               (uint64_t)st.f_frsize, &bytes))
        bytes = UINT64_MAX;
    bind_pushu64(L, bytes);
    return 1;
}

static const luaL_Reg functions[] = {
    { "free", lfolder_free },
    { "make", lfolder_make },
    { NULL, NULL },
};

int lfolder_open(lua_State *L)
{
    luaL_newlib(L, functions);
    return 1;
}
