/*
 * ldm - device-mapper (core/dm.h, core/dmmake.h) as core.dm.
 *
 * Plain tables in and out: what a target's parameters mean is known in lua/iolua/dm.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "bind/bind.h"
#include "bind/open.h"
#include "core/dmlist.h"
#include "core/dmmake.h"
#include "core/dmname.h"

#define CLASS "iolua.dmbox"
#define TEXT  1024

/* What the core allocated, while it is turned into tables. */
struct box {
    struct dm_line *lines;
    struct dm_entry *entries;
    char *answer;
    int n;
};

static int box_free(lua_State *L)
{
    struct box *b = luaL_checkudata(L, 1, CLASS);
    struct box old = *b;

    *b = (struct box){ NULL, NULL, NULL, 0 };
    if (old.lines)
        dm_free_lines(old.lines, old.n);
    if (old.entries)
        dm_free_entries(old.entries, old.n);
    free(old.answer);
    return 0;
}

static struct box *push_box(lua_State *L)
{
    struct box *b = lua_newuserdatauv(L, sizeof *b, 0);

    *b = (struct box){ NULL, NULL, NULL, 0 };
    luaL_setmetatable(L, CLASS);
    return b;
}

static int result(lua_State *L, int err, const char *message)
{
    if (err < 0)
        return bind_failmsg(L, err, message);
    lua_pushboolean(L, 1);
    return 1;
}

/* dm.available() -> true | nil, why, errno */
static int ldm_available(lua_State *L)
{
    char message[TEXT];

    return result(L, dm_available(message, sizeof message), message);
}

/* dm.check_name(name) -> true | nil, the rule, errno */
static int ldm_check_name(lua_State *L)
{
    char message[TEXT];

    return result(L, dm_check_name(bind_checkpath(L, 1), message, sizeof message), message);
}

/* dm.path(name) -> "/dev/mapper/..." */
static int ldm_path(lua_State *L)
{
    char path[DM_NAME_MAX + 16];

    dm_path(path, sizeof path, bind_checkpath(L, 1));
    lua_pushstring(L, path);
    return 1;
}

/* dm.number(path) -> "MAJOR:MINOR" of a block device | nil, message, errno */
static int ldm_number(lua_State *L)
{
    const char *path = bind_checkpath(L, 1);
    struct stat st;

    if (stat(path, &st) < 0)
        return bind_fail(L, -errno, path);
    if (!S_ISBLK(st.st_mode)) {
        lua_pushfstring(L, "%s is no block device%s", path, S_ISREG(st.st_mode)
                        ? "; set up a loop device over it" : "");
        return bind_failmsg(L, -ENOTBLK, lua_tostring(L, -1));
    }
    lua_pushfstring(L, "%d:%d", (int)major(st.st_rdev), (int)minor(st.st_rdev));
    return 1;
}

/* dm.prefix() -> what the UUIDs of this process begin with */
static int ldm_prefix(lua_State *L)
{
    lua_pushstring(L, dm_prefix());
    return 1;
}

/* The string field key of the table on top, which must be there. */
static char *text_field(lua_State *L, const char *key)
{
    const char *text = bind_stringfield(L, lua_gettop(L), key);

    if (!text)
        luaL_error(L, "a line of a table needs the field %s", key);
    return (char *)text;                        /* only read; held by the line's table */
}

static struct dm_line *read_lines(lua_State *L, unsigned *n)
{
    struct dm_line *lines;

    luaL_argcheck(L, lua_getfield(L, 1, "lines") == LUA_TTABLE, 1, "lines must be a table");
    *n = (unsigned)luaL_len(L, -1);             /* lines */
    luaL_argcheck(L, *n >= 1 && *n <= DM_LINES_MAX, 1, "1 to 4096 lines");
    lines = lua_newuserdatauv(L, *n * sizeof *lines, 0);        /* lines memory */
    for (unsigned i = 0; i < *n; i++) {
        luaL_argcheck(L, lua_rawgeti(L, -2, i + 1) == LUA_TTABLE, 1, "lines are tables");
        lines[i].start = (uint64_t)bind_field(L, lua_gettop(L), "start", 0, LUA_MAXINTEGER, 0);
        lines[i].sectors = (uint64_t)bind_field(L, lua_gettop(L), "sectors", 1, LUA_MAXINTEGER, 0);
        lines[i].type = text_field(L, "type");
        lines[i].params = text_field(L, "params");
        lua_pop(L, 1);
    }
    return lines;                               /* both stay on the stack */
}

