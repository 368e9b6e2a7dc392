/*
 * ljournal - the durable list of undo records (core/journal.h), as core.journal.
 *
 * A journal that is collected or closed with records left keeps its file: the next run undoes
 * them. Collecting one never undoes anything.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "bind/bind.h"
#include "bind/open.h"
#include "core/journal.h"

#define CLASS "iolua.journal"
#define BATCH 4096              /* records or notes in one call */

struct ljournal {
    struct journal *journal;    /* NULL once closed */
};

static struct journal *ljournal_check(lua_State *L, int arg)
{
    struct ljournal *ud = luaL_checkudata(L, arg, CLASS);

    luaL_argcheck(L, ud->journal != NULL, arg, "journal is closed");
    return ud->journal;
}

static struct ljournal *push(lua_State *L)
{
    struct ljournal *ud = lua_newuserdatauv(L, sizeof *ud, 0);

    ud->journal = NULL;
    luaL_setmetatable(L, CLASS);
    return ud;
}

/* journal.folder([chosen]) -> path of this user's journals, made | nil, message, errno */
static int ljournal_folder(lua_State *L)
{
    const char *chosen = lua_isnoneornil(L, 1) ? NULL : bind_checkpath(L, 1);
    char path[PATH_MAX] = "";
    int err = journal_folder(path, sizeof path, chosen, getenv("XDG_RUNTIME_DIR"));

    if (err == -EPERM)
        return bind_fail(L, err, lua_pushfstring(L, "journal folder %s: it must be this user's "
                                                 "own, and nobody else may write to it", path));
    if (err < 0)
        return bind_fail(L, err, lua_pushfstring(L, "journal folder %s", path));
    lua_pushstring(L, path);
    return 1;
}

/* journal.pending([chosen]) -> boolean: is there any journal? Makes no folder. */
static int ljournal_pending(lua_State *L)
{
    const char *chosen = lua_isnoneornil(L, 1) ? NULL : bind_checkpath(L, 1);

    lua_pushboolean(L, journal_pending(chosen, getenv("XDG_RUNTIME_DIR")));
    return 1;
}

/* journal.new(folder) -> journal | nil, message, errno */
static int ljournal_new(lua_State *L)
{
    const char *folder = bind_checkpath(L, 1);
    struct ljournal *ud = push(L);
    int err = journal_new(&ud->journal, folder);

    return err < 0 ? bind_fail(L, err, folder) : 1;
}

/* journal.load(folder, name) -> journal | nil, message, errno [, pid of the live owner] */
static int ljournal_load(lua_State *L)
{
    const char *folder = bind_checkpath(L, 1), *name = bind_checkpath(L, 2);
    struct ljournal *ud = push(L);
    pid_t pid = 0;
    int err = journal_load(&ud->journal, folder, name, &pid);

    if (err == 0)
        return 1;
    bind_fail(L, err, lua_pushfstring(L, "%s/%s", folder, name));
    lua_pushinteger(L, pid);
    return 4;
}

/* The string field key of the table on top; raises without it. It stays valid: the table
 * holds it. */
static char *field(lua_State *L, const char *key)
{
    const char *text = bind_stringfield(L, lua_gettop(L), key);

    if (!text)
        luaL_error(L, "a record needs the field %s", key);
    return (char *)text;                        /* only read */
}

/* Push nil, "who holds what", EBUSY, pid. */
static int held(lua_State *L, const struct journal_record *r, pid_t pid)
{
    luaL_pushfail(L);
    if (pid < 0)
        lua_pushfstring(L, "%s is held by the dead run %d: `iolua --restore` undoes it",
                        r->target, (int)-pid);
    else
        lua_pushfstring(L, "%s is held by pid %d", r->target, (int)pid);
    lua_pushinteger(L, EBUSY);
    lua_pushinteger(L, pid);
    return 4;
}

/* journal:add{ { kind =, target =, old = }, ... } -> first id | nil, message, errno [, pid] */
static int ljournal_add(lua_State *L)
{
    struct journal *j = ljournal_check(L, 1);
    lua_Integer n = (luaL_checktype(L, 2, LUA_TTABLE), (lua_Integer)lua_rawlen(L, 2));
    struct journal_record *r;
    pid_t pid = 0;
    unsigned index = 0;
    int err;

    luaL_argcheck(L, n >= 1 && n <= BATCH, 2, "1 to 4096 records");
    r = lua_newuserdatauv(L, (size_t)n * sizeof *r, 0);
    memset(r, 0, (size_t)n * sizeof *r);
    for (lua_Integer i = 0; i < n; i++) {
        if (lua_rawgeti(L, 2, i + 1) != LUA_TTABLE)
            return luaL_argerror(L, 2, "records are tables");
        r[i].kind = field(L, "kind");
        r[i].target = field(L, "target");
        r[i].old = field(L, "old");
        lua_pop(L, 1);
    }
    err = journal_add(j, r, (unsigned)n, &pid, &index);
    if (err == -EBUSY)
        return held(L, &r[index], pid);
    if (err < 0)
        return bind_fail(L, err, "journal");
    lua_pushinteger(L, r[0].id);
    return 1;
}

