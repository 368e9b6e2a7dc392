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
