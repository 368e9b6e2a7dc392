/*
 * lio - the methods of "iolua.file" that wait: f:read, f:write, f:fsync and their kind.
 *
 * read and write are the fast path of every script that is itself the load: all arguments are
 * checked, nothing is allocated, and classes are known by a mark instead of by name.
 */
#include "bind/lend.h"
#include "bind/lio.h"
#include "bind/lopen.h"
#include "bind/lquick.h"
#include "bind/lwait.h"

static struct lloop *loop_of(lua_State *L)
{
    return lua_touserdata(L, lua_upvalueindex(1));
}

int lio_fail_at(lua_State *L, const char *name, int res, int arg)
{
    struct lfile *ud = lua_touserdata(L, 1);
    const char *path = ud->file ? ud->file->path : "a closed file";

    luaL_pushfail(L);
    if (arg)
        lua_pushfstring(L, "%s %s at %I: %s", name, path, (LUAI_UACINT)lua_tointeger(L, arg),
                        bind_reason(res));
    else
        lua_pushfstring(L, "%s %s: %s", name, path, bind_reason(res));
    lua_pushinteger(L, -res);
    return 3;
}

/* The result is the integer on top of the stack. */
static int transferred(lua_State *L, const struct lwait *w, int res)
{
    return __builtin_expect(res >= 0, 1) ? 1 : lio_fail_at(L, w->name, res, 3);
}

static const struct lwait READ = { "read", transferred }, WRITE = { "write", transferred };

static int whole(lua_State *L, uint64_t pos, uint64_t len, const char *name, int kind);

/* A piece of a transfer that is longer than one request: 5 is what came before. */
static int piece(lua_State *L, const struct lwait *w, int res)
{
    lua_Integer before = lua_tointeger(L, 5), sum = before + (res > 0 ? res : 0);
    lua_Integer pos = lua_tointeger(L, 3), len = lua_tointeger(L, 4);

    if (res < 0 && before == 0)
        return lio_fail_at(L, w->name, res, 3);
    lua_settop(L, 4);
    lua_pushinteger(L, sum);
    if (res < (int)IO_LEN_MAX || sum == len)
        return 1;               /* also after an error: it comes again with the rest */
    return whole(L, (uint64_t)(pos + sum), (uint64_t)(len - sum), w->name,
                 *w->name == 'r' ? IO_READ : IO_WRITE);
}

static const struct lwait READ_PIECE = { "read", piece }, WRITE_PIECE = { "write", piece };

static int whole(lua_State *L, uint64_t pos, uint64_t len, const char *name, int kind)
{
    struct file *f = lfile_check(L, 1);
    struct buf *b = lbuf_check(L, 2);
    struct lwait_req r = {
        .q = { .kind = (uint8_t)kind, .fd = f->fd, .pos = pos,
               .addr = (uintptr_t)b->mem + (uint64_t)lua_tointeger(L, 5),
               .len = len < IO_LEN_MAX ? (uint32_t)len : IO_LEN_MAX },
        .file = f, .buf = b,
    };

    (void)name;
    return lwait_request(L, loop_of(L), &r, kind == IO_READ ? &READ_PIECE : &WRITE_PIECE);
}

/* Direct I/O moves whole blocks: say so before the kernel's "Invalid argument". */
static int misaligned(lua_State *L, const struct file *f, lua_Integer pos, lua_Integer len)
{
    bool at_pos = pos & (f->block_size - 1);

    return luaL_argerror(L, at_pos || lua_isnoneornil(L, 4) ? 3 : 4,
                         lua_pushfstring(L, "%s %I is not a multiple of %d, the block size of "
                         "direct I/O on %s", at_pos ? "position" : "length",
                         (LUAI_UACINT)(at_pos ? pos : len), (int)f->block_size, f->path));
}

/* The number at arg; what is no integer, or an integral float, goes the slow way. */
static inline lua_Integer integer_at(lua_State *L, int arg, lua_Integer lo, lua_Integer hi)
{
    lua_Integer v;

    if (__builtin_expect(lua_isinteger(L, arg), 1)) {
        v = lua_tointegerx(L, arg, NULL);
        if (__builtin_expect(v >= lo && v <= hi, 1))
            return v;
    }
    return bind_checkrange(L, arg, lo, hi);
}

/* It came back with an error, or something is to be raised. */
static __attribute__((noinline)) int failed(lua_State *L, struct lloop *p)
{
    uint32_t i = lloop_fiber(p, L);
    const struct slot *s = lloop_slot(p, i);

    if (s->raise || s->state != SLOT_RUNNING)
        return lwait_raise(L, p, i);
    return s->res >= 0 ? 1 : lio_fail_at(L, s->writes ? "write" : "read", s->res, 3);
}

/* A read or write came back; its result is on top of the stack: what the caller gets. */
static int came_back(lua_State *L, int status, lua_KContext context)
{
    struct lloop *p = (struct lloop *)context;

    (void)status;
    return lquick_done(p, L) ? 1 : failed(L, p);
}