static const char *const *read_destroy(lua_State *L)
{
    const char **list;
    lua_Integer n;

    if (lua_getfield(L, 1, "destroy") == LUA_TNIL)
        return NULL;
    luaL_argcheck(L, lua_istable(L, -1), 1, "destroy must be a table");
    n = luaL_len(L, -1);                        /* destroy */
    luaL_argcheck(L, n >= 0 && n <= DM_DEPS_MAX, 1, "destroy is too long");
    list = lua_newuserdatauv(L, ((size_t)n + 1) * sizeof *list, 0);     /* destroy memory */
    for (lua_Integer i = 0; i < n; i++) {
        luaL_argcheck(L, lua_rawgeti(L, -2, i + 1) == LUA_TSTRING, 1, "destroy names devices");
        list[i] = bind_checkpath(L, lua_gettop(L));
        lua_pop(L, 1);                          /* the table holds it */
    }
    list[n] = NULL;
    return list;
}

static int make(lua_State *L, int (*act)(const struct dm_make *, char *, size_t))
{
    char message[TEXT];
    struct dm_make m;

    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    m.name = bind_stringfield(L, 1, "name");
    m.uuid = bind_stringfield(L, 1, "uuid");
    luaL_argcheck(L, m.name && m.uuid, 1, "name and uuid are needed");
    luaL_argcheck(L, strlen(m.uuid) <= DM_UUID_MAX, 1, "uuid is too long");
    m.read_only = bind_flag(L, 1, "read_only");
    m.lines = read_lines(L, &m.n);
    m.destroy = read_destroy(L);
    return result(L, act(&m, message, sizeof message), message);
}

/* dm.create{ name =, uuid =, lines = { { start =, sectors =, type =, params = } }, read_only =,
 * destroy = { path } } -> true | nil, message, errno */
static int ldm_create(lua_State *L)
{
    return make(L, dm_create);
}

/* dm.reload{ the same } -> true | nil, message, errno: another table for a volume */
static int ldm_reload(lua_State *L)
{
    return make(L, dm_reload);
}

/* dm.suspend(name [, no_flush [, no_lockfs]]) -> true | nil, message, errno */
static int ldm_suspend(lua_State *L)
{
    char message[TEXT];

    return result(L, dm_suspend(bind_checkpath(L, 1), lua_toboolean(L, 2), lua_toboolean(L, 3),
                                message, sizeof message), message);
}

/* dm.resume(name) -> true | nil, message, errno */
static int ldm_resume(lua_State *L)
{
    char message[TEXT];

    return result(L, dm_resume(bind_checkpath(L, 1), message, sizeof message), message);
}

static void set_flag(lua_State *L, const char *key, bool value)
{
    lua_pushboolean(L, value);
    lua_setfield(L, -2, key);
}

static void set_integer(lua_State *L, const char *key, lua_Integer value)
{
    lua_pushinteger(L, value);
    lua_setfield(L, -2, key);
}

static void set_string(lua_State *L, const char *key, const char *value)
{
    lua_pushstring(L, value);
    lua_setfield(L, -2, key);
}

static int info(lua_State *L, const char *name, const char *uuid)
{
    char message[TEXT];
    struct dm_state s;
    int err = dm_info(&s, name, uuid, message, sizeof message);

    if (err < 0)
        return bind_failmsg(L, err, message);
    lua_createtable(L, 0, 12);
    set_string(L, "name", s.name);
    set_string(L, "uuid", s.uuid);
    set_integer(L, "major", major(s.dev));
    set_integer(L, "minor", minor(s.dev));
    set_flag(L, "suspended", s.suspended);
    set_flag(L, "read_only", s.read_only);
    set_flag(L, "live", s.live);
    set_flag(L, "inactive", s.inactive);
    set_flag(L, "deferred", s.deferred);
    set_integer(L, "open_count", s.open_count);
    set_integer(L, "events", s.events);
    set_integer(L, "segments", s.segments);
    return 1;
}

/* dm.info(name) -> state | nil, message, errno */
static int ldm_info(lua_State *L)
{
    return info(L, bind_checkpath(L, 1), NULL);
}

/* dm.find(uuid) -> state | nil, message, errno */
static int ldm_find(lua_State *L)
{
    return info(L, NULL, bind_checkpath(L, 1));
}

