/*
 * lfiberrun - how a fiber begins, goes on and ends.
 */
#include "bind/bind.h"
#include "bind/lfiber.h"

void lfiber_push_held(lua_State *L, struct lloop *p, const void *f)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, p);       /* held */
    lua_rawgetp(L, -1, f);
    lua_remove(L, -2);
}

static void let_go(lua_State *L, struct lloop *p, const void *f)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, p);
    lua_pushnil(L);
    lua_rawsetp(L, -2, f);
    lua_pop(L, 1);
}

/* Message handler in a fiber: keeps its traceback, changes nothing. */
static int trace(lua_State *L)
{
    struct lloop *p = lloop_of(L);
    uint32_t i = lloop_fiber(p, L);

    if (i && lloop_slot(p, i)->fiber) {
        lfiber_push_held(L, p, lloop_slot(p, i)->fiber);
        luaL_traceback(L, L, NULL, 1);
        lua_setiuservalue(L, -2, LFIBER_TRACEBACK);
        lua_pop(L, 1);
    }
    return 1;
}

/* The function of the fiber returned or raised. All its closers have run, and could wait. */
static int body_end(lua_State *L, int status, lua_KContext context)
{
    struct lloop *p = lloop_of(L);
    uint32_t i = lloop_fiber(p, L);
    struct lfiber *f = lloop_slot(p, i)->fiber;

    (void)context;
    if (status == LUA_OK || status == LUA_YIELD)
        return lua_gettop(L) - 1;               /* trace results... */
    if (f)
        f->state = f->raised_cancel ? LFIBER_CANCELLED : LFIBER_FAILED;
    return 1;
}

/* body(fn, ...): runs in the fiber's coroutine. */
static int body(lua_State *L)
{
    struct lloop *p = lloop_of(L);
    uint32_t i = lloop_fiber(p, L);

    if (lloop_slot(p, i)->raise) {              /* cancelled before it began */
        lua_settop(L, 0);
        lua_pushliteral(L, "cancelled");
        lloop_slot(p, i)->fiber->raised_cancel = true;
        return body_end(L, LUA_ERRRUN, 0);
    }
    lua_pushcfunction(L, trace);
    lua_insert(L, 1);                           /* trace fn ... */
    return body_end(L, lua_pcallk(L, lua_gettop(L) - 2, LUA_MULTRET, 1, 0, body_end), 0);
}

struct lfiber *lfiber_new(lua_State *L, struct lloop *p, int nargs)
{
    int fn = lua_gettop(L) - nargs;
    struct lfiber *f = lua_newuserdatauv(L, sizeof *f, 2);      /* fn ... f */
    uint32_t i;

    if (p->closed)
        luaL_error(L, "spawn: the state is being closed");
    *f = (struct lfiber){ .state = LFIBER_CANCELLED };
    luaL_setmetatable(L, LFIBER_CLASS);
    f->base = lua_newthread(L);                                 /* fn ... f co */
    lua_setiuservalue(L, -2, LFIBER_COROUTINE);
    if (!lua_checkstack(f->base, nargs + 2))
        luaL_error(L, "too many arguments");
    lua_insert(L, fn);                                          /* f fn ... */
    lua_pushcfunction(f->base, body);
    lua_xmove(L, f->base, nargs + 1);                           /* f */
    lua_rawgetp(L, LUA_REGISTRYINDEX, p);
    lua_pushvalue(L, -2);
    lua_rawsetp(L, -2, f);
    lua_pop(L, 1);
    i = lslot_new(&p->slots);
    if (!i) {
        let_go(L, p, f);
        luaL_error(L, "not enough memory");
    }
    *(uintptr_t *)lua_getextraspace(f->base) = i;
    f->slot = i;
    f->state = LFIBER_ALIVE;
    lloop_slot(p, i)->co = lloop_slot(p, i)->base = f->base;
    lloop_slot(p, i)->fiber = f;
    lloop_slot(p, i)->fresh = true;
    p->fibers++;
    lloop_wake(p, i, 0);
    return f;
}

/* The coroutine of slot i has ended with n values on its stack. */
static void ended(lua_State *L, struct lloop *p, uint32_t i, int status, int n)
{
    struct slot *s = lloop_slot(p, i);
    struct lfiber *f = s->fiber;

    if (status != LUA_OK) {             /* outside the function's own pcall: no memory */
        f->state = LFIBER_FAILED;
        n = 1;
    }
    if (f->state == LFIBER_ALIVE)
        f->state = LFIBER_DONE;
    f->results = n;
    f->top = lua_gettop(f->base);
    *(uintptr_t *)lua_getextraspace(f->base) = LLOOP_ENDED;
    p->fibers--;
    while (f->joiners.head)
        lloop_wake(p, f->joiners.head, 0);
    if (p->main == i) {
        p->main = 0;
    } else if (f->state == LFIBER_FAILED) {
        s->state = SLOT_FAILED;
        s->co = s->base = NULL;
        p->failed++;
        return;
    }
    lslot_free(&p->slots, i);
    let_go(L, p, f);
}

