#include <errno.h>

#include "core/mix.h"

int mix_init(struct mix *m, const uint32_t *shares, unsigned count)
{
    uint64_t sum = 0;

    if (count < 1 || count > MIX_MAX)
        return -EINVAL;
    for (unsigned i = 0; i < count; i++) {
        sum += shares[i];
        if (sum > MIX_WHOLE)
            return -EINVAL;
        m->below[i] = (uint32_t)sum;
    }
    m->count = count;
    return sum == MIX_WHOLE ? 0 : -EINVAL;
}
