/* Lists and masks of CPUs: what is taken is given back the same. */
#include <stdint.h>
#include <stdlib.h>

#include "core/cpuset.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static struct cpuset a, b;
    static char text[65536];
    char message[256];
    size_t len;

    cpuset_parse_mask(&b, (const char *)data, n, message, sizeof message);
    if (cpuset_parse(&a, (const char *)data, n, message, sizeof message) < 0)
        return 0;
    len = cpuset_format(text, sizeof text, &a);
    if (len >= sizeof text || cpuset_parse(&b, text, len, message, sizeof message) < 0 ||
        !cpuset_equal(&a, &b))
        abort();
    return 0;
}
