/*
 * lslot - who waits for what: one slot a fiber, or a blocking caller outside a fiber.
 *
 * A slot is named by its index, which is also the tag of its request and what a fiber keeps in
 * its extra space; slots move when their array grows, so no pointer to one is kept across
 * anything that may make a slot. Index 0 is no slot.
 *
 * A slot whose request is out is never used for anything else (a completion names it), also
 * when its fiber has gone: then it is an orphan until the completion comes.
 */
#ifndef IOLUA_BIND_LSLOT_H
#define IOLUA_BIND_LSLOT_H

#include "core/io.h"

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LSLOT_MAX 0x7fffffffu
#define SLOT_LINE 64

enum slot_state {
    SLOT_FREE,
    SLOT_RUNNING,               /* its fiber runs, or has resumed one that does */
    SLOT_WAITING,               /* for a request, a list or a time */
    SLOT_READY,                 /* what it waited for has come: res */
    SLOT_ORPHAN,                /* given up; only its request is still out */
    SLOT_FAILED,                /* its fiber failed and nobody has joined it */
};

enum slot_raise {               /* to be raised where the fiber waits */
    RAISE_NOTHING,
    RAISE_CANCEL,               /* another fiber cancelled it */
    RAISE_INTERRUPT,            /* a signal asked to stop */
    RAISE_DEADLOCK,             /* nothing is left that could wake it */
    RAISE_FAILED,               /* a fiber failed that nobody joins */
};

/* Slots in the order they came. A slot is in one list at most. */
struct slot_list {
    uint32_t head, tail;
};

/* What a read or write touches comes first and fills one cache line. */
struct slot {
    _Alignas(SLOT_LINE)
    lua_State *co;              /* the coroutine that may wait now; NULL: not a fiber */
    lua_State *base;            /* the coroutine that the loop resumes */
    struct buf *buf;            /* lent to the request that is out */
    struct file *file;
    struct lend_memory *memory; /* of the request that is out, or was until now */
    uint64_t stamp;             /* the round in which its request was made, ns */
    int32_t res;                /* what came */
    uint32_t left;              /* quick: requests that follow without the fiber (lprepared.c) */
    uint8_t state, raise;
    bool out;                   /* a request is with the engine */
    bool pooled;                /* with the thread pool, not the ring */
    bool given_up;              /* the engine was asked to cancel it */
    bool late;                  /* its deadline passed while its request was out */
    bool writes;                /* the request that is out is a write, not a read */
    bool quick;                 /* it waits for its request and for nothing else (lquick.h) */
    struct slot_list *from;     /* it was woken in */
    struct slot_list *list;     /* it is in, or NULL */
    struct io_req *room;        /* a request that waits for room in the engine, malloced */
    struct lfiber *fiber;
    const struct prepared *many;        /* what follows, while left is not 0 */
    uint64_t moved, pos;        /* of many: bytes before this request, where this one is */
    uint64_t deadline;          /* ns, when it is in the heap */
    uint32_t heap;              /* its place in the heap from 1, 0: none */
    uint32_t next, prev;        /* in the list; next also of the free ones */
    uint32_t round;             /* of the loop in which it became ready */
    bool opens;                 /* its result is a descriptor that somebody must close */
    bool fresh;                 /* its fiber has not started */
};

_Static_assert(offsetof(struct slot, from) == SLOT_LINE, "the first line of a slot");
_Static_assert(sizeof(struct slot) % SLOT_LINE == 0, "whole lines");

struct slots {
    struct slot *at;
    uint32_t count, used;       /* allocated; 1 + the highest ever used */
    uint32_t free;              /* list of free ones */
    uint32_t *heap;             /* by deadline; heap[0] is unused */
    uint32_t heap_len, heap_cap;
};

/* A new slot in the state RUNNING, or 0 when there is no memory. */
uint32_t lslot_new(struct slots *s);

void lslot_free(struct slots *s, uint32_t i);

void lslot_close(struct slots *s);

void lslot_append(struct slots *s, struct slot_list *list, uint32_t i);

/* Take i out of the list that it is in, if any. */
void lslot_unlink(struct slots *s, uint32_t i);

/* Set i's deadline. 0 or -ENOMEM. */
int lslot_set_deadline(struct slots *s, uint32_t i, uint64_t ns);

void lslot_clear_deadline(struct slots *s, uint32_t i);

/* The slot whose deadline is first, or 0. */
static inline uint32_t lslot_first(const struct slots *s)
{
    return s->heap_len ? s->heap[1] : 0;
}

#endif
