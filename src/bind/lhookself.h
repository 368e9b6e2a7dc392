/*
 * lhookself - what the files of a hook share: its state, and the stack of the worker's Lua.
 */
#ifndef IOLUA_BIND_LHOOKSELF_H
#define IOLUA_BIND_LHOOKSELF_H

#include <lua.h>

#include "core/array.h"
#include "core/job.h"
#include "core/rng.h"

#define ARRAYS_MAX 64

/* Stack of the worker's state while it works. */
enum { NEXT = 1, ON_COMPLETE, IO, READ, WRITE, FSYNC, FIXED = FSYNC };

struct lhook {
    lua_State *_Atomic state;   /* NULL until the worker has opened it */
    char *code, *path;          /* of travel.pack; package.path */
    size_t code_len;
    struct array *arrays[ARRAYS_MAX];
    unsigned array_count;
    bool next, complete;        /* which functions there are */
    unsigned worker, workers;   /* from 1 */
    bool may_write;
    unsigned read_percent;
    uint64_t offset, size, seed;        /* the region */
    uint32_t bs, bs_max;
    bool sided;                 /* all operations of the job are of one side */
    enum job_side side;
    uint64_t blocks;            /* of bs in the region */
    uint64_t last;              /* where a block of bs can begin at most */
    struct rng rng;
    struct job *job;
    unsigned wanted;
    bool takes_io;              /* `next` has a parameter */
};

/* Run in the worker's state with its fixed values and the hook. next ... fsync hook | Ask for as
 * many operations as are wanted. */
int lhook_choose(lua_State *L);

/* Push the table that `next` is given. */
void lhook_pushio(lua_State *L, struct lhook *h);

#endif
