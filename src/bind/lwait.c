/*
 * lwait - waiting in a fiber and outside one, and why it cannot be done here.
 */
#include <stdlib.h>
#include <string.h>

#include "bind/bind.h"
#include "bind/lend.h"
#include "bind/lfiber.h"
#include "bind/lwait.h"

int lwait_fail(lua_State *L, const struct lwait *w, int res)
{
    return bind_fail(L, res, w->name);
}

/* Raise `what` in the fiber self, or in a caller outside fibers (NULL). */
static int raise_what(lua_State *L, struct lloop *p, enum slot_raise what, struct lfiber *self)
{
    switch (what) {
    case RAISE_INTERRUPT:
        if (p->host && p->host->signal)
            return lhost_raise(L, p->host);
        return luaL_error(L, "interrupted");
    case RAISE_FAILED:
        if (lfiber_push_unseen(L, p))
            return lua_error(L);
        /* fall through */
    case RAISE_DEADLOCK:
        return luaL_error(L, "deadlock: nothing is left that could end this wait");
    case RAISE_CANCEL:
        if (self)
            self->raised_cancel = true;
        return luaL_error(L, "cancelled");
    case RAISE_NOTHING:
        break;
    }
    return luaL_error(L, "a fiber was resumed that waits for something else");
}

int lwait_raise(lua_State *L, struct lloop *p, uint32_t i)
{
    struct slot *s = lloop_slot(p, i);
    enum slot_raise what = s->raise;

    s->raise = RAISE_NOTHING;
    lwait_drop_result(s);
    lend_free(s->memory);
    s->memory = NULL;
    if (what == RAISE_CANCEL && s->from && s->res == 0 && s->from->head)
        lloop_wake(p, s->from->head, 0);        /* it was woken for something: the next takes it */
    s->from = NULL;
    return raise_what(L, p, what, s->fiber);
}

/* Runs when the loop resumes a fiber with what its wait gave. */
static int waited(lua_State *L, int status, lua_KContext context)
{
    const struct lwait *w = (const struct lwait *)context;
    struct lloop *p = lua_touserdata(L, lua_upvalueindex(1));
    uint32_t i = lloop_fiber(p, L);
    struct slot *s = lloop_slot(p, i);

    (void)status;
    if (__builtin_expect(s->raise | (s->state ^ SLOT_RUNNING), 0))
        return lwait_raise(L, p, i);
    s->opens = false;
    s->from = NULL;
    lwait_keep(p, s->memory);
    s->memory = NULL;
    return w->finish(L, w, (int)lua_tointeger(L, -1));
}

bool lwait_finalizes(lua_State *L)
{
    lua_Debug ar;

    for (int level = 0; lua_getstack(L, level, &ar); level++)
        if (lua_getinfo(L, "n", &ar) && ar.name && strcmp(ar.name, "__gc") == 0)
            return true;
    return false;
}

/* Push "table.sort" for the function on top of L, found in the loaded libraries; or nil. */
static void push_name(lua_State *L)
{
    int fn = lua_gettop(L);

    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    for (lua_pushnil(L); lua_next(L, fn + 1); lua_pop(L, 1)) {
        if (!lua_istable(L, -1) || lua_type(L, -2) != LUA_TSTRING)
            continue;
        for (lua_pushnil(L); lua_next(L, fn + 3); lua_pop(L, 1))
            if (lua_type(L, -2) == LUA_TSTRING && lua_rawequal(L, -1, fn)) {
                const char *lib = lua_tostring(L, fn + 2), *name = lua_tostring(L, -2);

                lua_pushfstring(L, strcmp(lib, "_G") ? "%s.%s" : "%s%s",
                                strcmp(lib, "_G") ? lib : "", name);
                return;
            }
    }
    lua_pushnil(L);
}

/* The C function above the caller is what L cannot be left from: name it. */
static int cannot_leave(lua_State *L, const char *name)
{
    lua_Debug ar;

    for (int level = 1; lua_getstack(L, level, &ar); level++) {
        lua_getinfo(L, "Snf", &ar);
        if (*ar.what == 'C' || (ar.namewhat && strcmp(ar.namewhat, "metamethod") == 0)) {
            const char *function;

            luaL_checkstack(L, 10, NULL);
            push_name(L);
            function = lua_tostring(L, -1);
            return luaL_error(L, "%s cannot wait inside %s, which cannot be left and "
                              "come back to", name, function ? function :
                              ar.name ? ar.name : "a C function");
        }
        lua_pop(L, 1);
    }
    return luaL_error(L, "%s cannot wait here: it is called from C", name);
}

/* L is not a fiber of this loop. */
static uint32_t check_outside(lua_State *L, struct lloop *p, const char *name)
{
    bool main_thread = lua_pushthread(L);

    lua_pop(L, 1);
    if (!main_thread && p->depth > 0 && !p->quiet && !lwait_finalizes(L))
        luaL_error(L, "%s cannot wait in a coroutine that the loop did not make (it would "
                   "yield to its consumer): make it by iolua.wrap", name);
    return 0;
}

