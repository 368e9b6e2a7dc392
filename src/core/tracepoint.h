/*
 * tracepoint - the kernel's trace events, found in tracefs and opened as perf events.
 *
 * Where tracefs is mounted it is read there. Where it is not, a mount of its own is made that
 * is attached to nothing: it is seen through one descriptor, by this process only, and goes
 * with it. Nothing outside the process changes.
 *
 * Failures are -errno with a sentence in why (at most len bytes, always terminated).
 */
#ifndef IOLUA_CORE_TRACEPOINT_H
#define IOLUA_CORE_TRACEPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct perf_event_attr;

/* Descriptor of the folder tracefs, O_PATH | O_CLOEXEC. -EACCES without the privilege. */
int tracepoint_dir(int *dir, char *why, size_t len);

/* Number of the event "system/name", which perf_event_open takes. -ENOENT: this kernel has
 * none, or -EACCES. */
int tracepoint_id(uint64_t *id, int dir, const char *event, char *why, size_t len);

/* Where a field lies in an event's record: bytes from its start. */
struct tracepoint_field {
    unsigned offset, size;
};

/* Find a field by name. -ENOENT where this kernel's event has none. */
int tracepoint_field(struct tracepoint_field *out, int dir, const char *event, const char *field,
                     char *why, size_t len);

/*
 * Open the tracepoint attr->config for thread tid (-1: all) on cpu (-1: all), with the kernel's
 * filter (NULL: none) over the fields of the event, such as "dev == 7340032". Sets the type and
 * size of attr. Returns the descriptor, O_CLOEXEC.
 */
int tracepoint_open(struct perf_event_attr *attr, pid_t tid, int cpu, const char *filter,
                    const char *event, char *why, size_t len);

#endif
