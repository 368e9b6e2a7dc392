/*
 * later - operations that start at a moment of their own, the earliest first.
 */
#ifndef IOLUA_CORE_LATER_H
#define IOLUA_CORE_LATER_H

#include "core/job.h"

struct later_op {
    uint64_t at;                /* engine's clock, ns */
    uint64_t order;             /* ties start in the order in which they came */
    struct job_op op;
};

struct later {
    struct later_op *heap;
    unsigned count;
    uint64_t came;
};

/* heap has room for one more. */
void later_push(struct later *l, uint64_t at, const struct job_op *op);

/* The earliest goes; count is 1 or more. */
struct job_op later_pop(struct later *l);

#endif
