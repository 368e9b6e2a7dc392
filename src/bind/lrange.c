/*
 * lrange - ranges of files: sync_range, allocate, advise; and splice.
 */
#include <fcntl.h>
#include <linux/falloc.h>
#include <string.h>

#include "bind/lend.h"
#include "bind/lio.h"
#include "bind/lopen.h"

struct word {
    const char *name;
    unsigned value;
};

static struct lloop *loop_of(lua_State *L)
{
    return lua_touserdata(L, lua_upvalueindex(1));
}

/* The value of the word at arg (nil: the first), or an argument error that names all. */
static unsigned word_at(lua_State *L, int arg, const struct word *words)
{
    const char *text = lua_isnoneornil(L, arg) ? words->name : luaL_checkstring(L, arg);
    luaL_Buffer b;

    for (const struct word *w = words; w->name; w++)
        if (strcmp(w->name, text) == 0)
            return w->value;
    luaL_buffinit(L, &b);
    for (const struct word *w = words; w->name; w++) {
        luaL_addstring(&b, w == words ? "one of " : ", ");
        luaL_addstring(&b, w->name);
    }
    luaL_addstring(&b, " is expected");
    luaL_pushresult(&b);
    return (unsigned)luaL_argerror(L, arg, lua_tostring(L, -1));
}

/* pos at 2 and bytes at 3, as the range of q. */
static void range_at(lua_State *L, struct io_req *q, lua_Integer most)
{
    lua_Integer bytes = bind_checkrange(L, 3, 1, most);

    q->pos = (uint64_t)bind_checkrange(L, 2, 0, INT64_MAX - bytes);
    q->len = (uint32_t)bytes;
    q->addr2 = (uint64_t)bytes;
}

static const struct word syncs[] = {
    { "wait", SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER },
    { "start", SYNC_FILE_RANGE_WRITE },
    { NULL, 0 },
};

static const struct word allocations[] = {
    { "extend", 0 },
    { "keep_size", FALLOC_FL_KEEP_SIZE },
    { "punch_hole", FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE },
    { "zero", FALLOC_FL_ZERO_RANGE },
    { "collapse", FALLOC_FL_COLLAPSE_RANGE },
    { "insert", FALLOC_FL_INSERT_RANGE },
    { NULL, 0 },
};

static const struct word advices[] = {
    { "normal", POSIX_FADV_NORMAL },
    { "sequential", POSIX_FADV_SEQUENTIAL },
    { "random", POSIX_FADV_RANDOM },
    { "willneed", POSIX_FADV_WILLNEED },
    { "dontneed", POSIX_FADV_DONTNEED },
    { "noreuse", POSIX_FADV_NOREUSE },
    { NULL, 0 },
};

static const struct lwait SYNC = { "sync_range", lio_done }, ALLOCATE = { "allocate", lio_done },
                          ADVISE = { "advise", lio_done };

/* f:sync_range(pos, bytes [, "wait" | "start"]) -> true | nil, message, errno */
static int lrange_sync_range(lua_State *L)
{
    struct io_req q = { .kind = IO_SYNC_RANGE };
    struct file *f = lfile_check(L, 1);

    range_at(L, &q, IO_LEN_MAX);
    q.flags = word_at(L, 4, syncs);
    return lio_request(L, f, q, &SYNC);
}

/* f:allocate(pos, bytes [, how]) -> true | nil, message, errno: how is "extend", "keep_size",
 * "punch_hole", "zero", "collapse" or "insert" */
static int lrange_allocate(lua_State *L)
{
    struct io_req q = { .kind = IO_FALLOCATE };
    struct file *f = lfile_check(L, 1);

    range_at(L, &q, INT64_MAX);
    q.flags = word_at(L, 4, allocations);
    q.len = 0;
    if (!f->writable)
        return lio_fail_at(L, "allocate", -EBADF, 0);
    return lio_request(L, f, q, &ALLOCATE);
}

/* f:advise(pos, bytes, what) -> true | nil, message, errno: what is "normal", "sequential",
 * "random", "willneed", "dontneed" or "noreuse" */
static int lrange_advise(lua_State *L)
{
    struct io_req q = { .kind = IO_FADVISE };
    struct file *f = lfile_check(L, 1);

    range_at(L, &q, IO_LEN_MAX);
    q.flags = word_at(L, 4, advices);
    return lio_request(L, f, q, &ADVISE);
}

static int spliced(lua_State *L, const struct lwait *w, int res)
{
    return res >= 0 ? 1 : lio_fail_at(L, w->name, res, 0);
}

static const struct lwait SPLICE = { "splice", spliced };

static uint64_t splice_pos(lua_State *L, int arg)
{
    return lua_isnil(L, arg) ? UINT64_MAX : (uint64_t)bind_checkrange(L, arg, 0, INT64_MAX);
}

/* fs.splice(from, from_pos, to, to_pos, bytes) -> bytes | nil, message, errno: without copying
 * them to the process. One of the two is a pipe; a pipe's position is nil. */
static int lrange_splice(lua_State *L)
{
    struct file *from = lfile_check(L, 1), *to = lfile_check(L, 3);
    struct lloop *p = loop_of(L);
    uint64_t in = splice_pos(L, 2), out = splice_pos(L, 4);
    lua_Integer bytes = bind_checkrange(L, 5, 1, IO_LEN_MAX);
    struct lwait_req r = { .file = from };
    uint32_t fiber;

    if (!to->writable)
        return lio_fail_at(L, "splice", -EBADF, 0);
    fiber = lwait_check(L, p, SPLICE.name);
    r.memory = lend_new(0, 0);
    if (!r.memory)
        return lio_fail_at(L, "splice", -ENOMEM, 0);
    lend_file(to);
    r.memory->file = to;
    r.q = (struct io_req){ .kind = IO_SPLICE, .fd = to->fd, .pos = out, .addr2 = in,
                           .fd2 = from->fd, .len = (uint32_t)bytes };
    return lwait_go(L, p, fiber, &r, -1, &SPLICE);
}

static const luaL_Reg methods[] = {
    { "sync_range", lrange_sync_range },
    { "allocate", lrange_allocate },
    { "advise", lrange_advise },
    { NULL, NULL },
};

static const luaL_Reg functions[] = {
    { "splice", lrange_splice },
    { NULL, NULL },
};

void lopen_range(lua_State *L, struct lloop *p)
{
    lopen_methods(L, p, "iolua.file", methods);
    lopen_functions(L, p, functions);
}
