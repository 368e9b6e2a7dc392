/*
 * lvec - f:readv and f:writev: one request over several buffers.
 */
#include <limits.h>
#include <sys/uio.h>

#include "bind/lend.h"
#include "bind/lio.h"
#include "bind/lopen.h"

static struct lloop *loop_of(lua_State *L)
{
    return lua_touserdata(L, lua_upvalueindex(1));
}

/* Check the list of buffers at 2; returns their number and all their bytes. */
static unsigned check_list(lua_State *L, uint64_t *bytes)
{
    lua_Integer n;

    luaL_checktype(L, 2, LUA_TTABLE);
    n = luaL_len(L, 2);
    luaL_argcheck(L, n >= 1 && n <= IOV_MAX, 2, "1 to 1024 buffers are expected");
    *bytes = 0;
    for (lua_Integer i = 1; i <= n; i++) {
        lua_geti(L, 2, i);
        *bytes += lbuf_check(L, lua_gettop(L))->len;
        lua_pop(L, 1);
    }
    luaL_argcheck(L, *bytes <= IO_LEN_MAX, 2, "the buffers hold more than one request moves");
    return (unsigned)n;
}

/* The vectors, and the buffers lent. The list was checked: nothing raises. */
static void fill(lua_State *L, struct lend_memory *m, unsigned n)
{
    struct iovec *v = m->payload;

    for (unsigned i = 0; i < n; i++) {
        struct buf *b;

        lua_rawgeti(L, 2, (lua_Integer)i + 1);
        b = ((struct lbuf *)lua_touserdata(L, -1))->buf;
        lua_pop(L, 1);
        v[i] = (struct iovec){ b->mem, b->len };
        lend_memory_buf(m, b);
    }
}

static int transferred(lua_State *L, const struct lwait *w, int res)
{
    return res >= 0 ? 1 : lio_fail_at(L, w->name, res, 3);
}

static const struct lwait READV = { "readv", transferred }, WRITEV = { "writev", transferred };

static int transfer(lua_State *L, int kind, const struct lwait *w)
{
    struct file *f = lfile_check(L, 1);
    struct lloop *p = loop_of(L);
    uint64_t bytes;
    unsigned n = check_list(L, &bytes);
    lua_Integer pos = bind_checkrange(L, 3, 0, INT64_MAX - (lua_Integer)bytes);
    struct lwait_req r = { .file = f };
    uint32_t fiber;

    luaL_argcheck(L, !lua_getmetatable(L, 2), 2, "a plain list of buffers is expected");
    fiber = lwait_check(L, p, w->name);
    r.memory = lend_new(n, n * sizeof(struct iovec));
    if (!r.memory)
        return lio_fail_at(L, w->name, -ENOMEM, 3);
    fill(L, r.memory, n);
    r.q = (struct io_req){ .kind = (uint8_t)kind, .fd = f->fd, .pos = (uint64_t)pos,
                           .addr = (uintptr_t)r.memory->payload, .len = n };
    return lwait_go(L, p, fiber, &r, -1, w);
}

/* f:readv({ buf, ... }, pos) -> bytes | nil, message, errno: fills them in order */
static int lvec_readv(lua_State *L)
{
    return transfer(L, IO_READV, &READV);
}

/* f:writev({ buf, ... }, pos) -> bytes | nil, message, errno */
static int lvec_writev(lua_State *L)
{
    return transfer(L, IO_WRITEV, &WRITEV);
}

static const luaL_Reg methods[] = {
    { "readv", lvec_readv },
    { "writev", lvec_writev },
    { NULL, NULL },
};

void lopen_vec(lua_State *L, struct lloop *p)
{
    lopen_methods(L, p, "iolua.file", methods);
}
