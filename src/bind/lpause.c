/*
 * lpause - waiting for a time, for a descriptor, or in a queue (class "iolua.queue").
 */
#include <poll.h>

#include "bind/lopen.h"
#include "bind/lwait.h"

#define QUEUE "iolua.queue"

struct lqueue {
    struct slot_list list;
};

static struct lloop *loop_of(lua_State *L)
{
    return lua_touserdata(L, lua_upvalueindex(1));
}

static lua_Integer timeout_at(lua_State *L, int arg)
{
    return bind_optrange(L, arg, 0, INT64_MAX / 2, -1);
}

static int slept(lua_State *L, const struct lwait *w, int res)
{
    (void)L, (void)w, (void)res;
    return 0;
}

static const struct lwait SLEEP = { "sleep", slept };

/* fiber.sleep(ns): others run meanwhile; 0 lets those go first that are ready */
static int lpause_sleep(lua_State *L)
{
    lua_Integer ns = bind_checkrange(L, 1, 0, INT64_MAX / 2);

    return lwait_list(L, loop_of(L), NULL, ns, &SLEEP);
}

static int readable(lua_State *L, const struct lwait *w, int res)
{
    if (res == -ETIME)
        lua_pushboolean(L, 0);
    else if (res < 0 || res & POLLNVAL)
        return lwait_fail(L, w, res < 0 ? res : -EBADF);
    else
        lua_pushboolean(L, 1);
    return 1;
}

static const struct lwait READABLE = { "wait_readable", readable };

/* fiber.wait_readable(fd [, timeout_ns]) -> true | false after the time | nil, message, errno */
static int lpause_wait_readable(lua_State *L)
{
    lua_Integer fd = bind_checkrange(L, 1, 0, INT32_MAX), timeout = timeout_at(L, 2);
    struct lwait_req r = { .q = { .kind = IO_POLL, .fd = (int)fd, .flags = POLLIN } };

    return lwait_request_for(L, loop_of(L), &r, timeout, &READABLE);
}

/* fiber.queue() -> queue */
static int lpause_queue(lua_State *L)
{
    struct lqueue *q = lua_newuserdatauv(L, sizeof *q, 0);

    q->list = (struct slot_list){ 0, 0 };
    luaL_setmetatable(L, QUEUE);
    return 1;
}

static int woken(lua_State *L, const struct lwait *w, int res)
{
    (void)w;
    lua_pushboolean(L, res >= 0);
    return 1;
}

static const struct lwait WAIT = { "wait", woken };

/* q:wait([timeout_ns]) -> true when woken, false after the time */
static int lqueue_wait(lua_State *L)
{
    struct lqueue *q = luaL_checkudata(L, 1, QUEUE);

    return lwait_list(L, loop_of(L), &q->list, timeout_at(L, 2), &WAIT);
}

/* q:wake([n]) -> number woken: the first n that wait (default 1) */
static int lqueue_wake(lua_State *L)
{
    struct lqueue *q = luaL_checkudata(L, 1, QUEUE);
    lua_Integer n = bind_optrange(L, 2, 0, INT64_MAX, 1), woke = 0;

    while (woke < n && q->list.head) {
        lloop_wake(loop_of(L), q->list.head, 0);
        woke++;
    }
    lua_pushinteger(L, woke);
    return 1;
}

static const luaL_Reg queue_methods[] = {
    { "wait", lqueue_wait },
    { "wake", lqueue_wake },
    { NULL, NULL },
};

static const luaL_Reg none[] = {
    { NULL, NULL },
};

/* fiber.engine([kind]) -> "io_uring" | "threads", why there is no io_uring */
static int lpause_engine(lua_State *L)
{
    struct lloop *p = loop_of(L);
    unsigned kind = (unsigned)bind_optrange(L, 1, 0, 255, IO_READ);

    lua_pushstring(L, lloop_engine(p, kind));
    if (!p->why[0])
        return 1;
    lua_pushstring(L, p->why);
    return 2;
}

/* fiber.use(name) -> true | nil, message, errno: before the first operation */
static int lpause_use(lua_State *L)
{
    struct lloop *p = loop_of(L);
    int err = lloop_use(p, luaL_checkstring(L, 1));

    luaL_argcheck(L, err != -EINVAL, 1, "engine is \"io_uring\" or \"threads\"");
    if (err == -EBUSY)
        return bind_failmsg(L, err, "use: the loop has its engine already");
    if (err < 0)
        return bind_failmsg(L, err, p->why);
    lua_pushboolean(L, 1);
    return 1;
}

static const luaL_Reg functions[] = {
    { "sleep", lpause_sleep },
    { "wait_readable", lpause_wait_readable },
    { "queue", lpause_queue },
    { "engine", lpause_engine },
    { "use", lpause_use },
    { NULL, NULL },
};

void lopen_pause(lua_State *L, struct lloop *p)
{
    lopen_class(L, p, QUEUE, queue_methods, none);
    lopen_functions(L, p, functions);
}
