/*
 * relation - how far apart two CPUs of a topology are.
 *
 * Two CPUs are named by the smallest thing that holds both. A node counts only where it is
 * not wider than the package they share: on a machine with one memory for two packages, CPUs of
 * one package are "package" and others "machine".
 */
#ifndef IOLUA_CORE_RELATION_H
#define IOLUA_CORE_RELATION_H

#include "core/cpuset.h"
#include "core/topo.h"

/* From the nearest to the farthest. */
enum relation {
    RELATION_SAME,              /* one CPU */
    RELATION_SMT,               /* a core */
    RELATION_CACHE,
    RELATION_NODE,              /* memory */
    RELATION_PACKAGE,
    RELATION_MACHINE,
};

/* "same" "smt" "cache" "node" "package" "machine"; NULL past the last. */
const char *relation_name(int relation);

/* -ENODEV when one of the CPUs is not in the topology. */
int relation_of(const struct topo *t, unsigned a, unsigned b);

/* The member of `among` that is nearest to (farthest from) cpu and is not cpu; of several the
 * one with the lowest number. By the size of what they share, then by the firmware's latency
 * between their nodes. -ENODEV when cpu is not in the topology, -ENOENT when no other member of
 * `among` is. */
int relation_nearest(const struct topo *t, unsigned cpu, const struct cpuset *among);
int relation_farthest(const struct topo *t, unsigned cpu, const struct cpuset *among);

#endif
