/*
 * lrecord - block events recorded and joined (core/record.h).
 */
#include <stdbool.h>

#include "bind/bind.h"
#include "bind/lhist.h"
#include "bind/open.h"
#include "core/join.h"
#include "core/record.h"

#define CLASS     "iolua.record"
#define WHY_MAX   512
#define DISKS_MAX 256

struct lrecord {
    struct record *record;      /* NULL once closed */
};

/* record.start({ dev, ... } [, bytes of each CPU's buffer]) -> record | nil, message, errno */
static int lrecord_start(lua_State *L)
{
    size_t bytes = (size_t)bind_optrange(L, 2, 0, 1 << 30, 0);
    uint32_t dev[DISKS_MAX];
    struct lrecord *ud;
    lua_Unsigned n;
    char why[WHY_MAX];
    int err;

    luaL_checktype(L, 1, LUA_TTABLE);
    n = lua_rawlen(L, 1);
    luaL_argcheck(L, n >= 1 && n <= DISKS_MAX, 1, "1..256 disks");
    for (lua_Unsigned i = 0; i < n; i++) {
        lua_rawgeti(L, 1, (lua_Integer)i + 1);
        dev[i] = (uint32_t)bind_checkrange(L, lua_gettop(L), 0, UINT32_MAX);
        lua_pop(L, 1);
    }
    ud = lua_newuserdatauv(L, sizeof *ud, 0);
    ud->record = NULL;
    luaL_setmetatable(L, CLASS);
    err = record_open(&ud->record, dev, (unsigned)n, bytes, why, sizeof why);
    return err < 0 ? bind_failmsg(L, err, why) : 1;
}

static void set_hist(lua_State *L, const char *name, const struct hist *h)
{
    if (h->count == 0)
        return;                 /* nothing measured is nil */
    *lhist_push(L) = *h;
    lua_setfield(L, -2, name);
}

static void set_count(lua_State *L, const char *name, uint64_t n)
{
    bind_pushu64(L, n);
    lua_setfield(L, -2, name);
}

/* Push { [queue cpu] = { [completion cpu] = bios } } without zeros. */
static void push_pairs(lua_State *L, const struct join_result *r)
{
    lua_newtable(L);
    for (unsigned q = 0; q < r->cpus; q++) {
        bool any = false;

        for (unsigned c = 0; c < r->cpus; c++) {
            uint64_t n = r->pairs[(size_t)q * r->cpus + c];

            if (n == 0)
                continue;
            if (!any)
                lua_newtable(L);                        /* pairs row */
            any = true;
            bind_pushu64(L, n);
            lua_rawseti(L, -2, c);
        }
        if (any)
            lua_rawseti(L, -2, q);
    }
}

static void push_events(lua_State *L, const struct join_result *r)
{
    static const char *const name[JOIN_KINDS] = {
        [JOIN_QUEUE] = "queue", [JOIN_SPLIT] = "split", [JOIN_BACKMERGE] = "backmerge",
        [JOIN_FRONTMERGE] = "frontmerge", [JOIN_INSERT] = "insert", [JOIN_ISSUE] = "issue",
        [JOIN_COMPLETE] = "complete", [JOIN_BIO_COMPLETE] = "bio_complete",
        [JOIN_LOST] = "lost",
    };

    lua_createtable(L, 0, JOIN_KINDS);
    for (unsigned k = 0; k < JOIN_KINDS; k++)
        set_count(L, name[k], r->events[k]);
}

/* record:stop() -> table | nil, message, errno */
static int lrecord_stop(lua_State *L)
{
    struct lrecord *ud = luaL_checkudata(L, 1, CLASS);
    const struct join_result *r;
    int err;

    luaL_argcheck(L, ud->record != NULL, 1, "record is closed");
    err = record_stop(ud->record);
    if (err < 0)
        return bind_fail(L, err, "record");
    r = record_result(ud->record);
    lua_newtable(L);
    set_hist(L, "q2q", &r->q2q);
    set_hist(L, "q2i", &r->q2i);
    set_hist(L, "i2d", &r->i2d);
    set_hist(L, "q2d", &r->q2d);
    set_hist(L, "d2c", &r->d2c);
    set_hist(L, "q2c", &r->q2c);
    set_count(L, "lost", r->events[JOIN_LOST]);
    set_count(L, "unmatched", r->unmatched);
    set_count(L, "forgotten", r->forgotten);
    set_count(L, "in_flight", r->in_flight);
    set_count(L, "flushes", r->flushes);
    push_pairs(L, r);
    lua_setfield(L, -2, "cpus");
    push_events(L, r);
    lua_setfield(L, -2, "events");
    return 1;
}

/* record:close() */
static int lrecord_close(lua_State *L)
{
    struct lrecord *ud = luaL_checkudata(L, 1, CLASS);
    struct record *r = ud->record;

    ud->record = NULL;
    record_close(r);
    return 0;
}

static const luaL_Reg methods[] = {
    { "stop", lrecord_stop },
    { "close", lrecord_close },
    { NULL, NULL },
};

static const luaL_Reg meta[] = {
    { "__close", lrecord_close },
    { "__gc", lrecord_close },
    { NULL, NULL },
};

static const luaL_Reg functions[] = {
    { "start", lrecord_start },
    { NULL, NULL },
};

int lrecord_open(lua_State *L)
{
    bind_class(L, CLASS, methods, meta);
    luaL_newlib(L, functions);
    return 1;
}