/* A transfer that cannot take the short way, all checked. */
static __attribute__((noinline)) int plain(lua_State *L, struct lwait_req r, lua_Integer len,
                                           const struct lwait *w)
{
    if (len > (lua_Integer)IO_LEN_MAX) {
        lua_settop(L, 3);
        lua_pushinteger(L, len);
        lua_pushinteger(L, 0);
        return whole(L, r.q.pos, (uint64_t)len, w->name, r.q.kind);
    }
    return lwait_request(L, loop_of(L), &r, w);
}

/* The loop: quicker from the file than from the function. */
static inline struct lloop *loop_for(lua_State *L, struct lfile *file)
{
    if (__builtin_expect(file && file->loop, 1))
        return file->loop;
    if (file)
        file->loop = loop_of(L);
    return loop_of(L);
}

static inline int transfer(lua_State *L, int kind, const struct lwait *w)
{
    struct lfile *file = lquick_file(L, 1);
    struct lloop *p = loop_for(L, file);
    uint32_t i;
    const struct lbuf *buf = lquick_buf(L, 2);
    struct file *f = __builtin_expect(file && file->file, 1) ? file->file : lfile_check(L, 1);
    struct buf *b = __builtin_expect(buf && buf->buf, 1) ? buf->buf : lbuf_check(L, 2);
    lua_Integer len = (lua_Integer)b->len, pos;

    if (lua_gettop(L) > 3 && !lua_isnil(L, 4))
        len = integer_at(L, 4, 0, len);
    pos = integer_at(L, 3, 0, INT64_MAX - len);
    if (__builtin_expect((pos | len) & (f->block_size - 1), 0))
        return misaligned(L, f, pos, len);
    i = len <= (lua_Integer)IO_LEN_MAX ? lquick_fiber(L, p) : 0;
    if (__builtin_expect(i != 0, 1))
        return lquick_go(L, p, i, f, b, kind == IO_WRITE, (uint64_t)pos, (uint32_t)len,
                         0, came_back);
    return plain(L, (struct lwait_req){
        .q = { .kind = (uint8_t)kind, .fd = f->fd, .pos = (uint64_t)pos,
               .addr = (uintptr_t)b->mem, .len = (uint32_t)len }, .file = f, .buf = b },
        len, w);
}

/* f:read(buf, pos [, bytes]) -> bytes | nil, message, errno: fewer may come; 0 at the end */
static int lio_read(lua_State *L)
{
    return transfer(L, IO_READ, &READ);
}

/* f:write(buf, pos [, bytes]) -> bytes | nil, message, errno */
static int lio_write(lua_State *L)
{
    return transfer(L, IO_WRITE, &WRITE);
}

int lio_done(lua_State *L, const struct lwait *w, int res)
{
    if (res < 0)
        return lio_fail_at(L, w->name, res, 0);
    lua_pushboolean(L, 1);
    return 1;
}

static const struct lwait FSYNC = { "fsync", lio_done }, FDATASYNC = { "fdatasync", lio_done },
                          TRUNCATE = { "truncate", lio_done }, DISCARD = { "discard", lio_done };

int lio_request(lua_State *L, struct file *f, struct io_req q, const struct lwait *w)
{
    struct lwait_req r = { .q = q, .file = f };

    r.q.fd = f->fd;
    return lwait_request(L, loop_of(L), &r, w);
}

/* f:fsync() -> true | nil, message, errno */
static int lio_fsync(lua_State *L)
{
    return lio_request(L, lfile_check(L, 1), (struct io_req){ .kind = IO_FSYNC }, &FSYNC);
}

/* f:fdatasync() -> true | nil, message, errno */
static int lio_fdatasync(lua_State *L)
{
    return lio_request(L, lfile_check(L, 1),
                       (struct io_req){ .kind = IO_FSYNC, .flags = IO_DATASYNC }, &FDATASYNC);
}

/* f:truncate(bytes) -> true | nil, message, errno */
static int lio_truncate(lua_State *L)
{
    struct file *f = lfile_check(L, 1);
    lua_Integer n = bind_checkrange(L, 2, 0, INT64_MAX);

    return lio_request(L, f, (struct io_req){ .kind = IO_FTRUNCATE, .pos = (uint64_t)n },
                       &TRUNCATE);
}

/* f:discard(pos, bytes) -> true | nil, message, errno: a hole in a regular file */
static int lio_discard(lua_State *L)
{
    struct file *f = lfile_check(L, 1);
    lua_Integer n = bind_checkrange(L, 3, 1, INT64_MAX);
    lua_Integer pos = bind_checkrange(L, 2, 0, INT64_MAX - n);

    if (!f->writable)
        return lio_fail_at(L, "discard", -EBADF, 0);
    return lio_request(L, f, (struct io_req){ .kind = IO_DISCARD, .pos = (uint64_t)pos,
                                              .addr2 = (uint64_t)n }, &DISCARD);
}

static const luaL_Reg methods[] = {
    { "read", lio_read },
    { "write", lio_write },
    { "fsync", lio_fsync },
    { "fdatasync", lio_fdatasync },
    { "truncate", lio_truncate },
    { "discard", lio_discard },
    { NULL, NULL },
};

void lopen_io(lua_State *L, struct lloop *p)
{
    lopen_methods(L, p, "iolua.file", methods);
}
