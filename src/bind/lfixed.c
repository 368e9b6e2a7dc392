/*
 * lfixed - buffers registered with the loop's ring, on request: their pages are looked up once.
 */
#include "bind/lend.h"
#include "bind/lopen.h"

/* The next free place, or -errno; the table is made for the first. */
static int place(struct lloop *p)
{
    int err = 0;

    if (!p->bufs_open)
        err = ring_open_buffers(p->ring, LLOOP_FIXED_BUFS);
    if (err < 0)
        return err;
    p->bufs_open = true;
    for (unsigned i = 0; i < LLOOP_FIXED_BUFS / 64; i++)
        if (p->fixed_bufs[i] != UINT64_MAX)
            return (int)(64 * i) + __builtin_ctzll(~p->fixed_bufs[i]);
    return -ENOSPC;
}

/* fiber.register(buf) -> true | nil, message, errno */
static int lfixed_register(lua_State *L)
{
    struct lloop *p = lua_touserdata(L, lua_upvalueindex(1));
    struct buf *b = lbuf_check(L, 1);
    int at, err;

    lloop_engine(p, IO_READ_FIXED);             /* opens it */
    at = p->ring && !p->closed ? place(p) : -EOPNOTSUPP;
    err = b->fixed ? 0 : at < 0 ? at : ring_set_buffer(p->ring, (unsigned)at, b->mem, b->len);
    if (err < 0)
        return bind_fail(L, err, "register");
    if (!b->fixed) {
        p->fixed_bufs[at / 64] |= (uint64_t)1 << at % 64;
        b->fixed = (unsigned)at + 1;
    }
    lua_pushboolean(L, 1);
    return 1;
}

void lloop_unfix_buf(lua_State *L, struct buf *b)
{
    struct lloop *p = lloop_of(L);
    unsigned at = b->fixed - 1;

    b->fixed = 0;
    if (!p->ring)
        return;
    ring_set_buffer(p->ring, at, NULL, 0);
    p->fixed_bufs[at / 64] &= ~((uint64_t)1 << at % 64);
}

static const luaL_Reg functions[] = {
    { "register", lfixed_register },
    { NULL, NULL },
};

void lopen_fixed(lua_State *L, struct lloop *p)
{
    lopen_functions(L, p, functions);
}