uint32_t lwait_check(lua_State *L, struct lloop *p, const char *name)
{
    uint32_t i = lloop_fiber(p, L);

    if (__builtin_expect(p->closed, 0))
        return 0;
    if (__builtin_expect(!i, 0))
        return check_outside(L, p, name);
    if (__builtin_expect(!lua_isyieldable(L), 0)) {
        if (!p->quiet && !lwait_finalizes(L))
            cannot_leave(L, name);
        return 0;
    }
    if (__builtin_expect(p->host && p->host->signal && p->main, 0))
        lhost_raise(L, p->host);
    if (__builtin_expect(lloop_slot(p, i)->raise, 0))
        lwait_raise(L, p, i);
    return i;
}

/* Note what the request uses, and give it to the engine. */
static int start(struct lloop *p, uint32_t i, const struct lwait_req *r)
{
    lwait_note(lloop_slot(p, i), r);
    lloop_slot(p, i)->opens = r->q.kind == IO_OPENAT;
    return lloop_request(p, i, &r->q);
}

/* Drive the loop until the caller's slot i is ready, then go on as a fiber would. */
static int drive(lua_State *L, struct lloop *p, uint32_t i, const struct lwait *w)
{
    bool quiet = p->quiet;
    enum slot_raise what;
    struct slot *s;
    int res;

    p->quiet = quiet || p->depth > 0 || lwait_finalizes(L);
    lloop_drive(L, p, i);
    p->quiet = quiet;
    s = lloop_slot(p, i);
    res = s->res;
    what = s->raise;
    if (s->out) {
        s->state = SLOT_ORPHAN;
    } else {
        lwait_keep(p, s->memory);
        s->memory = NULL;
        lslot_free(&p->slots, i);
    }
    if (res == -ECANCELED && p->host && p->host->signal)
        what = RAISE_INTERRUPT;
    if (what != RAISE_NOTHING)
        return raise_what(L, p, what, NULL);    /* of its own request nothing came */
    lua_pushinteger(L, res);
    return w->finish(L, w, res);
}

/* The loop is closed (lua_close): a plain call, nothing else is left to run. */
static int at_once(lua_State *L, struct lloop *p, const struct lwait_req *r,
                   const struct lwait *w)
{
    int res = io_perform(&r->q);

    lwait_keep(p, r->memory);
    lua_pushinteger(L, res);
    return w->finish(L, w, res);
}

int lwait_go(lua_State *L, struct lloop *p, uint32_t fiber, const struct lwait_req *r,
             int64_t timeout_ns, const struct lwait *w)
{
    uint32_t i = fiber || p->closed ? fiber : lslot_new(&p->slots);
    int err = -ENOMEM;

    if (p->closed)
        return at_once(L, p, r, w);
    if (i)
        err = start(p, i, r);
    else
        lend_free(r->memory);
    if (err == 0 && timeout_ns >= 0)    /* without memory for it: no deadline */
        lslot_set_deadline(&p->slots, i, clock_now() + (uint64_t)timeout_ns);
    if (err == 0)
        return fiber ? lua_yieldk(L, 0, (lua_KContext)w, waited) : drive(L, p, i, w);
    if (i)
        lloop_slot(p, i)->state = SLOT_RUNNING;
    if (i && !fiber)
        lslot_free(&p->slots, i);
    lua_pushinteger(L, err);
    return w->finish(L, w, err);
}

int lwait_request_for(lua_State *L, struct lloop *p, const struct lwait_req *r,
                      int64_t timeout_ns, const struct lwait *w)
{
    return lwait_go(L, p, lwait_check(L, p, w->name), r, timeout_ns, w);
}

int lwait_request(lua_State *L, struct lloop *p, const struct lwait_req *r,
                  const struct lwait *w)
{
    return lwait_request_for(L, p, r, -1, w);
}

int lwait_list(lua_State *L, struct lloop *p, struct slot_list *list, int64_t timeout_ns,
               const struct lwait *w)
{
    uint32_t fiber, i;
    int err = 0;

    if (p->closed)
        return luaL_error(L, "%s: the state is being closed", w->name);
    fiber = lwait_check(L, p, w->name);
    i = fiber ? fiber : lslot_new(&p->slots);
    if (i && timeout_ns >= 0)
        err = lslot_set_deadline(&p->slots, i, clock_now() + (uint64_t)timeout_ns);
    if (!i || err < 0) {
        if (i && !fiber)
            lslot_free(&p->slots, i);
        return luaL_error(L, "not enough memory");
    }
    if (list)
        lslot_append(&p->slots, list, i);
    lloop_slot(p, i)->state = SLOT_WAITING;
    return fiber ? lua_yieldk(L, 0, (lua_KContext)w, waited) : drive(L, p, i, w);
}