/* A yield of the script's own, with nobody to take what it gave: others go first. */
static void passed(struct lloop *p, uint32_t i, int n)
{
    lua_pop(lloop_slot(p, i)->base, n);
    lloop_wake(p, i, 0);
}

void lfiber_start(lua_State *L, struct lloop *p, uint32_t i)
{
    struct slot *s = lloop_slot(p, i);
    lua_State *base = s->base;
    int n, status;

    s->fresh = false;
    status = lhost_resume(p->host, base, L, lua_gettop(base) - 1, &n);
    lfiber_stopped(L, p, i, status, n);
}

void lfiber_stopped(lua_State *L, struct lloop *p, uint32_t i, int status, int n)
{
    if (status != LUA_YIELD)
        ended(L, p, i, status, n);
    else if (lloop_slot(p, i)->state == SLOT_RUNNING && !p->leaving)
        passed(p, i, n);
}

void lfiber_move(struct lloop *p, uint32_t from, uint32_t to)
{
    struct slot *s = lloop_slot(p, from), *t = lloop_slot(p, to);

    t->co = s->co;
    t->base = s->base;
    t->fiber = s->fiber;
    t->raise = s->raise;
    t->fresh = s->fresh;
    s->co = s->base = NULL;
    s->fiber = NULL;
    s->raise = RAISE_NOTHING;
    *(uintptr_t *)lua_getextraspace(t->co) = to;
    t->fiber->slot = to;
    if (p->main == from)
        p->main = to;
}

/* Append the traceback of f (at index `at`) to the text on top of L. */
static void add_traceback(lua_State *L, int at)
{
    if (lua_getiuservalue(L, at, LFIBER_TRACEBACK) == LUA_TSTRING) {
        lua_pushliteral(L, "\n");
        lua_insert(L, -2);
        lua_concat(L, 3);
    } else {
        lua_pop(L, 1);
    }
}

/* If the error on top of L is that of a joined fiber, add where it happened there. */
static void add_origin(lua_State *L, struct lloop *p, const struct lfiber *f)
{
    struct lfiber *origin;
    bool same;

    lfiber_push_held(L, p, &p->failed);                /* the one joined last */
    origin = lua_touserdata(L, -1);
    if (origin && origin != f) {
        lua_pushvalue(origin->base, -1);
        lua_xmove(origin->base, L, 1);          /* text origin its-error */
        lua_pushvalue(f->base, -1);
        lua_xmove(f->base, L, 1);
        same = lua_rawequal(L, -1, -2);
        lua_pop(L, 2);
        if (same) {
            lua_insert(L, -2);                  /* origin text */
            lua_pushliteral(L, "\nin a fiber:");
            lua_concat(L, 2);
            add_traceback(L, lua_gettop(L) - 1);
            lua_remove(L, -2);
            return;
        }
    }
    lua_pop(L, 1);
}

void lfiber_push_error(lua_State *L, struct lloop *p, int at)
{
    struct lfiber *f = lua_touserdata(L, at);

    luaL_checkstack(L, 8, NULL);
    if (!lua_checkstack(f->base, 2))
        luaL_error(L, "not enough memory");
    lua_pushvalue(f->base, -1);
    lua_xmove(f->base, L, 1);                   /* error */
    if (lua_type(L, -1) == LUA_TSTRING) {
        add_traceback(L, at);
        add_origin(L, p, f);
    }
}

/* A fiber that failed and was not joined, or NULL. */
static struct lfiber *unseen(struct lloop *p)
{
    if (p->failed)
        for (uint32_t i = 1; i < p->slots.used; i++)
            if (lloop_slot(p, i)->state == SLOT_FAILED)
                return lloop_slot(p, i)->fiber;
    return NULL;
}

bool lfiber_push_unseen(lua_State *L, struct lloop *p)
{
    struct lfiber *f = unseen(p);

    if (!f)
        return false;
    lfiber_push_held(L, p, f);
    lfiber_push_error(L, p, lua_gettop(L));
    lua_remove(L, -2);
    lfiber_seen(L, p, f);
    return true;
}

void lfiber_seen(lua_State *L, struct lloop *p, struct lfiber *f)
{
    struct slot *s = lloop_slot(p, f->slot);

    if (s->state != SLOT_FAILED || s->fiber != f)
        return;
    p->failed--;
    lslot_free(&p->slots, f->slot);
    let_go(L, p, f);
}
