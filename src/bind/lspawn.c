/*
 * lspawn - child programs: start, orders, notes, output.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bind/bind.h"
#include "bind/lspawn.h"
#include "bind/open.h"
#include "core/spawn.h"

#define CLASS    "iolua.program"
#define ARGS_MAX 65536

extern char **environ;

struct lspawn {
    struct spawn spawn;
    int stream[3];              /* in, out, err; -1 where there is none */
    bool closed;
};

bool lspawn_minds(char **argv)
{
    return argv[0] && strcmp(argv[0], MINDER_NAME) == 0;
}

int lspawn_mind(char **argv)
{
    return minder_main(argv);
}

static struct lspawn *check(lua_State *L)
{
    struct lspawn *ud = luaL_checkudata(L, 1, CLASS);

    luaL_argcheck(L, !ud->closed, 1, "program is closed");
    return ud;
}

/* The strings in the array in field `key`, in a userdata left on the stack after the table;
 * both stay there. room more pointers are left free at its end. NULL for an absent field, and
 * two nils on the stack. */
static const char **strings(lua_State *L, const char *key, unsigned *n, size_t room)
{
    lua_Unsigned len;
    const char **list;

    *n = 0;
    if (lua_getfield(L, 1, key) == LUA_TNIL) {
        lua_pushnil(L);
        return NULL;
    }
    if (!lua_istable(L, -1))
        luaL_argerror(L, 1, lua_pushfstring(L, "%s must be a list of strings", key));
    len = lua_rawlen(L, -1);
    luaL_argcheck(L, len <= ARGS_MAX, 1, "too many strings");
    list = lua_newuserdatauv(L, ((size_t)len + room + 1) * sizeof *list, 0);
    for (lua_Unsigned i = 0; i < len; i++) {
        size_t bytes;

        if (lua_rawgeti(L, -2, (lua_Integer)i + 1) != LUA_TSTRING)
            luaL_argerror(L, 1, lua_pushfstring(L, "%s must be a list of strings", key));
        list[i] = lua_tolstring(L, -1, &bytes);
        if (strlen(list[i]) != bytes)
            luaL_argerror(L, 1, lua_pushfstring(L, "%s contains a NUL byte", key));
        lua_pop(L, 1);
    }
    list[len] = NULL;
    *n = (unsigned)len;
    return list;
}

static bool named_in(const char *word, const char *const *list, unsigned n)
{
    size_t len = strcspn(word, "=");

    for (unsigned i = 0; i < n; i++)
        if (strncmp(list[i], word, len) == 0 && list[i][len] == '=')
            return true;
    return false;
}

/* The environment here, with the words of field env in place of their namesakes. */
static char **environment(lua_State *L)
{
    size_t here = 0;
    unsigned n, used;
    const char **list;

    while (environ[here])
        here++;
    list = strings(L, "env", &n, here);
    if (!list)
        return NULL;
    used = n;
    for (size_t i = 0; i < here; i++)
        if (!named_in(environ[i], list, n))
            list[used++] = environ[i];
    list[used] = NULL;
    return (char **)(uintptr_t)list;
}

static int open_streams(struct lspawn *ud, const char *input, size_t len)
{
    for (int i = 0; i < 3; i++) {
        ud->stream[i] = spawn_memory(i == 0 ? input : NULL, i == 0 ? len : 0);
        if (ud->stream[i] < 0) {
            int err = ud->stream[i];

            ud->stream[i] = -1;
            return err;
        }
    }
    return 0;
}

/* spawn.start { argv = { path, ... }, words = { "cpus=0-3", ... } [, env = { "K=V", ... }]
 * [, input = text] } -> program | nil, message, errno */
static int lspawn_start(lua_State *L)
{
    char minder[PATH_MAX];
    struct spawn_spec spec = { .minder = minder };
    struct lspawn *ud;
    const char *input;
    size_t len;
    int err;

    luaL_checktype(L, 1, LUA_TTABLE);
    spec.argv = strings(L, "argv", &spec.argc, 0);
    luaL_argcheck(L, spec.argc > 0, 1, "argv is missing");
    spec.words = strings(L, "words", &spec.n_words, 0);
    spec.env = environment(L);
    lua_getfield(L, 1, "input");
    input = luaL_optlstring(L, -1, "", &len);
    ud = lua_newuserdatauv(L, sizeof *ud, 0);
    *ud = (struct lspawn){ SPAWN_CLOSED, { -1, -1, -1 }, false };
    luaL_setmetatable(L, CLASS);
    err = spawn_minder(minder, sizeof minder);
    if (err < 0)
        return bind_failmsg(L, err, "run: the program iolua, which minds what it runs, is "
                            "not beside its module");
    err = open_streams(ud, input, len);
    spec.in = ud->stream[0];
    spec.out = ud->stream[1];
    spec.err = ud->stream[2];
    if (err == 0)
        err = spawn_open(&ud->spawn, &spec);
    return err < 0 ? bind_fail(L, err, "run") : 1;
}

