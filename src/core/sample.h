/*
 * sample - what the kernel's records of block events mean: from bytes to struct join_event.
 *
 * Where a field lies differs between kernels, so it is looked up in tracefs.
 */
#ifndef IOLUA_CORE_SAMPLE_H
#define IOLUA_CORE_SAMPLE_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/join.h"
#include "core/tracepoint.h"

/* The attributes of the perf events must be these, with sample_id_all. */
#define SAMPLE_TYPE (PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_RAW)

/* Where an event's fields are. `sectors` has no size where the event has none. */
struct sample_layout {
    const char *event;
    struct tracepoint_field dev, sector, sectors, other, op;
    uint64_t id;
};

/* Fill one for each kind below JOIN_LOST. -errno with a sentence in why. */
int sample_layouts(struct sample_layout *layout, char *why, size_t len);

/* Read one record's body (what follows its header) of n bytes. false: no event of ours. */
bool sample_parse(struct join_event *e, const struct sample_layout *layout, uint32_t type,
                  const char *body, size_t n);

#endif
