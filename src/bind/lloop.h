/*
 * lloop - the loop of one Lua state: fibers wait in it, completions resume them.
 *
 * It is made with iolua.core and opens its engine at the first request: io_uring, or the
 * thread pool where io_uring is forbidden or absent. Kinds of request that the kernel's
 * io_uring lacks go to a thread pool beside the ring.
 *
 * A fiber is resumed straight from the completion. Nothing is allocated for an operation. One
 * thread, the one of the Lua state, uses all of it.
 */
#ifndef IOLUA_BIND_LLOOP_H
#define IOLUA_BIND_LLOOP_H

#include "bind/lhost.h"
#include "bind/lslot.h"
#include "core/buf.h"
#include "core/file.h"
#include "core/ring.h"
#include "core/threads.h"

#define LLOOP_ENTRIES 128u              /* requests queued; then they are submitted */
#define LLOOP_FLIGHT 1024u              /* requests with the ring; more wait for room */
#define LLOOP_POOL 256u                 /* requests with the thread pool */
#define LLOOP_FIXED 64u                 /* registered files */
#define LLOOP_FIXED_BUFS 1024u          /* registered buffers: a multiple of 64 */
#define LLOOP_FIX 16u                   /* uses of a file before it is registered */
#define LLOOP_GRACE_NS 1000000000ull    /* for a request that was cancelled to come back */

struct lloop_collector {        /* lcollect.c */
    bool own;                   /* the loop collects, not every allocation */
    bool stopped;               /* nobody does */
    bool in_cycle;
    uint64_t begin, last;       /* bytes at which a cycle begins; after the last step */
    uint64_t steps, cycles, total_ns, max_ns;
};

struct lloop {
    struct slots slots;
    struct slot_list ready;     /* what they waited for has come */
    struct slot_list room;      /* their request waits for room in the engine */
    struct ring *ring;          /* NULL: not opened yet, or not to be had */
    struct threads *pool;       /* NULL until it is needed */
    uint64_t fixed;             /* taken places of the registered files */
    uint64_t fixed_bufs[LLOOP_FIXED_BUFS / 64];     /* of the registered buffers */
    bool bufs_open;             /* the ring has a table of them */
    bool files_open;            /* the ring has a table of them */
    bool no_fixed;              /* files cannot be registered here */
    bool no_ring;               /* go on with the pool alone */
    bool pool_watched;          /* the ring polls the pool's descriptor */
    bool closed;                /* lua_close has begun: waits are plain calls */
    bool leaving;               /* os.exit: the run ends at once */
    bool quiet;                 /* in a finalizer or a closer at exit: nobody is resumed */
    bool caller_ready;          /* what a caller outside fibers waits for came this round */
    uint32_t round;
    uint32_t current;           /* the slot whose fiber was resumed last */
    lua_State *running;         /* the coroutine that may wait in it, while it runs after a wait
                                 * that gave a result and with nothing to raise; or NULL */
    unsigned credit;            /* quick requests before anything must be looked at again */
    uint32_t main;              /* the main fiber's slot, 0: none */
    uint32_t failed;            /* slots in the state FAILED */
    unsigned depth;             /* drives within drives */
    unsigned fibers;            /* that have not ended */
    struct lhost *host;         /* or NULL */
    struct lend_memory *kept;   /* of the request whose finish runs */
    struct hist *latency;       /* of reads and writes, or NULL */
    uint64_t now;               /* when this round took completions, ns */
    struct lloop_collector collector;
    char why[160];              /* why there is no ring */
};

/* In the extra space of a fiber that has ended. */
#define LLOOP_ENDED UINTPTR_MAX

/* What a function waits for, as the continuation needs it: static. */
struct lwait {
    const char *name;           /* "read": begins messages */
    /* Push the results for what came; its arguments are still on the stack from 1. */
    int (*finish)(lua_State *L, const struct lwait *w, int res);
};

/* The loop of this state; raises when iolua.core is not loaded. */
struct lloop *lloop_of(lua_State *L);

/* The fiber that runs in L, or 0: L is no fiber (or no coroutine that the loop made). */
static inline uint32_t lloop_fiber(const struct lloop *p, lua_State *L)
{
    uintptr_t i = *(uintptr_t *)lua_getextraspace(L);

    /* The extra space is copied into new coroutines, so it proves nothing by itself. A branch,
     * which is predicted, not a value that waits for the slot to be loaded. */
    if (__builtin_expect_with_probability(i < p->slots.used && p->slots.at[i].co == L, 1, 1.0))
        return (uint32_t)i;
    return 0;
}

static inline struct slot *lloop_slot(struct lloop *p, uint32_t i)
{
    return &p->slots.at[i];
}

/* Give i's request to the engine, or keep a copy until there is room. What it uses must have
 * been noted in the slot by then. 0 or -errno. Raises nothing. */
int lloop_request(struct lloop *p, uint32_t i, const struct io_req *q);

/* How many requests may take the short way of lquick.h now: in p->credit. */
unsigned lloop_credit(struct lloop *p);

/* Whatever i waits for, it is READY now with this result. */
void lloop_wake(struct lloop *p, uint32_t i, int res);

/* Make slot i stop waiting as soon as it can; what it raises has been noted. */
void lloop_give_up(struct lloop *p, uint32_t i);

/* Run until what the caller i outside fibers waits for has come. With p->quiet no fiber is
 * resumed meanwhile. */
void lloop_drive(lua_State *L, struct lloop *p, uint32_t i);

/* Run until the main fiber has ended or os.exit was called. */
void lloop_drive_main(lua_State *L, struct lloop *p);

/* One round: resume what is ready, then look for completions, waiting until `until` (ns; 0:
 * not at all). False when nothing is left that could wake anybody. */
bool lloop_round(lua_State *L, struct lloop *p, uint64_t until);

/* Which engine does this kind: "io_uring" or "threads". Opens it. */
const char *lloop_engine(struct lloop *p, unsigned kind);

/* Use this engine from now on; only before the first request. 0, -EBUSY, -EINVAL or why. */
int lloop_use(struct lloop *p, const char *name);

/* Register f with the ring if there is a place: it has been used LLOOP_FIX times. */
void lloop_fix(struct lloop *p, struct file *f);

/* b is being closed: its place is free again. */
void lloop_unfix_buf(lua_State *L, struct buf *b);

/* f is being closed: its place is free again. */
void lloop_unfix(lua_State *L, struct file *f);

/* The request of slot i is done, and left is not 0: give the next to the ring. False when that
 * cannot be done now: its fiber goes on. lprepared.c */
bool lprepared_next(struct lloop *p, uint32_t i, uint32_t moved);

/* One step of the collector, when the loop has it. lcollect.c */
void lcollect_step(lua_State *L, struct lloop *p);

/* lengine.c: what lloop.c needs of the engines. */
unsigned lengine_busy(const struct lloop *p);           /* requests that are out */
int lengine_submit(struct lloop *p, uint64_t wait_ns);  /* then wait for one */
unsigned lengine_ready(struct lloop *p);                /* completions that are there */
bool lengine_next(struct lloop *p, struct io_done *d);  /* take one */
int lengine_push(struct lloop *p, uint32_t i, const struct io_req *q);
void lengine_cancel(struct lloop *p, uint32_t i);
int lengine_close(struct lloop *p, uint64_t grace_ns);

#endif
