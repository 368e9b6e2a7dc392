#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"

int clock_sleep_until(uint64_t ns)
{
    struct timespec t = { .tv_sec = (time_t)(ns / CLOCK_SECOND),
                          .tv_nsec = (long)(ns % CLOCK_SECOND) };

    return -clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

#ifdef __x86_64__
#include <cpuid.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/timex.h>

#define MEASURE_NS 2000000u       /* ends known to 10 ns each: 10 ppm */
#define PAIRS      32           /* readings tried for a tight one */

/* The CPU promises a constant rate in every power state. */
static bool invariant(void)
{
    unsigned a, b, c, d;

    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8);
}

/* The kernel has found the counters of all CPUs to agree, and uses them itself. */
static bool trusted(void)
{
    char name[8] = "";
    int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                  O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, name, sizeof name - 1);

    if (fd >= 0)
        close(fd);
    return n > 0 && strcmp(name, "tsc\n") == 0;
}

/* One moment in both clocks: the tightest of a few readings of one between two of the other. */
static void pair(uint64_t *tsc, uint64_t *ns)
{
    uint64_t best = UINT64_MAX;

    *tsc = *ns = 0;
    for (int i = 0; i < PAIRS; i++) {
        uint64_t before = __builtin_ia32_rdtsc(), now = clock_now();
        uint64_t width = __builtin_ia32_rdtsc() - before;

        if (width < best) {
            best = width;
            *tsc = before + width / 2;
            *ns = now;
        }
    }
}

/* The kernel's own scale, 32 bits of fraction, from a page it offers to profilers; 0: none. */
static uint64_t offered(const volatile struct perf_event_mmap_page *page)
{
    uint32_t seq, mult;
    uint16_t shift;
    bool usable;

    do {
        seq = page->lock;
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        usable = page->cap_user_time;
        mult = page->time_mult;
        shift = page->time_shift;
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
    } while (page->lock != seq || (seq & 1));
    if (!usable || shift > 63)
        return 0;
    return shift <= 32 ? (uint64_t)mult << (32 - shift) : (uint64_t)mult >> (shift - 32);
}

static uint64_t kernel_scale(void)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE, .size = sizeof attr, .config = PERF_COUNT_SW_DUMMY,
        .disabled = 1, .exclude_kernel = 1, .exclude_hv = 1,
    };
    size_t len = (size_t)sysconf(_SC_PAGESIZE);
    int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    uint64_t scale = 0;
    void *page;

    if (fd < 0)
        return 0;
    page = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, 0);
    if (page != MAP_FAILED) {
        scale = offered(page);
        munmap(page, len);
    }
    close(fd);
    return scale;
}

/* The rate that time keeping gives CLOCK_MONOTONIC on top of the counter's: NTP's frequency
 * (ppm in 16.16 fixed point) and a tick that is not 10 ms. */
static uint64_t disciplined(uint64_t scale)
{
    struct timex t = { .modes = 0 };

    if (scale == 0 || adjtimex(&t) < 0)
        return 0;
    return (uint64_t)((long double)scale * (t.tick / 10000.0L) *
                      (1 + t.freq / (65536 * 1000000.0L)));
}

void clock_measure(struct clock *c)
{
    uint64_t tsc, ns;

    pair(&c->tsc_base, &c->ns_base);
    while (clock_sleep_until(c->ns_base + MEASURE_NS) == -EINTR)
        continue;
    pair(&tsc, &ns);
    c->mult = (uint64_t)(((unsigned __int128)(ns - c->ns_base) << 32) / (tsc - c->tsc_base));
    c->tsc_base = tsc;
    c->ns_base = ns;
    c->tsc = true;
}

void clock_calibrate(struct clock *c)
{
    memset(c, 0, sizeof *c);
    if (!invariant() || !trusted())
        return;
    c->mult = disciplined(kernel_scale());
    if (c->mult == 0) {
        clock_measure(c);
        return;
    }
    pair(&c->tsc_base, &c->ns_base);
    c->tsc = true;
}
#else
void clock_measure(struct clock *c)
{
    memset(c, 0, sizeof *c);
}

void clock_calibrate(struct clock *c)
{
    memset(c, 0, sizeof *c);
}
#endif