/* program:fd() -> integer, readable when there is a note */
static int lspawn_fd(lua_State *L)
{
    lua_pushinteger(L, spawn_fd(&check(L)->spawn));
    return 1;
}

static int order(lua_State *L, enum minder_order what)
{
    int err = spawn_order(&check(L)->spawn, what);

    lua_settop(L, 1);
    return err < 0 ? bind_fail(L, err, "run") : 1;
}

/* program:go() -> program | nil, message, errno: start it */
static int lspawn_go(lua_State *L)
{
    return order(L, MINDER_GO);
}

/* program:stop() -> program | nil, message, errno: ask it to end, kill it after a while */
static int lspawn_stop(lua_State *L)
{
    return order(L, MINDER_END);
}

static void push_note(lua_State *L, const struct minder_note *n)
{
    static const char *const events[] = { "ready", "started", "ended", "failed" };
    int status = n->status;

    lua_createtable(L, 0, 14);
    lua_pushstring(L, events[n->event <= MINDER_FAILED ? n->event : MINDER_FAILED]);
    lua_setfield(L, -2, "event");
    lua_pushstring(L, n->message);
    lua_setfield(L, -2, "message");
    lua_pushinteger(L, -n->err);
    lua_setfield(L, -2, "errno");
    lua_pushboolean(L, n->left != 0);
    lua_setfield(L, -2, "left");
    if (WIFSIGNALED(status))
        bind_setu64(L, "signal", (uint64_t)WTERMSIG(status));
    else
        bind_setu64(L, "exit", (uint64_t)WEXITSTATUS(status));
    bind_setu64(L, "pid", (uint64_t)n->pid);
    bind_setu64(L, "at_ns", n->at_ns);
    bind_setu64(L, "user_ns", n->user_ns);
    bind_setu64(L, "system_ns", n->system_ns);
    bind_setu64(L, "rss_bytes", n->rss_bytes);
    bind_setu64(L, "read_bytes", n->read_bytes);
    bind_setu64(L, "write_bytes", n->write_bytes);
    bind_setu64(L, "waits", n->waits);
    bind_setu64(L, "preemptions", n->preemptions);
}

/* program:next() -> note | false when there is none yet | nil when no more will come */
static int lspawn_next(lua_State *L)
{
    struct lspawn *ud = check(L);
    struct minder_note note;
    int n = spawn_next(&ud->spawn, &note);

    if (n > 0)
        push_note(L, &note);
    else if (n == 0)
        lua_pushboolean(L, 0);
    else
        lua_pushnil(L);
    return 1;
}

/* program:output("out" | "err") -> all that it printed so far | nil, message, errno */
static int lspawn_output(lua_State *L)
{
    static const char *const names[] = { "out", "err", NULL };
    struct lspawn *ud = check(L);
    int fd = ud->stream[1 + luaL_checkoption(L, 2, "out", names)];
    luaL_Buffer b;
    off_t at = 0;
    ssize_t n;

    luaL_buffinit(L, &b);
    while ((n = pread(fd, luaL_prepbuffer(&b), LUAL_BUFFERSIZE, at)) > 0) {
        luaL_addsize(&b, (size_t)n);
        at += n;
    }
    if (n < 0)
        return bind_fail(L, -errno, "read the program's output");
    luaL_pushresult(&b);
    return 1;
}

static int finish(lua_State *L, enum minder_order how)
{
    struct lspawn *ud = luaL_checkudata(L, 1, CLASS);

    ud->closed = true;
    spawn_close(&ud->spawn, how);
    for (int i = 0; i < 3; i++) {
        int fd = ud->stream[i];

        ud->stream[i] = -1;
        if (fd >= 0)
            close(fd);
    }
    return 0;
}

/* program:close(): asks it to end when it still runs, and kills it after the grace. Closing
 * twice is allowed. */
static int lspawn_close(lua_State *L)   /* also __close */
{
    return finish(L, MINDER_END);
}

static int lspawn_gc(lua_State *L)
{
    return finish(L, MINDER_KILL);
}

/* spawn.which(name) -> path | nil, message, errno */
static int lspawn_which(lua_State *L)
{
    const char *name = bind_checkpath(L, 1);
    char path[PATH_MAX];
    int err = spawn_which(path, sizeof path, name);

    if (err < 0)
        return bind_fail(L, err, name);
    lua_pushstring(L, path);
    return 1;
}

static const luaL_Reg methods[] = {
    { "close", lspawn_close }, { "fd", lspawn_fd }, { "go", lspawn_go },
    { "next", lspawn_next }, { "output", lspawn_output }, { "stop", lspawn_stop },
    { NULL, NULL },
};

static const luaL_Reg meta[] = {
    { "__close", lspawn_close }, { "__gc", lspawn_gc }, { NULL, NULL },
};

static const luaL_Reg functions[] = {
    { "start", lspawn_start }, { "which", lspawn_which }, { NULL, NULL },
};

int lspawn_open(lua_State *L)
{
    bind_class(L, CLASS, methods, meta);
    luaL_newlib(L, functions);
    return 1;
}
