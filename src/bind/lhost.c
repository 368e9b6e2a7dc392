#include "bind/bind.h"
#include "bind/lhost.h"
#include "bind/lmain.h"

static const char KEY;          /* its address is the key of the host in the registry */

void lhost_set(lua_State *L, struct lhost *h)
{
    h->running = L;
    lua_pushlightuserdata(L, h);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &KEY);
}

struct lhost *lhost_of(lua_State *L)
{
    struct lhost *h;

    lua_rawgetp(L, LUA_REGISTRYINDEX, &KEY);
    h = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return h;
}

const char *lhost_word(int sig)
{
    return sig == SIGTERM ? "terminated" : sig == SIGHUP ? "hung up"
         : sig == SIGPIPE ? "nobody reads the output any more" : "interrupted";
}

int lhost_raise(lua_State *L, struct lhost *h)
{
    h->raised = 1;
    return luaL_error(L, "%s", lhost_word(h->signal));
}

static void hook(lua_State *L, lua_Debug *ar)
{
    struct lhost *h = lhost_of(L);

    lua_sethook(L, NULL, 0, 0);
    if (h && h->signal && !h->raised)
        lhost_raise(L, h);
    if (!h || !h->leave)
        return;
    if (ar->event != LUA_HOOKCOUNT) {   /* only there a hook may yield */
        lhost_leave(h, L);
    } else if (lmain_leave(L) == 0 && h->leave && lua_isyieldable(L)) {
        lua_yield(L, 0);                /* a coroutine of the script: whoever resumed it leaves */
    }
}

void lhost_leave(struct lhost *h, lua_State *L)
{
    h->leave = true;
    lua_sethook(L, hook, LUA_MASKCOUNT, 1);
}

/* Only lua_sethook is called: it is the one function that is safe in a handler. */
void lhost_rearm(struct lhost *h, lua_State *L)
{
    (void)h;
    lua_sethook(L, hook, LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT, 1);
}

void lhost_signal(struct lhost *h, int sig)
{
    h->signal = sig;
    if (h->running)
        lhost_rearm(h, h->running);
}
