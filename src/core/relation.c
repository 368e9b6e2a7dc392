#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/relation.h"

const char *relation_name(int relation)
{
    static const char *const names[] = {
        [RELATION_SAME] = "same", [RELATION_SMT] = "smt", [RELATION_CACHE] = "cache",
        [RELATION_NODE] = "node", [RELATION_PACKAGE] = "package",
        [RELATION_MACHINE] = "machine",
    };

    return relation >= 0 && relation <= RELATION_MACHINE ? names[relation] : NULL;
}

/* Does sharing this node tell more than sharing the machine? */
static bool node_counts(const struct topo *t, const struct topo_shared *s)
{
    int package = topo_type("package");

    if (s->node == 0 || (s->package && s->node > s->package))
        return false;
    return s->package || s->node < cpuset_count(topo_cpus(t)) || topo_count(t, package) < 2;
}

int relation_of(const struct topo *t, unsigned a, unsigned b)
{
    struct topo_shared s;
    int err = topo_shared(&s, t, a, b);

    if (err < 0)
        return err;
    if (a == b)
        return RELATION_SAME;
    if (s.core)
        return RELATION_SMT;
    if (s.cache)
        return RELATION_CACHE;
    if (node_counts(t, &s))
        return RELATION_NODE;
    return s.package ? RELATION_PACKAGE : RELATION_MACHINE;
}

/* The order of distances: negative when a is nearer than b. */
static int compare(const struct topo_shared *a, const struct topo_shared *b)
{
    unsigned wa = a->node && a->node < a->least ? a->node : a->least;
    unsigned wb = b->node && b->node < b->least ? b->node : b->least;

    if (wa != wb)
        return wa < wb ? -1 : 1;
    return a->latency == b->latency ? 0 : a->latency < b->latency ? -1 : 1;
}

/* The member most to one side: sign -1 nearest, 1 farthest. */
static int extreme(const struct topo *t, unsigned cpu, const struct cpuset *among, int sign)
{
    struct topo_shared best, s;
    int found = -ENOENT, err = topo_shared(&s, t, cpu, cpu);

    if (err < 0)
        return err;
    for (int c = cpuset_next(among, 0); c >= 0; c = cpuset_next(among, (unsigned)c + 1)) {
        if ((unsigned)c == cpu || topo_shared(&s, t, cpu, (unsigned)c) < 0)
            continue;
        if (found < 0 || compare(&s, &best) * sign > 0) {
            best = s;
            found = c;
        }
    }
    return found;
}

int relation_nearest(const struct topo *t, unsigned cpu, const struct cpuset *among)
{
    return extreme(t, cpu, among, -1);
}

int relation_farthest(const struct topo *t, unsigned cpu, const struct cpuset *among)
{
    return extreme(t, cpu, among, 1);
}
