/* mountinfo, which other programs fill with names of their choice. */
#include <stdint.h>
#include <stdio.h>

#include "core/mounts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct mounts m = { .root = "", .own = true };
    struct mount row;

    if (n == 0 || !(m.file = fmemopen((void *)data, n, "r")))
        return 0;
    while (mounts_next(&m, &row))
        continue;
    mounts_close(&m);
    return 0;
}
