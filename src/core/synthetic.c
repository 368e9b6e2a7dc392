#include <stdlib.h>

#include "core/cpuset.h"
#include "core/synthetic.h"

/* Levels multiply; attributes "(...)" and attached nodes "[...]" do not count. */
unsigned long synthetic_cpus(const char *text)
{
    unsigned long product = 1;
    int nested = 0;

    for (const char *at = text; *at && product <= CPUSET_CPUS; at++) {
        nested += (*at == '(' || *at == '[') - (*at == ')' || *at == ']');
        if (nested == 0 && *at >= '0' && *at <= '9' &&
            (at == text || at[-1] == ':' || at[-1] == ' ')) {
            unsigned long n = strtoul(at, NULL, 10);

            product = n > CPUSET_CPUS ? CPUSET_CPUS + 1 : product * n;
        }
    }
    return product > CPUSET_CPUS ? CPUSET_CPUS + 1 : product;
}
