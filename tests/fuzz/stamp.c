/* Data of any kind under the checker: no crash, and no damage found in what was just stamped. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/stamp.h"

#define LEN 4096u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* The first byte chooses what is known; the rest is laid over a stamped block. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static uint64_t mem[LEN / 8];
    struct stamp s = { 7, 8192, LEN, 3, 5 };
    uint32_t number = 3;
    struct stamp_known k = { 7, 5, 8192, 0, &number };
    struct stamp_damage d[8];
    uint64_t unwritten = 0;
    size_t at;

    if (n < 3)
        return 0;
    k.grain = data[0] & 1 ? LEN : 0;
    stamp_fill(mem, &s);
    if (stamp_check(d, 8, &unwritten, mem, 8192, LEN, &k) != 0)
        abort();
    at = (size_t)(data[1] << 8 | data[2]) % LEN;
    n = n - 3 < LEN - at ? n - 3 : LEN - at;
    unsigned same = memcmp((char *)mem + at, data + 3, n) == 0;

    memcpy((char *)mem + at, data + 3, n);
    if (stamp_check(d, 8, &unwritten, mem, 8192, LEN, &k) == 0 && !same && k.grain)
        abort();
    return 0;
}
