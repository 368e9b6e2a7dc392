/*
 * array - numbers in C memory that several threads share without copying.
 *
 * Elements are 64-bit integers or doubles, read and written whole (relaxed atomics): workers
 * see each other's values, in no particular order. Counted: the last reference frees.
 */
#ifndef IOLUA_CORE_ARRAY_H
#define IOLUA_CORE_ARRAY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define ARRAY_MAX (1ull << 40)          /* elements */

struct array {
    atomic_uint refs;
    bool doubles;
    uint64_t count;
    _Atomic uint64_t word[];            /* an int64_t, or a double's bits */
};

/* All 0. 0, -EINVAL for a count of 0 or over ARRAY_MAX, or -ENOMEM. */
int array_new(struct array **out, uint64_t count, bool doubles);
struct array *array_ref(struct array *a);
void array_unref(struct array *a);

/* i is below count; the array has that type. */
static inline int64_t array_integer(const struct array *a, uint64_t i)
{
    return (int64_t)atomic_load_explicit(&a->word[i], memory_order_relaxed);
}

static inline void array_set_integer(struct array *a, uint64_t i, int64_t v)
{
    atomic_store_explicit(&a->word[i], (uint64_t)v, memory_order_relaxed);
}

double array_double(const struct array *a, uint64_t i);
void array_set_double(struct array *a, uint64_t i, double v);

/* Add v to element i in one go: no other's addition is lost. Gives the new value. */
int64_t array_add_integer(struct array *a, uint64_t i, int64_t v);
double array_add_double(struct array *a, uint64_t i, double v);

#endif
