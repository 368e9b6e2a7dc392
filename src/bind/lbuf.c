/*
 * lbuf - iolua.core.buf: aligned memory for I/O as the class "iolua.buf".
 */
#include <string.h>

#include "bind/bind.h"
#include "bind/lend.h"
#include "bind/lloop.h"
#include "bind/open.h"
#include "core/buf.h"
#include "core/fill.h"

#define CLASS "iolua.buf"

struct buf *lbuf_check(lua_State *L, int arg)
{
    struct lbuf *ud = luaL_checkudata(L, arg, CLASS);

    luaL_argcheck(L, ud->buf != NULL, arg, "buffer is closed");
    return ud->buf;
}

/* buf.new(bytes) -> buf | nil, message, errno */
static int lbuf_new(lua_State *L)
{
    size_t len = (size_t)bind_checkrange(L, 1, 1, (lua_Integer)BUF_LEN_MAX);
    struct lbuf *ud = lua_newuserdatauv(L, sizeof *ud, 0);
    int err;

    *ud = LEND_BUF_CLOSED;      /* until it owns something */
    luaL_setmetatable(L, CLASS);
    err = buf_open(&ud->buf, len);
    return err < 0 ? bind_fail(L, err, "buffer") : 1;
}

/* buf.alive() -> buffers, bytes: of the whole process */
static int lbuf_alive(lua_State *L)
{
    bind_pushu64(L, buf_alive());
    bind_pushu64(L, buf_bytes());
    return 2;
}

/* buf:close(): drops Lua's reference; the kernel may still hold its own. */
static int lbuf_close(lua_State *L)     /* also __close and __gc */
{
    struct lbuf *ud = luaL_checkudata(L, 1, CLASS);
    struct buf *b = ud->buf;

    ud->buf = NULL;
    if (b && b->fixed)
        lloop_unfix_buf(L, b);
    lend_drop_buf(b);
    return 0;
}

/* #buf, buf:size() -> bytes */
static int lbuf_size(lua_State *L)
{
    bind_pushu64(L, lbuf_check(L, 1)->len);
    return 1;
}

/* Arguments a, b as a range of bytes, from 1, like string.sub: first, last. */
static size_t range(lua_State *L, int arg, size_t len, size_t *count)
{
    lua_Integer a = bind_optrange(L, arg, -(lua_Integer)len, (lua_Integer)len + 1, 1);
    lua_Integer b = bind_optrange(L, arg + 1, -(lua_Integer)len - 1, (lua_Integer)len, -1);

    a = a < 0 ? a + (lua_Integer)len + 1 : a == 0 ? 1 : a;
    b = b < 0 ? b + (lua_Integer)len + 1 : b;
    *count = b >= a ? (size_t)(b - a + 1) : 0;
    return (size_t)(a - 1);
}

/* buf:string([a [, b]]) -> bytes a to b (from 1; negative from the end) */
static int lbuf_string(lua_State *L)
{
    struct buf *b = lbuf_check(L, 1);
    size_t count, at = range(L, 2, b->len, &count);

    lua_pushlstring(L, (const char *)b->mem + at, count);
    return 1;
}

/* buf:set(text [, at]) -> buf: copies text to byte `at` (from 1) */
static int lbuf_set(lua_State *L)
{
    struct buf *b = lbuf_check(L, 1);
    size_t len;
    const char *text = luaL_checklstring(L, 2, &len);
    size_t at = (size_t)bind_optrange(L, 3, 1, (lua_Integer)b->len, 1) - 1;

    luaL_argcheck(L, len <= b->len - at, 2, "text is longer than the buffer from there");
    memcpy(b->mem + at, text, len);
    lua_settop(L, 1);
    return 1;
}

/* buf:fill { seed = 1, compressible = 0 } or { byte = 0 } -> buf */
/* Raise for a key of the table at arg that fill does not know. */
static void check_fill_keys(lua_State *L, int arg)
{
    lua_pushnil(L);
    while (lua_next(L, arg)) {
        const char *key;

        lua_pop(L, 1);
        key = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : luaL_typename(L, -1);
        if (strcmp(key, "byte") != 0 && strcmp(key, "seed") != 0
            && strcmp(key, "compressible") != 0)
            luaL_argerror(L, arg, lua_pushfstring(L, "unknown option \"%s\"; known: byte, "
                                                  "compressible, seed", key));
    }
}

static int lbuf_fill(lua_State *L)
{
    struct buf *b = lbuf_check(L, 1);
    lua_Integer seed, percent, byte;
    struct rng r;

    lua_settop(L, 2);
    if (lua_isnil(L, 2)) {
        lua_newtable(L);
        lua_replace(L, 2);
    }
    luaL_checktype(L, 2, LUA_TTABLE);
    check_fill_keys(L, 2);
    byte = bind_field(L, 2, "byte", 0, 255, -1);
    seed = bind_field(L, 2, "seed", 0, LUA_MAXINTEGER, 1);
    percent = bind_field(L, 2, "compressible", 0, 100, 0);
    rng_seed(&r, (uint64_t)seed, 0);
    if (byte >= 0)
        memset(b->mem, (int)byte, b->len);
    else
        fill_compressible(b->mem, b->len, (unsigned)percent, &r);
    lua_settop(L, 1);
    return 1;
}

static int lbuf_tostring(lua_State *L)
{
    struct lbuf *ud = luaL_checkudata(L, 1, CLASS);

    if (ud->buf)
        lua_pushfstring(L, "buffer (%I bytes)", (LUAI_UACINT)ud->buf->len);
    else
        lua_pushliteral(L, "buffer (closed)");
    return 1;
}

static const luaL_Reg methods[] = {
    { "size", lbuf_size },
    { "string", lbuf_string },
    { "set", lbuf_set },
    { "fill", lbuf_fill },
    { "close", lbuf_close },
    { NULL, NULL },
};

static const luaL_Reg meta[] = {
    { "__len", lbuf_size },
    { "__tostring", lbuf_tostring },
    { "__close", lbuf_close },
    { "__gc", lbuf_close },
    { NULL, NULL },
};

static const luaL_Reg functions[] = {
    { "new", lbuf_new },
    { "alive", lbuf_alive },
    { NULL, NULL },
};

int lbuf_open(lua_State *L)
{
    bind_class(L, CLASS, methods, meta);
    luaL_newlib(L, functions);
    return 1;
}
