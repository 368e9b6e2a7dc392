/*
 * lmain - the main fiber, and how a run ends.
 */
#include "bind/bind.h"
#include "bind/lfiber.h"
#include "bind/lmain.h"
#include "bind/lwait.h"

#define STOP_GRACE_NS (2 * CLOCK_SECOND)        /* for cancelled fibers to run their closers */

/* Replace f on top of L by what its function returned. */
static void push_results(lua_State *L, struct lfiber *f)
{
    int n = f->results;

    luaL_checkstack(L, n + 1, "too many results");
    lua_xmove(f->base, L, n);
    lua_remove(L, -(n + 1));
}

enum lmain_end lmain_call(lua_State *L, int nargs)
{
    struct lloop *p = lloop_of(L);
    struct lfiber *f = lfiber_new(L, p, nargs);

    p->main = f->slot;
    lloop_drive_main(L, p);
    if (p->main || (f->state == LFIBER_DONE && p->host && p->host->leave)) {
        lua_pop(L, 1);          /* os.exit; the loop still holds it */
        return LMAIN_LEFT;
    }
    if (f->state == LFIBER_DONE) {
        push_results(L, f);
        return LMAIN_DONE;
    }
    lfiber_push_error(L, p, lua_gettop(L));
    lua_remove(L, -2);
    return LMAIN_FAILED;
}

enum lmain_end lmain_rest(lua_State *L)
{
    struct lloop *p = lloop_of(L);

    while (p->fibers && !p->leaving && !(p->host && (p->host->signal || p->host->leave)))
        if (!lloop_round(L, p, UINT64_MAX))
            break;
    if (p->leaving || (p->host && p->host->leave))
        return LMAIN_LEFT;
    return lfiber_push_unseen(L, p) ? LMAIN_FAILED : LMAIN_DONE;
}

bool lmain_unseen(lua_State *L)
{
    return lfiber_push_unseen(L, lloop_of(L));
}

/* Run the closers of the fiber of slot i now; waits in them block. */
static void unwind(lua_State *L, struct lloop *p, uint32_t i)
{
    struct slot *s = lloop_slot(p, i);
    lua_State *base = s->base;

    lloop_give_up(p, i);
    s->co = s->base = NULL;
    s->fiber->state = LFIBER_CANCELLED;
    s->fiber->results = 0;
    p->fibers--;
    lslot_unlink(&p->slots, i);
    lslot_clear_deadline(&p->slots, i);
    if (s->out)
        s->state = SLOT_ORPHAN;
    else
        lslot_free(&p->slots, i);
    if (lua_status(base) != LUA_OK) {
        if (p->host)
            p->host->running = base;
        lua_resetthread(base);
        if (p->host)
            p->host->running = L;
    }
}

static void cancel_all(struct lloop *p)
{
    for (uint32_t i = 1; i < p->slots.used; i++) {
        struct slot *s = lloop_slot(p, i);

        if (!s->co)
            continue;
        s->raise = RAISE_CANCEL;
        lloop_give_up(p, i);
    }
}

void lmain_stop(lua_State *L)
{
    struct lloop *p = lloop_of(L);
    uint64_t end = clock_now() + STOP_GRACE_NS;

    p->leaving = false;
    if (p->host)
        p->host->leave = false;
    p->quiet = true;
    if (p->main) {
        unwind(L, p, p->main);
        p->main = 0;
    }
    p->quiet = false;
    cancel_all(p);
    while (p->fibers && clock_now() < end && !p->leaving)
        if (!lloop_round(L, p, end))
            break;
    p->leaving = false;
    p->quiet = true;
    for (uint32_t i = 1; i < p->slots.used; i++)
        if (lloop_slot(p, i)->base)
            unwind(L, p, i);
}

int lmain_leave(lua_State *L)
{
    struct lloop *p = lloop_of(L);

    if (!lloop_fiber(p, L) || !lua_isyieldable(L)) {
        if (p->host && (p->host->leave || lwait_finalizes(L)))
            lhost_leave(p->host, L);
        return 0;
    }
    if (p->host)
        p->host->leave = false;
    p->leaving = true;
    return lua_yield(L, 0);
}
