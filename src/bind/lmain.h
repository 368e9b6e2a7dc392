/*
 * lmain - for a program that owns the process: a chunk as the main fiber, and the end of a run.
 */
#ifndef IOLUA_BIND_LMAIN_H
#define IOLUA_BIND_LMAIN_H

#include <lua.h>
#include <stdbool.h>

enum lmain_end {
    LMAIN_DONE,                 /* its results are on top of L */
    LMAIN_FAILED,               /* the error is on top of L; a string has its traceback */
    LMAIN_LEFT,                 /* os.exit: L is as before */
};

/* Run the function below nargs arguments on top of L as the main fiber, and the loop with it,
 * until it has ended. Pops them. */
enum lmain_end lmain_call(lua_State *L, int nargs);

/* After the last chunk: let the other fibers come to their ends, as far as anything can still
 * wake them. FAILED: one failed that nobody joined. */
enum lmain_end lmain_rest(lua_State *L);

/* If a fiber failed that nobody has joined: push its error and return true. */
bool lmain_unseen(lua_State *L);

/* End all fibers: the main one's closers first, then the others' are cancelled. */
void lmain_stop(lua_State *L);

/* os.exit in L: when L is a fiber, yields for good and the run ends. Else returns 0, and the
 * caller raises; of a finalizer the run ends as soon as a fiber can be left. */
int lmain_leave(lua_State *L);

#endif
