/* Synthetic machines: how many CPUs a description asks for, never more than the bound. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/cpuset.h"
#include "core/synthetic.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *text = malloc(n + 1);

    if (!text)
        return 0;
    memcpy(text, data, n);
    text[n] = 0;
    if (synthetic_cpus(text) > CPUSET_CPUS + 1ul)
        abort();
    free(text);
    return 0;
}
