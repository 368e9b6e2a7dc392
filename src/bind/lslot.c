#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bind/lend.h"
#include "bind/lslot.h"

static int grow(struct slots *s)
{
    uint32_t count = s->count ? 2 * s->count : 64;
    struct slot *at;

    if (count > LSLOT_MAX)
        return -ENOMEM;
    at = aligned_alloc(SLOT_LINE, count * sizeof *at);
    if (!at)
        return -ENOMEM;
    if (s->at)
        memcpy(at, s->at, s->count * sizeof *at);
    free(s->at);
    memset(at + s->count, 0, (count - s->count) * sizeof *at);
    s->at = at;
    s->count = count;
    if (s->used == 0)
        s->used = 1;            /* index 0 is no slot */
    return 0;
}

uint32_t lslot_new(struct slots *s)
{
    uint32_t i = s->free;

    if (i) {
        s->free = s->at[i].next;
    } else {
        if (s->used == s->count && grow(s) < 0)
            return 0;
        i = s->used++;
    }
    memset(&s->at[i], 0, sizeof s->at[i]);
    s->at[i].state = SLOT_RUNNING;
    return i;
}

void lslot_free(struct slots *s, uint32_t i)
{
    lslot_unlink(s, i);
    lslot_clear_deadline(s, i);
    if (s->at[i].memory)
        lend_free(s->at[i].memory);
    s->at[i].memory = NULL;
    s->at[i].state = SLOT_FREE;
    s->at[i].co = s->at[i].base = NULL;
    s->at[i].fiber = NULL;
    s->at[i].next = s->free;
    s->free = i;
}

void lslot_close(struct slots *s)
{
    free(s->at);
    free(s->heap);
    memset(s, 0, sizeof *s);
}

void lslot_append(struct slots *s, struct slot_list *list, uint32_t i)
{
    struct slot *slot = &s->at[i];

    slot->list = list;
    slot->next = 0;
    slot->prev = list->tail;
    if (list->tail)
        s->at[list->tail].next = i;
    else
        list->head = i;
    list->tail = i;
}

void lslot_unlink(struct slots *s, uint32_t i)
{
    struct slot *slot = &s->at[i];
    struct slot_list *list = slot->list;

    if (!list)
        return;
    if (slot->prev)
        s->at[slot->prev].next = slot->next;
    else
        list->head = slot->next;
    if (slot->next)
        s->at[slot->next].prev = slot->prev;
    else
        list->tail = slot->prev;
    slot->list = NULL;
}

static void place(struct slots *s, uint32_t at, uint32_t i)
{
    s->heap[at] = i;
    s->at[i].heap = at;
}

static void sift_up(struct slots *s, uint32_t at, uint32_t i)
{
    while (at > 1 && s->at[s->heap[at / 2]].deadline > s->at[i].deadline) {
        place(s, at, s->heap[at / 2]);
        at /= 2;
    }
    place(s, at, i);
}

static void sift_down(struct slots *s, uint32_t at, uint32_t i)
{
    for (;;) {
        uint32_t child = 2 * at;

        if (child + 1 <= s->heap_len &&
            s->at[s->heap[child + 1]].deadline < s->at[s->heap[child]].deadline)
            child++;
        if (child > s->heap_len || s->at[s->heap[child]].deadline >= s->at[i].deadline)
            break;
        place(s, at, s->heap[child]);
        at = child;
    }
    place(s, at, i);
}

static int reserve(struct slots *s)
{
    uint32_t cap = s->heap_cap ? 2 * s->heap_cap : 64, *heap;

    if (s->heap_len + 1 < s->heap_cap)
        return 0;
    heap = realloc(s->heap, cap * sizeof *heap);
    if (!heap)
        return -ENOMEM;
    s->heap = heap;
    s->heap_cap = cap;
    return 0;
}

int lslot_set_deadline(struct slots *s, uint32_t i, uint64_t ns)
{
    lslot_clear_deadline(s, i);
    if (reserve(s) < 0)
        return -ENOMEM;
    s->at[i].deadline = ns;
    s->heap_len++;
    sift_up(s, s->heap_len, i);
    return 0;
}

void lslot_clear_deadline(struct slots *s, uint32_t i)
{
    uint32_t at = s->at[i].heap, last;

    if (!at)
        return;
    s->at[i].heap = 0;
    last = s->heap[s->heap_len--];
    if (last == i)
        return;
    if (at > 1 && s->at[s->heap[at / 2]].deadline > s->at[last].deadline)
        sift_up(s, at, last);
    else
        sift_down(s, at, last);
}
