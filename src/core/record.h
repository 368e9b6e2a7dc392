/*
 * record - the block events of some disks while something runs, joined as they come.
 *
 * The kernel writes each event with its time (CLOCK_MONOTONIC) and CPU into a ring buffer per
 * CPU; one thread of ours empties them and feeds core/join. Where it is too slow, the kernel
 * drops events and says how many: they are told, and what was under way then is given up.
 *
 * The thread runs on the CPUs of the one that opens the recording. All signals are blocked in
 * it. Costs more than counting (some us an event, most of it on that thread).
 */
#ifndef IOLUA_CORE_RECORD_H
#define IOLUA_CORE_RECORD_H

#include <stddef.h>
#include <stdint.h>

struct join_result;
struct record;

/*
 * Begin to record the whole disks with the kernel's numbers dev[0 .. n - 1] (major << 20 |
 * minor). bytes: of each CPU's buffer, rounded up to a power of two pages; 0 chooses 4 MiB, or
 * less on machines with many CPUs. -errno with a sentence in why (at most len bytes).
 */
int record_open(struct record **out, const uint32_t *dev, unsigned n, size_t bytes, char *why,
                size_t len);

/* End the recording and wait until all of it is joined. 0, or -ENOMEM when the join left
 * events out. Further calls return the same. */
int record_stop(struct record *r);

/* What was found; only after record_stop. Valid until record_close. */
const struct join_result *record_result(const struct record *r);

void record_close(struct record *r);    /* stops it; NULL allowed */

#endif
