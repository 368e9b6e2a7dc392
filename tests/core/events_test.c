/* Counters per CPU against a known number of reads of a loop device that this test makes. */
#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "check.h"
#include "core/events.h"

enum { BLOCK = 4096, BLOCKS = 256 };

static char disk[64];           /* "/dev/loopN" while it exists */
static int disk_fd = -1;

static void drop_disk(void)
{
    if (disk_fd < 0)
        return;
    ioctl(disk_fd, LOOP_CLR_FD);
    close(disk_fd);
    disk_fd = -1;
}

/* A loop device over an unlinked file of this test. */
static int make_disk(void)
{
    struct loop_config config = { .block_size = 512 };
    char name[] = "/tmp/iolua-events-XXXXXX";
    int file = mkstemp(name), control = open("/dev/loop-control", O_RDWR | O_CLOEXEC), n;

    unlink(name);
    if (control < 0 || ftruncate(file, BLOCK * BLOCKS) < 0)
        return 0;
    for (int attempt = 0; attempt < 20 && disk_fd < 0; attempt++) {
        n = ioctl(control, LOOP_CTL_GET_FREE);
        snprintf(disk, sizeof disk, "/dev/loop%d", n);
        config.fd = (unsigned)file;
        disk_fd = open(disk, O_RDWR | O_DIRECT | O_CLOEXEC);
        if (disk_fd >= 0 && ioctl(disk_fd, LOOP_CONFIGURE, &config) < 0) {
            close(disk_fd);     /* another test was faster */
            disk_fd = -1;
        }
    }
    close(control);
    close(file);
    return disk_fd >= 0;
}

static unsigned long kernel_dev(void)
{
    struct stat st = { 0 };

    fstat(disk_fd, &st);
    return (unsigned long)major(st.st_rdev) << 20 | minor(st.st_rdev);
}

static void pin(int cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
}

static void read_blocks(unsigned n)
{
    void *block = aligned_alloc(BLOCK, BLOCK);

    for (unsigned i = 0; i < n; i++)
        if (pread(disk_fd, block, BLOCK, (off_t)(i % BLOCKS) * BLOCK) != BLOCK)
            abort();
    free(block);
}

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
