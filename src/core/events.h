/*
 * events - how often the kernel's tracepoints fire, counted by the kernel.
 *
 * A counter costs nothing where its event does not fire. Where it does, the price is some
 * hundred ns an event (docs/trace.md has measured ones), so every arm of a comparison must
 * use the same counters.
 *
 * Failures are -errno with a sentence in why (at most len bytes): -EACCES without the
 * privilege, -ENOENT without the tracepoint.
 */
#ifndef IOLUA_CORE_EVENTS_H
#define IOLUA_CORE_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#define EVENTS_CPUS_MAX 8192    /* the most a Linux kernel can be built for */

/* OS numbers of the CPUs that are online, ascending, at most max. Returns how many, 1 or more;
 * -errno. */
int events_online(int *cpu, unsigned max);

struct events_spec {
    const char *event;          /* "system/name", as in tracefs */
    const char *filter;         /* the kernel's filter over its fields, or NULL */
};

/*
 * Counters of the n specs on every CPU that is online, running from the opening on: take the
 * difference of two readings. Needs n descriptors a CPU. The strings are not kept.
 */
struct events;

int events_open(struct events **out, const struct events_spec *spec, unsigned n, char *why,
                size_t len);

/* The OS numbers of the CPUs, ascending, and how many there are. */
unsigned events_cpus(const struct events *e, const int **cpu);

/* Counts since the opening, one for each spec and CPU: counts[i * cpus + k] is of spec i on the
 * k-th CPU. */
void events_read(const struct events *e, uint64_t *counts);

void events_close(struct events *e);    /* NULL allowed */

/*
 * Punts: requests that io_uring handed to one of its worker threads, because they would have
 * waited (no free tag, a split, an operation without a non-blocking form). They distort what is
 * measured, so every job tells their number.
 *
 * Counted are the threads this process has when the counter is opened and every thread these
 * start later, SQPOLL threads too, from the opening on. Opening takes some 20 us a thread;
 * closing the last one on the machine waits for the kernel (10 .. 50 ms): keep one for many
 * jobs and take differences.
 */
struct events_punts;

int events_punts_open(struct events_punts **out, char *why, size_t len);

/* Number since the opening. Threads that have ended are included. */
uint64_t events_punts_read(const struct events_punts *p);

void events_punts_close(struct events_punts *p);        /* NULL allowed */

#endif