static int lines(lua_State *L, bool status)
{
    const char *name = bind_checkpath(L, 1);
    char message[TEXT];
    struct box *b = push_box(L);

    b->n = dm_lines(&b->lines, name, status, message, sizeof message);
    if (b->n < 0)
        return bind_failmsg(L, b->n, message);
    lua_createtable(L, b->n, 0);
    for (int i = 0; i < b->n; i++) {
        lua_createtable(L, 0, 4);
        set_integer(L, "start", (lua_Integer)b->lines[i].start);
        set_integer(L, "sectors", (lua_Integer)b->lines[i].sectors);
        set_string(L, "type", b->lines[i].type);
        set_string(L, "params", b->lines[i].params);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

/* dm.table(name) -> { { start =, sectors =, type =, params = } } | nil, message, errno */
static int ldm_table(lua_State *L)
{
    return lines(L, false);
}

/* dm.status(name): the same, params being the status */
static int ldm_status(lua_State *L)
{
    return lines(L, true);
}

/* dm.message(name, sector, text) -> answer | nil, message, errno */
static int ldm_message(lua_State *L)
{
    const char *name = bind_checkpath(L, 1), *text = bind_checkpath(L, 3);
    uint64_t sector = (uint64_t)bind_checkrange(L, 2, 0, LUA_MAXINTEGER);
    char message[TEXT];
    struct box *b = push_box(L);
    int err = dm_message(&b->answer, name, sector, text, message, sizeof message);

    if (err < 0)
        return bind_failmsg(L, err, message);
    lua_pushstring(L, b->answer);
    return 1;
}

/* dm.rename(name, to) -> true | nil, message, errno */
static int ldm_rename(lua_State *L)
{
    char message[TEXT];

    return result(L, dm_rename(bind_checkpath(L, 1), bind_checkpath(L, 2), message,
                               sizeof message), message);
}

/* dm.remove(name [, deferred [, retry_ns]]) -> true | nil, message, errno */
static int ldm_remove(lua_State *L)
{
    uint64_t retry = (uint64_t)bind_optrange(L, 3, 0, LUA_MAXINTEGER / 2, 0);
    char message[TEXT];

    return result(L, dm_remove(bind_checkpath(L, 1), lua_toboolean(L, 2), retry, message,
                               sizeof message), message);
}

/* dm.list() -> { { name =, major =, minor = } } | nil, message, errno */
static int ldm_list(lua_State *L)
{
    char message[TEXT];
    struct box *b = push_box(L);

    b->n = dm_list(&b->entries, message, sizeof message);
    if (b->n < 0)
        return bind_failmsg(L, b->n, message);
    lua_createtable(L, b->n, 0);
    for (int i = 0; i < b->n; i++) {
        lua_createtable(L, 0, 3);
        set_string(L, "name", b->entries[i].name);
        set_integer(L, "major", major(b->entries[i].dev));
        set_integer(L, "minor", minor(b->entries[i].dev));
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

/* dm.targets() -> { [name] = "1.2.3" } | nil, message, errno */
static int ldm_targets(lua_State *L)
{
    char message[TEXT];
    struct box *b = push_box(L);

    b->n = dm_targets(&b->entries, message, sizeof message);
    if (b->n < 0)
        return bind_failmsg(L, b->n, message);
    lua_createtable(L, 0, b->n);
    for (int i = 0; i < b->n; i++) {
        const unsigned *v = b->entries[i].version;

        lua_pushfstring(L, "%d.%d.%d", (int)v[0], (int)v[1], (int)v[2]);
        lua_setfield(L, -2, b->entries[i].name);
    }
    return 1;
}

/* dm.deps(name) -> { "MAJOR:MINOR", ... } | nil, message, errno */
static int ldm_deps(lua_State *L)
{
    const char *name = bind_checkpath(L, 1);
    dev_t *devs = lua_newuserdatauv(L, DM_DEPS_MAX * sizeof *devs, 0);
    char message[TEXT];
    int n = dm_deps(devs, name, false, message, sizeof message);

    if (n < 0)
        return bind_failmsg(L, n, message);
    lua_createtable(L, n, 0);
    for (int i = 0; i < n; i++) {
        lua_pushfstring(L, "%d:%d", (int)major(devs[i]), (int)minor(devs[i]));
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

static const luaL_Reg none[] = { { NULL, NULL } };

static const luaL_Reg meta[] = {
    { "__gc", box_free },
    { NULL, NULL },
};

static const luaL_Reg functions[] = {
    { "available", ldm_available },
    { "check_name", ldm_check_name },
    { "path", ldm_path },
    { "number", ldm_number },
    { "prefix", ldm_prefix },
    { "create", ldm_create },
    { "reload", ldm_reload },
    { "suspend", ldm_suspend },
    { "resume", ldm_resume },
    { "info", ldm_info },
    { "find", ldm_find },
    { "table", ldm_table },
    { "status", ldm_status },
    { "message", ldm_message },
    { "rename", ldm_rename },
    { "remove", ldm_remove },
    { "list", ldm_list },
    { "targets", ldm_targets },
    { "deps", ldm_deps },
    { NULL, NULL },
};

int ldm_open(lua_State *L)
{
    bind_class(L, CLASS, none, meta);
    luaL_newlib(L, functions);
    return 1;
}
