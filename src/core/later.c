#include "core/later.h"

static bool before(const struct later_op *a, const struct later_op *b)
{
    return a->at != b->at ? a->at < b->at : a->order < b->order;
}

void later_push(struct later *l, uint64_t at, const struct job_op *op)
{
    struct later_op e = { at, l->came++, *op };
    unsigned i = l->count++;

    for (; i > 0 && before(&e, &l->heap[(i - 1) / 2]); i = (i - 1) / 2)
        l->heap[i] = l->heap[(i - 1) / 2];
    l->heap[i] = e;
}

struct job_op later_pop(struct later *l)
{
    struct later_op top = l->heap[0], last = l->heap[--l->count];
    unsigned i = 0, child;

    while ((child = 2 * i + 1) < l->count) {
        if (child + 1 < l->count && before(&l->heap[child + 1], &l->heap[child]))
            child++;
        if (!before(&l->heap[child], &last))
            break;
        l->heap[i] = l->heap[child];
        i = child;
    }
    l->heap[i] = last;
    return top.op;
}
