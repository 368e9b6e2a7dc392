/*
 * lrun - the marks that a run leaves for its exit status, as core.run.
 */
#ifndef IOLUA_BIND_LRUN_H
#define IOLUA_BIND_LRUN_H

#include <lua.h>
#include <stdbool.h>

struct lrun {
    bool errors;                /* measured, but I/O errors occurred: status 3 */
    bool unrestored;            /* something was not put back: status 4, outranks all */
};

/* The marks of this state so far. All false when iolua.core was never loaded. */
struct lrun lrun_marks(lua_State *L);

#endif
