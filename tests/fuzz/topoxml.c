/* The guard before hwloc: any text is taken or refused with a reason. */
#include <stdint.h>
#include <stdlib.h>

#include "core/topoxml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char message[256] = "";

    if (topoxml_check((const char *)data, n, message, sizeof message) < 0 && !message[0])
        abort();
    return 0;
}
