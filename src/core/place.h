/*
 * place - put the calling thread on CPUs, and memory on a node.
 *
 * No library: sched_setaffinity and mbind, each verified. What a thread may be placed on is what
 * the process was given when it first asked (taskset, cgroup), so a thread that was pinned
 * narrowly can be pinned elsewhere later. Safe on any thread.
 */
#ifndef IOLUA_CORE_PLACE_H
#define IOLUA_CORE_PLACE_H

#include <stddef.h>

#include "core/cpuset.h"

/* The CPUs of this machine, as the kernel tells. */
struct place_cpus {
    struct cpuset present;      /* there, perhaps offline */
    struct cpuset online;
    struct cpuset allowed;      /* online, and this process may use them */
};

/* 0 or -errno. Where /sys cannot be read, present and online are what is allowed. */
int place_cpus(struct place_cpus *out);

/*
 * May a thread be placed on set, on the machine described by cpus? 0; -EINVAL for the empty
 * set; -ENODEV where a member is absent or offline; -EPERM where one is not allowed here; each
 * with a sentence in message that names the members and the valid ones.
 */
int place_check(const struct cpuset *set, const struct place_cpus *cpus, char *message,
                size_t len);

/* Pin the calling thread to set and verify it. 0, or -errno with a sentence in message. */
int place_pin(const struct cpuset *set, char *message, size_t len);

/* The CPUs the calling thread may run on now. 0 or -errno. */
int place_pinned(struct cpuset *out);

/*
 * Bind the pages of [mem, mem + len) to one node (its OS number); pages that exist already are
 * moved. mem is page aligned. 0, -ENODEV for a node that is absent or has no memory, -EIO when
 * pages could not be moved, or another -errno.
 */
int place_memory(void *mem, size_t len, unsigned node);

#endif
