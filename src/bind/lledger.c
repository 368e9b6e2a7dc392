/*
 * lledger - iolua.core.ledger: what a job has written where, as the class "iolua.ledger".
 *
 * Raw integers: lua/iolua/job/verify.lua makes them and tells what they found. A ledger is
 * looked at between jobs, never while a worker uses it.
 */
#include "bind/bind.h"
#include "bind/lledger.h"
#include "bind/lworker.h"
#include "bind/open.h"
#include "core/ledger.h"

#define CLASS "iolua.ledger"

struct lledger {
    struct ledger *ledger;
};

struct ledger *lledger_check(lua_State *L, int arg)
{
    struct lledger *ud = luaL_checkudata(L, arg, CLASS);

    luaL_argcheck(L, ud->ledger != NULL, arg, "ledger is closed");
    return ud->ledger;
}

/* ledger.new { seed, run, offset, size, grain, known } -> ledger | nil, message, errno */
static int lledger_new(lua_State *L)
{
    struct ledger_spec s = { 0 };
    struct lledger *ud;
    int err;

    luaL_checktype(L, 1, LUA_TTABLE);
    s.seed = (uint64_t)bind_field(L, 1, "seed", 0, LUA_MAXINTEGER, 0);
    s.run = (uint32_t)bind_field(L, 1, "run", 0, UINT32_MAX, 0);
    s.offset = (uint64_t)bind_field(L, 1, "offset", 0, LUA_MAXINTEGER, 0);
    s.size = (uint64_t)bind_field(L, 1, "size", 0, LUA_MAXINTEGER, 0);
    s.grain = (uint32_t)bind_field(L, 1, "grain", 1, IO_LEN_MAX, STAMP_SECTOR);
    s.known = bind_flag(L, 1, "known");
    ud = lua_newuserdatauv(L, sizeof *ud, 0);
    ud->ledger = NULL;
    luaL_setmetatable(L, CLASS);
    err = ledger_new(&ud->ledger, &s);
    return err < 0 ? bind_fail(L, err, "ledger") : 1;
}

static int lledger_close(lua_State *L)          /* also __close and __gc */
{
    struct lledger *ud = luaL_checkudata(L, 1, CLASS);

    ledger_unref(ud->ledger);
    ud->ledger = NULL;
    return 0;
}

/* ledger:replay(worker, n): as if the first n operations of the worker's load had been done
 * -> true | nil, message, errno */
static int lledger_replay(lua_State *L)
{
    struct ledger *l = lledger_check(L, 1);
    uint64_t n = (uint64_t)bind_checkrange(L, 3, 0, LUA_MAXINTEGER);
    struct load_spec load = { 0 };
    int err;

    luaL_checktype(L, 2, LUA_TTABLE);
    lworker_load(L, 2, &load);
    err = ledger_replay(l, &load, n);
    if (err < 0)
        return bind_fail(L, err, "replay");
    lua_pushboolean(L, 1);
    return 1;
}

void lledger_push_damage(lua_State *L, const struct stamp_damage *list, unsigned n)
{
    lua_createtable(L, (int)n, 0);
    for (unsigned i = 0; i < n; i++) {
        lua_createtable(L, 0, 5);
        lua_pushstring(L, stamp_name(list[i].kind));
        lua_setfield(L, -2, "kind");
        bind_setu64(L, "offset", list[i].offset);
        bind_setu64(L, "bytes", list[i].bytes);
        bind_setu64(L, "expected", list[i].expected);
        bind_setu64(L, "found", list[i].found);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
}

/* ledger:begin(): findings and writes are of the job that comes now. */
static int lledger_begin(lua_State *L)
{
    ledger_begin(lledger_check(L, 1));
    return 0;
}

/* ledger:report() -> { writes, checked_bytes, unwritten_bytes, unsure_bytes, damaged, waits,
 * damage = list of the first 64 } */
static int lledger_report(lua_State *L)
{
    const struct ledger *l = lledger_check(L, 1);
    unsigned kept = l->damaged < LEDGER_DAMAGE ? (unsigned)l->damaged : LEDGER_DAMAGE;

    lua_createtable(L, 0, 8);
    bind_setu64(L, "writes", l->writes - l->before);
    bind_setu64(L, "checked_bytes", l->checked);
    bind_setu64(L, "unwritten_bytes", l->unwritten);
    bind_setu64(L, "unsure_bytes", l->unsure);
    bind_setu64(L, "damaged", l->damaged);
    bind_setu64(L, "waits", l->waits);
    lledger_push_damage(L, l->damage, kept);
    lua_setfield(L, -2, "damage");
    return 1;
}

static const luaL_Reg methods[] = {
    { "begin", lledger_begin },
    { "replay", lledger_replay },
    { "report", lledger_report },
    { "close", lledger_close },
    { NULL, NULL },
};

static const luaL_Reg meta[] = {
    { "__close", lledger_close },
    { "__gc", lledger_close },
    { NULL, NULL },
};

static const luaL_Reg functions[] = {
    { "new", lledger_new },
    { NULL, NULL },
};

int lledger_open(lua_State *L)
{
    bind_class(L, CLASS, methods, meta);
    luaL_newlib(L, functions);
    return 1;
}