/* One note from the table on top: { id =, now = text or nil, done = boolean }. */
static void take_note(lua_State *L, struct journal_note *note)
{
    int at = lua_gettop(L);

    note->id = (unsigned)bind_field(L, at, "id", 1, INT_MAX, 0);
    note->now = bind_stringfield(L, at, "now");
    note->done = bind_flag(L, at, "done");
}

/* journal:note{ { id =, now =, done = }, ... } -> true | nil, message, errno. Without now and
 * done a change is under way. */
static int ljournal_note(lua_State *L)
{
    struct journal *j = ljournal_check(L, 1);
    lua_Integer n = (luaL_checktype(L, 2, LUA_TTABLE), (lua_Integer)lua_rawlen(L, 2));
    struct journal_note *notes;
    int err;

    luaL_argcheck(L, n >= 1 && n <= BATCH, 2, "1 to 4096 notes");
    notes = lua_newuserdatauv(L, (size_t)n * sizeof *notes, 0);
    for (lua_Integer i = 0; i < n; i++) {
        if (lua_rawgeti(L, 2, i + 1) != LUA_TTABLE)
            return luaL_argerror(L, 2, "notes are tables");
        take_note(L, &notes[i]);
        lua_pop(L, 1);
    }
    err = journal_note(j, notes, (unsigned)n);
    if (err < 0)
        return bind_fail(L, err, "journal");
    lua_pushboolean(L, 1);
    return 1;
}

static void push_record(lua_State *L, const struct journal_record *r)
{
    lua_createtable(L, 0, 6);
    lua_pushinteger(L, r->id);
    lua_setfield(L, -2, "id");
    lua_pushstring(L, r->kind);
    lua_setfield(L, -2, "kind");
    lua_pushstring(L, r->target);
    lua_setfield(L, -2, "target");
    lua_pushstring(L, r->old);
    lua_setfield(L, -2, "old");
    lua_pushstring(L, r->now);                  /* nil for NULL */
    lua_setfield(L, -2, "now");
}

/* journal:records() -> those that are not done, in the order they were added */
static int ljournal_records(lua_State *L)
{
    unsigned n;
    const struct journal_record *r = journal_records(ljournal_check(L, 1), &n);
    lua_Integer kept = 0;

    lua_newtable(L);
    for (unsigned i = 0; i < n; i++) {
        if (r[i].done)
            continue;
        push_record(L, &r[i]);
        lua_rawseti(L, -2, ++kept);
    }
    return 1;
}

/* journal:find(target) -> record | nil */
static int ljournal_find(lua_State *L)
{
    const struct journal_record *r = journal_find(ljournal_check(L, 1), bind_checkpath(L, 2));

    if (r)
        push_record(L, r);
    else
        lua_pushnil(L);
    return 1;
}

/* journal:owner() -> { pid =, uid =, when = Unix time, boot =, current = of this boot } */
static int ljournal_owner(lua_State *L)
{
    struct journal *j = ljournal_check(L, 1);
    const struct journal_owner *o = journal_owner(j);

    lua_createtable(L, 0, 5);
    lua_pushinteger(L, o->pid);
    lua_setfield(L, -2, "pid");
    lua_pushinteger(L, o->uid);
    lua_setfield(L, -2, "uid");
    lua_pushinteger(L, o->when);
    lua_setfield(L, -2, "when");
    lua_pushstring(L, o->boot);
    lua_setfield(L, -2, "boot");
    lua_pushboolean(L, journal_current(j));
    lua_setfield(L, -2, "current");
    return 1;
}

/* journal:close(): the file goes when nothing is left to undo. Closing twice is allowed. */
static int ljournal_close(lua_State *L)         /* also __close and __gc */
{
    struct ljournal *ud = luaL_checkudata(L, 1, CLASS);
    struct journal *j = ud->journal;

    ud->journal = NULL;
    journal_close(j);
    return 0;
}

static const luaL_Reg methods[] = {
    { "add", ljournal_add },
    { "note", ljournal_note },
    { "records", ljournal_records },
    { "find", ljournal_find },
    { "owner", ljournal_owner },
    { "close", ljournal_close },
    { NULL, NULL },
};

static const luaL_Reg meta[] = {
    { "__close", ljournal_close },
    { "__gc", ljournal_close },
    { NULL, NULL },
};

static const luaL_Reg functions[] = {
    { "folder", ljournal_folder },
    { "pending", ljournal_pending },
    { "new", ljournal_new },
    { "load", ljournal_load },
    { NULL, NULL },
};

int ljournal_open(lua_State *L)
{
    bind_class(L, CLASS, methods, meta);
    luaL_newlib(L, functions);
    return 1;
}
