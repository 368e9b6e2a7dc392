/* Counters per CPU against a known number of reads of a loop device that this test makes. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "core/events.h"
#include "disk.h"

static uint64_t sum(const uint64_t *counts, unsigned n)
{
    uint64_t s = 0;

    for (unsigned i = 0; i < n; i++)
        s += counts[i];
    return s;
}

static void a_thousand_pinned_reads_are_a_thousand_events_on_that_cpu(void)
{
    char filter[64], why[256];
    struct events_spec spec[] = {
        { "block/block_bio_queue", filter }, { "block/block_rq_issue", filter },
        { "block/block_rq_complete", filter }, { "block/block_split", filter },
        { "block/block_bio_queue", "dev == 1" },
    };
    struct events *e;
    const int *cpu;
    unsigned cpus, last;
    uint64_t *n;

    if (geteuid() != 0 || !make_disk())
        SKIP("needs root and a loop device");
    snprintf(filter, sizeof filter, "dev == %lu", kernel_dev());
    read_blocks(1);             /* what opening the device caused is over */
    CHECK_INT(events_open(&e, spec, 5, why, sizeof why), 0);
    cpus = events_cpus(e, &cpu);
    last = cpus - 1;
    n = calloc(5 * cpus, sizeof *n);
    pin(cpu[last]);
    read_blocks(1000);
    events_read(e, n);
    CHECK_INT(n[last], 1000);                   /* queued on the submitter's CPU */
    CHECK_INT(sum(n, cpus), 1000);
    CHECK_INT(sum(n + cpus, cpus), 1000);       /* issued */
    CHECK_INT(sum(n + 2 * cpus, cpus), 1000);   /* completed */
    CHECK_INT(sum(n + 3 * cpus, cpus), 0);      /* none was split */
    CHECK_INT(sum(n + 4 * cpus, cpus), 0);      /* another device's */
    free(n);
    events_close(e);
    drop_disk();
}

static void an_event_that_no_kernel_has_is_named(void)
{
    struct events_spec spec = { "block/block_no_such_event", NULL };
    struct events *e = NULL;
    char why[256];

    if (geteuid() != 0)
        SKIP("needs root");
    CHECK_INT(events_open(&e, &spec, 1, why, sizeof why), -ENOENT);
    CHECK_STR(why, "tracepoint block/block_no_such_event: this kernel has none");
    CHECK(e == NULL);
}

static void a_filter_the_kernel_refuses_is_shown(void)
{
    struct events_spec spec = { "block/block_bio_queue", "no_field == 3" };
    struct events *e = NULL;
    char why[256];

    if (geteuid() != 0)
        SKIP("needs root");
    CHECK_INT(events_open(&e, &spec, 1, why, sizeof why), -EINVAL);
    CHECK(strstr(why, "no_field == 3") != NULL);
}

static void descriptors_are_all_closed(void)
{
    struct events_spec spec[] = {
        { "block/block_bio_queue", "dev == 1" }, { "block/block_no_such_event", NULL },
    };
    struct events *e = NULL;
    char why[256];
    int before = dup(0), after;

    close(before);
    if (geteuid() != 0)
        SKIP("needs root");
    CHECK_INT(events_open(&e, spec, 2, why, sizeof why), -ENOENT);
    CHECK_INT(events_open(&e, spec, 1, why, sizeof why), 0);
    events_close(e);
    after = dup(0);
    close(after);
    CHECK_INT(after, before);
}

int main(void)
{
    atexit(drop_disk);
    CASE(a_thousand_pinned_reads_are_a_thousand_events_on_that_cpu);
    CASE(an_event_that_no_kernel_has_is_named);
    CASE(a_filter_the_kernel_refuses_is_shown);
    CASE(descriptors_are_all_closed);
    return DONE();
}
