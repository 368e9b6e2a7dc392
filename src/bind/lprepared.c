/*
 * lprepared - f:reader and f:writer: a read or write of which all is checked before the first.
 *
 * The function that they give does one operation a call and waits for it, as f:read does; or,
 * told a count, so many one after another, with its fiber resumed after the last. It raises
 * what f:read returns as a failure, so that nothing has to be tested in the script.
 */
#include "bind/ldraw.h"
#include "bind/lio.h"
#include "bind/lopen.h"
#include "bind/lquick.h"

#define COUNT_MAX 0x7fffffff

enum { UP_LOOP = 1, UP_SELF, UP_FILE, UP_BUF, UP_DRAW };

struct prepared {
    struct lloop *loop;
    const struct lfile *file;   /* userdata that the function holds, as the others */
    const struct lbuf *buf;
    struct ldraw *draw;         /* or NULL: each call names its position */
    uint32_t len;
    bool writes;
};

static const struct prepared *self(lua_State *L)
{
    return lua_touserdata(L, lua_upvalueindex(UP_SELF));
}

static int failed(lua_State *L, uint64_t pos, int res)
{
    const struct prepared *o = self(L);

    return luaL_error(L, "%s %s at %I: %s", o->writes ? "write" : "read",
                      o->file->file ? o->file->file->path : "a closed file", (LUAI_UACINT)pos,
                      bind_reason(res));
}

/* It came back with an error, or something is to be raised, or neither but not at once. */
static __attribute__((noinline)) const struct slot *odd(lua_State *L, struct lloop *p, bool many)
{
    uint32_t i = lloop_fiber(p, L);
    const struct slot *s = lloop_slot(p, i);

    if (s->raise || s->state != SLOT_RUNNING)
        lwait_raise(L, p, i);
    if (s->res < 0)
        failed(L, many ? s->pos : (uint64_t)lua_tointeger(L, 1), s->res);
    return s;
}

static int came_back(lua_State *L, int status, lua_KContext context)
{
    struct lloop *p = (struct lloop *)context;

    (void)status;
    if (!lquick_done(p, L))
        odd(L, p, false);
    return 1;
}

static int finish(lua_State *L, const struct lwait *w, int res)
{
    (void)w;
    return res >= 0 ? 1 : failed(L, (uint64_t)lua_tointeger(L, 1), res);
}

static const struct lwait READ = { "read", finish }, WRITE = { "write", finish };

/* Outside a fiber, without a ring, or when there is something to raise or to wait for first. */
static __attribute__((noinline)) int plain(lua_State *L, const struct prepared *o, uint64_t pos,
                                           const struct lwait *w)
{
    struct file *f = o->file->file;
    struct buf *b = o->buf->buf;
    struct lwait_req r = {
        .q = { .kind = o->writes ? IO_WRITE : IO_READ, .fd = f->fd, .pos = pos,
               .addr = (uintptr_t)b->mem, .len = o->len },
        .file = f, .buf = b,
    };

    return lwait_request(L, o->loop, &r, w);
}

static void check_open(lua_State *L, const struct prepared *o)
{
    if (!o->file->file)
        luaL_error(L, "%s: the file is closed", o->writes ? "write" : "read");
    if (!o->buf->buf)
        luaL_error(L, "%s: the buffer is closed", o->writes ? "write" : "read");
}

/* The position that the call names. */
static uint64_t named(lua_State *L, const struct prepared *o)
{
    lua_Integer pos = bind_checkrange(L, 1, 0, INT64_MAX - o->len);

    lua_settop(L, 1);
    if (pos & (o->file->file->block_size - 1))
        luaL_argerror(L, 1, lua_pushfstring(L, "position %I is not a multiple of %d, the block "
                                            "size of direct I/O on %s", (LUAI_UACINT)pos,
                                            (int)o->file->file->block_size, o->file->file->path));
    return (uint64_t)pos;
}

static int many(lua_State *L, const struct prepared *o, uint32_t left, uint64_t moved);

/* One of many is done, and all before it: go on with the rest, or give the bytes moved. */
static int one_done(lua_State *L, uint32_t left, uint64_t moved, uint32_t res)
{
    const struct prepared *o = self(L);

    moved += res;
    if (left && res == o->len) {
        check_open(L, o);
        return many(L, o, left, moved);
    }
    lua_pushinteger(L, (lua_Integer)moved);
    return 1;
}

static int many_came_back(lua_State *L, int status, lua_KContext context)
{
    struct lloop *p = (struct lloop *)context;
    const struct slot *s = lquick_done(p, L) ? lloop_slot(p, p->current) : odd(L, p, true);

    (void)status;
    return one_done(L, s->left, s->moved, (uint32_t)s->res);
}

static int many_finish(lua_State *L, const struct lwait *w, int res)
{
    (void)w;
    if (res < 0)
        return failed(L, (uint64_t)lua_tointeger(L, 1), res);
    return one_done(L, (uint32_t)lua_tointeger(L, 2), (uint64_t)lua_tointeger(L, 3),
                    (uint32_t)res);
}

