/*
 * lerrand - blocking work in threads of its own: lists of transfers and of files.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "bind/bind.h"
#include "bind/lhist.h"
#include "bind/open.h"
#include "core/errand.h"
#include "core/names.h"
#include "core/walk.h"

#define CLASS   "iolua.errand"
#define THREADS 1024

struct lerrand {
    struct errand *errand;      /* NULL: not started or closed */
    struct walk *walk;          /* one of the two */
    struct names *names;
};

static struct lerrand *check(lua_State *L)
{
    struct lerrand *ud = luaL_checkudata(L, 1, CLASS);

    luaL_argcheck(L, ud->errand != NULL, 1, "errand is closed");
    return ud;
}

static struct lerrand *push_new(lua_State *L)
{
    struct lerrand *ud = lua_newuserdatauv(L, sizeof *ud, 0);

    *ud = (struct lerrand){ NULL, NULL, NULL };
    luaL_setmetatable(L, CLASS);
    return ud;
}

/* errand.walk(file, steps, threads) -> errand | nil, message, errno. steps: for each
 * string.pack("<I8I4I4", pos, bytes, kind), kind 0 read, 1 write, 2 update. */
static int lerrand_walk(lua_State *L)
{
    struct file *f = lfile_check(L, 1);
    size_t len;
    const char *steps = luaL_checklstring(L, 2, &len);
    unsigned threads = (unsigned)bind_checkrange(L, 3, 1, THREADS);
    struct walk_step *copy;
    struct lerrand *ud;
    int err;

    luaL_argcheck(L, len % sizeof *copy == 0, 2, "steps have 16 bytes each");
    copy = lua_newuserdatauv(L, len ? len : 1, 0);      /* aligned, unlike a string */
    memcpy(copy, steps, len);
    ud = push_new(L);
    err = walk_open(&ud->walk, f, copy, len / sizeof *copy, threads);
    if (err == 0)
        err = errand_start(&ud->errand, threads, walk_run, ud->walk);
    return err < 0 ? bind_fail(L, err, "walk") : 1;
}

/* errand.names { folder =, what = "create" | "stat" | "remove", names = "a\0b\0", n =
 * [, bytes = n packed I4] [, chunk =] [, fsync =] [, flush =] } -> errand | nil, message, errno */
static int lerrand_names(lua_State *L)
{
    static const char *const whats[] = { "create", "stat", "remove", NULL };
    const char *folder, *text, *sizes;
    struct lerrand *ud;
    uint32_t *bytes = NULL;
    size_t len, size_len, n;
    int what, err;

    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    n = (size_t)bind_field(L, 1, "n", 1, 1 << 26, 1);
    folder = bind_stringfield(L, 1, "folder");
    luaL_argcheck(L, folder != NULL, 1, "folder is missing");
    lua_getfield(L, 1, "what");
    what = luaL_checkoption(L, 2, NULL, whats);
    lua_getfield(L, 1, "names");
    text = luaL_checklstring(L, 3, &len);
    lua_getfield(L, 1, "bytes");
    sizes = luaL_optlstring(L, 4, NULL, &size_len);
    if (sizes) {
        luaL_argcheck(L, size_len == n * sizeof *bytes, 1, "bytes has not n numbers");
        bytes = lua_newuserdatauv(L, size_len, 0);
        memcpy(bytes, sizes, size_len);
    }
    ud = push_new(L);
    err = names_open(&ud->names, folder, text, len, n, bytes);
    if (err < 0)
        return bind_fail(L, err, folder);
    ud->names->what = (enum names_what)what;
    ud->names->fsync = bind_flag(L, 1, "fsync");
    ud->names->flush = bind_flag(L, 1, "flush");
    ud->names->chunk = (uint32_t)bind_field(L, 1, "chunk", 1, 1 << 20, 8192);
    err = errand_start(&ud->errand, 1, names_run, ud->names);
    return err < 0 ? bind_fail(L, err, folder) : 1;
}

/* errand:fd() -> integer, readable when it is done */
static int lerrand_fd(lua_State *L)
{
    lua_pushinteger(L, errand_fd(check(L)->errand));
    return 1;
}

/* The table of what was done, on the stack. */
static void push_result(lua_State *L, const struct lerrand *ud, const struct errand_times *t)
{
    struct hist *h;

    lua_createtable(L, 0, 8);
    bind_setu64(L, "begin_ns", t->begin_ns);
    bind_setu64(L, "end_ns", t->end_ns);
    bind_setu64(L, "elapsed_ns", t->end_ns > t->begin_ns ? t->end_ns - t->begin_ns : 0);
    bind_setu64(L, "user_ns", t->user_ns);
    bind_setu64(L, "system_ns", t->system_ns);
    h = lhist_push(L);
    for (unsigned i = 0; ud->walk && i < ud->walk->threads; i++)
        hist_merge(h, &ud->walk->hist[i]);
    if (ud->names)
        hist_merge(h, &ud->names->hist);
    lua_setfield(L, -2, "lat");
    if (ud->walk)
        bind_setu64(L, "bad_pos", atomic_load(&ud->walk->bad_pos));
    if (ud->names)
        bind_setu64(L, "done", ud->names->done);
}

/* errand:join() -> { begin_ns, end_ns, elapsed_ns, user_ns, system_ns, lat } | nil, message,
 * errno, the table. Blocks: wait for fd() first. */
static int lerrand_join(lua_State *L)
{
    struct lerrand *ud = check(L);
    struct errand_times t;
    int err = errand_join(ud->errand, &t);

    if (err < 0)
        bind_fail(L, err, ud->walk ? ud->walk->file->path : "files");
    push_result(L, ud, &t);
    return err < 0 ? 4 : 1;
}

/* errand:close(): stops it and waits for its threads. Closing twice is allowed. */
static int lerrand_close(lua_State *L)  /* also __close and __gc */
{
    struct lerrand *ud = luaL_checkudata(L, 1, CLASS);

    errand_close(ud->errand);
    walk_close(ud->walk);
    names_close(ud->names);
    *ud = (struct lerrand){ NULL, NULL, NULL };
    return 0;
}

/* errand.folder(path) -> true | nil, message, errno: a new folder, readable by its owner */
static int lerrand_folder(lua_State *L)
{
    const char *path = bind_checkpath(L, 1);

    if (mkdir(path, 0700) < 0)
        return bind_fail(L, -errno, path);
    lua_pushboolean(L, 1);
    return 1;
}

/* errand.remove_tree(path) -> true | nil, message, errno: a folder of files, and folders of
 * files in it */
static int lerrand_remove_tree(lua_State *L)
{
    const char *path = bind_checkpath(L, 1);
    int err = names_remove_tree(path);

    if (err < 0)
        return bind_fail(L, err, path);
    lua_pushboolean(L, 1);
    return 1;
}

static const luaL_Reg methods[] = {
    { "close", lerrand_close }, { "fd", lerrand_fd }, { "join", lerrand_join }, { NULL, NULL },
};

static const luaL_Reg meta[] = {
    { "__close", lerrand_close }, { "__gc", lerrand_close }, { NULL, NULL },
};

static const luaL_Reg functions[] = {
    { "folder", lerrand_folder },           { "names", lerrand_names },
    { "remove_tree", lerrand_remove_tree }, { "walk", lerrand_walk },
    { NULL, NULL },
};

int lerrand_open(lua_State *L)
{
    bind_class(L, CLASS, methods, meta);
    luaL_newlib(L, functions);
    return 1;
}
