/*
 * lcollect - Lua's collector run by the loop: between two rounds, a step at a time, each timed.
 *
 * Left to itself the collector works wherever something is allocated, and nobody can tell when.
 * In the mode "loop" it is stopped there; what fibers leave is collected here instead, where its
 * pauses are counted, and where they fall between operations and not within one.
 */
#include "bind/lopen.h"
#include "core/clock.h"

#define FLOOR  (256u << 10)     /* bytes that are no reason to begin a cycle */
#define STEP_KB 64              /* of a step, and twice what has come since the last */

static uint64_t used(lua_State *L)
{
    return ((uint64_t)lua_gc(L, LUA_GCCOUNT) << 10) + (uint64_t)lua_gc(L, LUA_GCCOUNTB);
}

/* A cycle begins when memory has doubled. */
static void await(lua_State *L, struct lloop_collector *c)
{
    c->last = used(L);
    c->begin = 2 * c->last > c->last + FLOOR ? 2 * c->last : c->last + FLOOR;
    c->in_cycle = false;
}

void lcollect_step(lua_State *L, struct lloop *p)
{
    struct lloop_collector *c = &p->collector;
    uint64_t now = used(L), from, ns;
    uint64_t grown = now > c->last ? now - c->last : 0;
    bool ended;

    if (c->stopped || (!c->in_cycle && now < c->begin))
        return;
    from = clock_now();
    ended = lua_gc(L, LUA_GCSTEP, (int)(STEP_KB + (grown >> 9 & 0xfffff)));
    ns = clock_now() - from;
    c->steps++;
    c->cycles += ended;
    c->total_ns += ns;
    c->max_ns = ns > c->max_ns ? ns : c->max_ns;
    c->last = used(L);
    c->in_cycle = true;
    if (ended)
        await(L, c);
}

/* fiber.collect("auto" | "loop" | "stop"): who collects from now on; counts begin at 0 */
static int lcollect_collect(lua_State *L)
{
    static const char *const modes[] = { "auto", "loop", "stop", NULL };
    struct lloop *p = lua_touserdata(L, lua_upvalueindex(1));
    int mode = luaL_checkoption(L, 1, NULL, modes);

    if (lua_gc(L, LUA_GCISRUNNING) < 0)         /* it would change nothing, and not say so */
        return luaL_error(L, "collector: a finalizer cannot change who collects");
    p->collector = (struct lloop_collector){ .own = mode != 0, .stopped = mode == 2 };
    lua_gc(L, mode ? LUA_GCSTOP : LUA_GCRESTART);
    await(L, &p->collector);
    return 0;
}

/* fiber.collections() -> steps, cycles, total_ns, max_ns: of the loop, since collect */
static int lcollect_collections(lua_State *L)
{
    const struct lloop *p = lua_touserdata(L, lua_upvalueindex(1));

    bind_pushu64(L, p->collector.steps);
    bind_pushu64(L, p->collector.cycles);
    bind_pushu64(L, p->collector.total_ns);
    bind_pushu64(L, p->collector.max_ns);
    return 4;
}

static const luaL_Reg functions[] = {
    { "collect", lcollect_collect },
    { "collections", lcollect_collections },
    { NULL, NULL },
};

void lopen_collect(lua_State *L, struct lloop *p)
{
    lopen_functions(L, p, functions);
}
