/*
 * synthetic - how large a machine a synthetic description asks for.
 *
 * hwloc would start to build any number of CPUs, so the size is taken from the text first.
 */
#ifndef IOLUA_CORE_SYNTHETIC_H
#define IOLUA_CORE_SYNTHETIC_H

/* The CPUs of "pack:2 core:4 pu:2": 16. More than CPUSET_CPUS is CPUSET_CPUS + 1; whether the
 * text is a description at all is hwloc's to say. */
unsigned long synthetic_cpus(const char *text);

#endif
