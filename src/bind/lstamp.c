/*
 * lstamp - iolua.core.stamp: stamped data in buffers, for fibers.
 */
#include "bind/bind.h"
#include "bind/lledger.h"
#include "bind/open.h"
#include "core/buf.h"
#include "core/stamp.h"

#define SHOWN 16u               /* stretches of damage that are listed */

/* Bytes of the buffer at 1 that field `bytes` of the table at 2 gives: whole sectors. */
static uint32_t length(lua_State *L, const struct buf *b)
{
    lua_Integer most = b->len < UINT32_MAX ? (lua_Integer)b->len : (lua_Integer)UINT32_MAX;
    lua_Integer len = bind_field(L, 2, "bytes", 0, most, most);

    luaL_argcheck(L, len % STAMP_SECTOR == 0, 2, "bytes must be a multiple of 512");
    return (uint32_t)len;
}

static uint64_t position(lua_State *L)
{
    lua_Integer pos = bind_field(L, 2, "offset", 0, LUA_MAXINTEGER, 0);

    luaL_argcheck(L, pos % STAMP_SECTOR == 0, 2, "offset must be a multiple of 512");
    return (uint64_t)pos;
}

/* stamp.fill(buf, { seed, offset, number = 1, run = 0, bytes = #buf }) -> buf */
static int lstamp_fill(lua_State *L)
{
    struct buf *b = lbuf_check(L, 1);
    struct stamp s;

    luaL_checktype(L, 2, LUA_TTABLE);
    s.seed = (uint64_t)bind_field(L, 2, "seed", 0, LUA_MAXINTEGER, 0);
    s.pos = position(L);
    s.len = length(L, b);
    s.number = (uint32_t)bind_field(L, 2, "number", 1, UINT32_MAX - 1, 1);
    s.run = (uint32_t)bind_field(L, 2, "run", 0, UINT32_MAX, 0);
    stamp_fill(b->mem, &s);
    lua_settop(L, 1);
    return 1;
}

/* stamp.check(buf, { seed, offset, number, run, bytes }) -> damage (a list, empty for none),
 * unwritten bytes. Without a number, what blocks say of themselves is checked. */
static int lstamp_check(lua_State *L)
{
    struct buf *b = lbuf_check(L, 1);
    struct stamp_damage list[SHOWN];
    struct stamp_known k = { 0 };
    uint64_t unwritten = 0, pos;
    uint32_t number, len;
    unsigned n;

    luaL_checktype(L, 2, LUA_TTABLE);
    k.seed = (uint64_t)bind_field(L, 2, "seed", 0, LUA_MAXINTEGER, 0);
    k.run = (uint32_t)bind_field(L, 2, "run", 0, UINT32_MAX, 0);
    number = (uint32_t)bind_field(L, 2, "number", 0, UINT32_MAX - 1, 0);
    pos = k.base = position(L);
    len = length(L, b);
    k.number = &number;
    k.grain = number ? len : 0;
    n = stamp_check(list, SHOWN, &unwritten, b->mem, pos, len, &k);
    lledger_push_damage(L, list, n < SHOWN ? n : SHOWN);
    bind_pushu64(L, unwritten);
    return 2;
}

static const luaL_Reg functions[] = {
    { "fill", lstamp_fill },
    { "check", lstamp_check },
    { NULL, NULL },
};

int lstamp_open(lua_State *L)
{
    luaL_newlib(L, functions);
    return 1;
}
