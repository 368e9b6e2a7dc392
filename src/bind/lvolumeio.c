/*
 * lvolumeio - the methods of "iolua.uservolume" that wait: one leg request each.
 *
 * lua/iolua/volume/user.lua asks how many parts a transfer has and does them at once, each in a
 * fiber of its own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bind/lend.h"
#include "bind/lopen.h"
#include "bind/lvolume.h"
#include "bind/lwait.h"

/* What finish must know, on the stack while the request is out. */
struct waiting {
    unsigned leg;               /* from 0 */
    struct stripe_part part;
    bool write;
};

/* Bytes from pos on that a part of res bytes lets count: all of the request where it is whole. */
static uint64_t reach(const struct volume *v, const struct waiting *w, uint64_t pos, int res)
{
    if ((uint32_t)res == w->part.bytes)
        return UINT64_MAX;
    return stripe_back(v->map, w->leg, w->part.pos + (uint64_t)res) - pos;
}

static int failed(lua_State *L, const struct volume *v, const struct waiting *w, int res)
{
    const struct file *f = v->leg[w->leg].file;

    luaL_pushfail(L);
    lua_pushfstring(L, "%s leg %d (%s) at %I: %s", w->write ? "write" : "read", (int)w->leg + 1,
                    f ? f->path : "error", (LUAI_UACINT)w->part.pos, bind_reason(res));
    lua_pushinteger(L, -res);
    return 3;
}

/* On the stack: volume buffer pos bytes write i leg, then the userdata of struct waiting. */
static int moved(lua_State *L, const struct lwait *wait, int res)
{
    struct volume *v = lvolume_check(L, 1);
    const struct waiting *w = lua_touserdata(L, 8);
    uint64_t to;

    (void)wait;
    if (res < 0) {
        atomic_fetch_add_explicit(&v->leg[w->leg].errors, 1, memory_order_relaxed);
        return failed(L, v, w, res);
    }
    atomic_fetch_add_explicit(&v->leg[w->leg].ios, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&v->leg[w->leg].bytes, (unsigned)res, memory_order_relaxed);
    to = reach(v, w, (uint64_t)lua_tointeger(L, 3), res);
    if (to == UINT64_MAX)
        lua_pushboolean(L, 1);
    else
        bind_pushu64(L, to);
    return 1;
}

static const struct lwait MOVE = { "move", moved };

struct span {
    struct volume *v;
    struct buf *b;
    uint64_t pos;
    uint32_t len;
    bool write;
};

/* volume buffer pos bytes write ... */
static struct span check_span(lua_State *L)
{
    struct span s = { .v = lvolume_check(L, 1), .b = lbuf_check(L, 2) };
    lua_Integer most = (lua_Integer)(s.b->len < IO_LEN_MAX ? s.b->len : IO_LEN_MAX);

    s.len = (uint32_t)bind_optrange(L, 4, 0, most, most);
    s.pos = (uint64_t)bind_checkrange(L, 3, 0, INT64_MAX - most);
    s.write = lua_toboolean(L, 5);
    return s;
}

/* The parts of a transfer and its vector, in memory on the stack. */
static unsigned split(lua_State *L, const struct span *s, struct stripe_part **parts,
                      struct iovec **vec)
{
    size_t n = stripe_parts_max(s->v->map, s->len, s->v->merge);
    size_t pieces = stripe_pieces_max(s->v->map, s->len);

    *parts = lua_newuserdatauv(L, n * sizeof **parts + pieces * sizeof **vec, 0);
    *vec = (struct iovec *)(void *)(*parts + n);
    return stripe_split(s->v->map, s->pos, s->len, s->b->mem, s->v->merge, *parts, *vec);
}

/* volume:parts(buf, pos, bytes) -> number of leg requests, bytes that there are to move */
static int lvolume_parts(lua_State *L)
{
    struct span s = check_span(L);
    struct stripe_part *parts;
    struct iovec *vec;
    uint64_t left = s.pos < s.v->map->size ? s.v->map->size - s.pos : 0;

    lua_pushinteger(L, split(L, &s, &parts, &vec));
    lua_pushinteger(L, (lua_Integer)(left < s.len ? left : s.len));
    return 2;
}

/* volume:move(buf, pos, bytes, write, i [, leg]) -> true when part i (from 1) moved whole, else
 * the bytes from pos on that can count | nil, message, errno. leg: of a mirror, from 1. */
static int lvolume_move(lua_State *L)
{
    struct span s = check_span(L);
    lua_Integer i = bind_checkrange(L, 6, 1, STRIPE_PIECES_MAX * STRIPE_LEGS_MAX);
    lua_Integer leg = bind_optrange(L, 7, 1, s.v->map->legs, 0);
    struct lloop *p = lua_touserdata(L, lua_upvalueindex(1));
    uint32_t fiber = lwait_check(L, p, s.write ? "write" : "read");
    struct stripe_part *parts;
    struct iovec *vec;
    struct waiting *w;
    struct lwait_req r = { .buf = s.b };

    lua_settop(L, 7);
    w = lua_newuserdatauv(L, sizeof *w, 0);     /* at 8 */
    luaL_argcheck(L, i <= (lua_Integer)split(L, &s, &parts, &vec), 6, "no such part");
    *w = (struct waiting){ parts[i - 1].leg, parts[i - 1], s.write };
    if (leg) {
        w->leg = (unsigned)leg - 1;
        w->part.pos = s.pos + s.v->map->leg[w->leg].offset;
    }
    r.file = s.v->leg[w->leg].file;
    if (!r.file)
        return moved(L, &MOVE, -EIO);
    r.memory = lend_new(0, w->part.pieces * sizeof *vec);
    if (!r.memory)
        return moved(L, &MOVE, -ENOMEM);
    memcpy(r.memory->payload, vec + w->part.first, w->part.pieces * sizeof *vec);
    r.q = (struct io_req){ .kind = s.write ? IO_WRITEV : IO_READV, .fd = r.file->fd,
                           .pos = w->part.pos, .addr = (uintptr_t)r.memory->payload,
                           .len = w->part.pieces };
    return lwait_go(L, p, fiber, &r, -1, &MOVE);
}

/* volume:fail(leg): a mirror goes on without it */
static int lvolume_fail(lua_State *L)
{
    struct volume *v = lvolume_check(L, 1);

    lua_pushinteger(L, volume_fail(v, (unsigned)bind_checkrange(L, 2, 1, v->map->legs) - 1));
    return 1;
}

static const luaL_Reg methods[] = {
    { "parts", lvolume_parts },
    { "move", lvolume_move },
    { "fail", lvolume_fail },
    { NULL, NULL },
};

void lopen_volume(lua_State *L, struct lloop *p)
{
    lopen_methods(L, p, LVOLUME_CLASS, methods);
}
