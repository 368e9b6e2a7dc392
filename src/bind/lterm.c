/*
 * lterm - is a stream a terminal, and how wide: for progress and tables.
 */
#include <sys/ioctl.h>
#include <unistd.h>

#include "bind/bind.h"
#include "bind/open.h"

/* term.columns(fd) -> characters a line (80 where it does not tell) | nil: not a terminal */
static int lterm_columns(lua_State *L)
{
    int fd = (int)bind_checkrange(L, 1, 0, 1 << 20);
    struct winsize w;

    if (!isatty(fd))
        return 0;
    lua_pushinteger(L, ioctl(fd, TIOCGWINSZ, &w) == 0 && w.ws_col > 0 ? w.ws_col : 80);
    return 1;
}

static const luaL_Reg functions[] = {
    { "columns", lterm_columns },
    { NULL, NULL },
};

int lterm_open(lua_State *L)
{
    luaL_newlib(L, functions);
    return 1;
}
