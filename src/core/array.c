#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"

int array_new(struct array **out, uint64_t count, bool doubles)
{
    struct array *a;

    if (count < 1 || count > ARRAY_MAX)
        return -EINVAL;
    a = calloc(1, sizeof *a + count * sizeof a->word[0]);
    if (!a)
        return -ENOMEM;
    atomic_init(&a->refs, 1);
    a->doubles = doubles;
    a->count = count;
    *out = a;
    return 0;
}

struct array *array_ref(struct array *a)
{
    atomic_fetch_add(&a->refs, 1);
    return a;
}

void array_unref(struct array *a)
{
    if (a && atomic_fetch_sub(&a->refs, 1) == 1)
        free(a);
}

static double as_double(uint64_t bits)
{
    double v;

    memcpy(&v, &bits, sizeof v);
    return v;
}

static uint64_t as_bits(double v)
{
    uint64_t bits;

    memcpy(&bits, &v, sizeof bits);
    return bits;
}

double array_double(const struct array *a, uint64_t i)
{
    return as_double(atomic_load_explicit(&a->word[i], memory_order_relaxed));
}

void array_set_double(struct array *a, uint64_t i, double v)
{
    atomic_store_explicit(&a->word[i], as_bits(v), memory_order_relaxed);
}

int64_t array_add_integer(struct array *a, uint64_t i, int64_t v)
{
    uint64_t old = atomic_fetch_add_explicit(&a->word[i], (uint64_t)v, memory_order_relaxed);

    return (int64_t)(old + (uint64_t)v);
}

double array_add_double(struct array *a, uint64_t i, double v)
{
    uint64_t old = atomic_load_explicit(&a->word[i], memory_order_relaxed), sum;

    do
        sum = as_bits(as_double(old) + v);
    while (!atomic_compare_exchange_weak_explicit(&a->word[i], &old, sum, memory_order_relaxed,
                                                  memory_order_relaxed));
    return as_double(sum);
}