static const struct lwait READ_MANY = { "read", many_finish };
static const struct lwait WRITE_MANY = { "write", many_finish };

/* `left` operations one after another, after such that moved so many bytes. The loop makes
 * one after another as long as it can, without the fiber. */
static int many(lua_State *L, const struct prepared *o, uint32_t left, uint64_t moved)
{
    uint64_t pos = ldraw_next(o->draw);
    uint32_t i = lquick_fiber(L, o->loop);
    struct slot *s = lloop_slot(o->loop, i);

    if (i) {
        s->many = o;
        s->moved = moved;
        s->pos = pos;
        return lquick_go(L, o->loop, i, o->file->file, o->buf->buf, o->writes, pos, o->len,
                         left - 1, many_came_back);
    }
    lua_settop(L, 0);
    lua_pushinteger(L, (lua_Integer)pos);
    lua_pushinteger(L, left - 1);
    lua_pushinteger(L, (lua_Integer)moved);
    return plain(L, o, pos, o->writes ? &WRITE_MANY : &READ_MANY);
}

bool lprepared_next(struct lloop *p, uint32_t i, uint32_t moved)
{
    struct slot *s = lloop_slot(p, i);
    const struct prepared *o = s->many;

    if (moved != o->len || o->file->file != s->file || o->buf->buf != s->buf ||
        (p->credit == 0 && !lloop_credit(p)))
        return false;
    s->moved += moved;
    s->left--;
    s->pos = ldraw_next(o->draw);
    lquick_push(p, i, s->file, s->buf, o->writes, s->pos, o->len);
    return true;
}

/* read([pos]) -> bytes; where the engine draws, read([count]) -> bytes of all */
static int call(lua_State *L)
{
    const struct prepared *o = self(L);
    struct lloop *p = o->loop;
    uint64_t pos;
    uint32_t i;

    if (__builtin_expect(!o->file->file || !o->buf->buf, 0))
        check_open(L, o);
    if (__builtin_expect(o->draw && lua_gettop(L) == 0, 1)) {
        pos = ldraw_next(o->draw);
        lua_pushinteger(L, (lua_Integer)pos);   /* for a message */
    } else if (o->draw) {
        return many(L, o, (uint32_t)bind_checkrange(L, 1, 1, COUNT_MAX), 0);
    } else {
        pos = named(L, o);
    }
    i = lquick_fiber(L, p);
    if (__builtin_expect(!i, 0))
        return plain(L, o, pos, o->writes ? &WRITE : &READ);
    return lquick_go(L, p, i, o->file->file, o->buf->buf, o->writes, pos, o->len, 0,
                     came_back);
}

/* Every transfer must fit the block size of direct I/O, and lie in what a position can be. */
static void check_fit(lua_State *L, const struct file *f, const struct buf *b,
                      const struct ldraw *d)
{
    uint64_t mask = f->block_size - 1;
    uint64_t last = d ? d->first + (d->count - 1) * d->step : 0;

    luaL_argcheck(L, b->len <= IO_LEN_MAX, 2, "the buffer holds more than one request moves");
    luaL_argcheck(L, last <= INT64_MAX - b->len, 3, "positions are too high for this buffer");
    if ((b->len | (d ? d->first | d->step : 0)) & mask)
        luaL_argerror(L, b->len & mask ? 2 : 3, lua_pushfstring(L, "%s no multiple of %d, the "
                      "block size of direct I/O on %s", b->len & mask ? "the buffer's size is"
                      : "positions are", (int)f->block_size, f->path));
}

static int prepare(lua_State *L, bool writes)
{
    struct file *f = lfile_check(L, 1);
    struct buf *b = lbuf_check(L, 2);
    struct ldraw *d = lua_isnoneornil(L, 3) ? NULL : ldraw_check(L, 3);
    struct lloop *p = lua_touserdata(L, lua_upvalueindex(1));
    struct prepared *o;

    check_fit(L, f, b, d);
    lua_settop(L, 3);                           /* file buf draw */
    lua_pushlightuserdata(L, p);
    o = lua_newuserdatauv(L, sizeof *o, 0);     /* file buf draw loop self */
    *o = (struct prepared){ p, lua_touserdata(L, 1), lua_touserdata(L, 2), d,
                            (uint32_t)b->len, writes };
    lua_rotate(L, 1, 2);                        /* loop self file buf draw */
    lua_pushcclosure(L, call, UP_DRAW);
    return 1;
}

/* f:reader(buf [, draw]) -> function read([pos]) -> bytes; raises on failure */
static int lprepared_reader(lua_State *L)
{
    return prepare(L, false);
}

/* f:writer(buf [, draw]) -> function write([pos]) -> bytes; raises on failure */
static int lprepared_writer(lua_State *L)
{
    return prepare(L, true);
}

static const luaL_Reg methods[] = {
    { "reader", lprepared_reader },
    { "writer", lprepared_writer },
    { NULL, NULL },
};

void lopen_prepared(lua_State *L, struct lloop *p)
{
    lopen_methods(L, p, "iolua.file", methods);
}
