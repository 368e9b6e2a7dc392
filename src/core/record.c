#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/events.h"
#include "core/join.h"
#include "core/record.h"
#include "core/sample.h"
#include "core/tracepoint.h"

#define ROUND_MS   20u          /* the longest between two looks at the buffers */
#define LAG_NS     60000000ull  /* how late an event may come: a stolen CPU holds it back */
#define TOTAL_MAX  (256u << 20) /* bytes of all buffers together */
#define FILTER_MAX 4096u        /* a page: the kernel's limit */

struct cpu_ring {
    int fd[JOIN_LOST];          /* one for each kind; the first owns the buffer */
    int cpu;
    struct perf_event_mmap_page *page;
};

struct record {
    struct sample_layout layout[JOIN_LOST];
    struct cpu_ring *ring;
    struct pollfd *poll;
    unsigned cpus;
    size_t bytes;               /* of a ring's data */
    struct join *join;
    struct join_event *batch;   /* not joined yet */
    size_t used, capacity;
    int failed;                 /* the first -errno of the join */
    bool threaded;
    atomic_bool stop;
    pthread_t thread;
};

static int open_cpu(struct record *r, struct cpu_ring *ring, const char *filter, char *why,
                    size_t len)
{
    for (unsigned k = 0; k < JOIN_LOST; k++) {
        struct perf_event_attr attr = {
            .config = r->layout[k].id, .sample_period = 1, .sample_id_all = 1,
            .sample_type = SAMPLE_TYPE,
            .use_clockid = 1, .clockid = CLOCK_MONOTONIC,
            .watermark = 1, .wakeup_watermark = (uint32_t)(r->bytes / 4),
        };

        ring->fd[k] = tracepoint_open(&attr, -1, ring->cpu, filter, r->layout[k].event, why, len);
        if (ring->fd[k] < 0)
            return ring->fd[k];
        if (k > 0 && ioctl(ring->fd[k], PERF_EVENT_IOC_SET_OUTPUT, ring->fd[0]) < 0) {
            snprintf(why, len, "record %s: %s", r->layout[k].event, strerrordesc_np(errno));
            return -errno;
        }
        if (k > 0)
            continue;
        ring->page = mmap(NULL, r->bytes + (size_t)getpagesize(), PROT_READ | PROT_WRITE,
                          MAP_SHARED, ring->fd[0], 0);
        if (ring->page == MAP_FAILED) {
            ring->page = NULL;
            snprintf(why, len, "record: a buffer of %zu bytes a CPU: %s", r->bytes,
                     strerrordesc_np(errno));
            return -errno;
        }
    }
    return 0;
}

/* "dev == A || dev == B ..." */
static int make_filter(char *text, size_t len, const uint32_t *dev, unsigned n)
{
    size_t used = 0;

    for (unsigned i = 0; i < n && used < len; i++)
        used += (size_t)snprintf(text + used, len - used, "%sdev == %u", i ? " || " : "",
                                 dev[i]);
    return used < len ? 0 : -E2BIG;
}

/* n bytes at a position of the ring, which may wrap. */
static void copy_out(void *to, const struct record *r, const struct cpu_ring *ring, uint64_t pos,
                     size_t n)
{
    const char *data = (const char *)ring->page + ring->page->data_offset;
    size_t at = pos & (r->bytes - 1), first = r->bytes - at < n ? r->bytes - at : n;

    memcpy(to, data + at, first);
    memcpy((char *)to + first, data, n - first);
}

static struct join_event *batch_slot(struct record *r)
{
    if (r->used == r->capacity) {
        size_t capacity = r->capacity ? r->capacity * 2 : 4096;
        struct join_event *batch = realloc(r->batch, capacity * sizeof *batch);

        if (!batch) {
            r->failed = -ENOMEM;
            return NULL;
        }
        r->batch = batch;
        r->capacity = capacity;
    }
    return &r->batch[r->used];
}

/* Take everything out of one CPU's buffer. */
static void drain(struct record *r, struct cpu_ring *ring)
{
    uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
    uint64_t tail = ring->page->data_tail;
    struct perf_event_header h;
    char body[4096];

    while (tail < head) {
        struct join_event *e = batch_slot(r);
        size_t n;
        bool ours = false;

        copy_out(&h, r, ring, tail, sizeof h);
        n = h.size > sizeof h ? h.size - sizeof h : 0;
        if (e && n > 0 && n <= sizeof body) {
            copy_out(body, r, ring, tail + sizeof h, n);
            ours = sample_parse(e, r->layout, h.type, body, n);
        }
        r->used += ours;
        tail += h.size ? h.size : head - tail;
    }
    __atomic_store_n(&ring->page->data_tail, tail, __ATOMIC_RELEASE);
}

static int by_time(const void *a, const void *b)
{
    const struct join_event *x = a, *y = b;

    if (x->ns != y->ns)
        return x->ns < y->ns ? -1 : 1;
    return (int)x->kind - (int)y->kind;         /* a request's way through the block layer */
}

/* Join what happened before `until`: of later times another CPU's events may be missing. */
static void join_batch(struct record *r, uint64_t until)
{
    size_t i = 0;
    int err;

    if (r->used == 0)
        return;
    qsort(r->batch, r->used, sizeof *r->batch, by_time);
    for (; i < r->used && r->batch[i].ns < until; i++) {
        err = join_feed(r->join, &r->batch[i]);
        if (err < 0 && r->failed == 0)
            r->failed = err;
    }
    r->used -= i;
    memmove(r->batch, r->batch + i, r->used * sizeof *r->batch);
}

static void *work(void *arg)
{
    struct record *r = arg;
    uint64_t joined = clock_now();
    bool last;

    do {
        uint64_t now = clock_now();

        last = atomic_load(&r->stop);
        for (unsigned i = 0; i < r->cpus; i++)
            drain(r, &r->ring[i]);
        if (last || now - joined > 2 * LAG_NS) {        /* an event is sorted once or twice */
            join_batch(r, last ? UINT64_MAX : now - LAG_NS);
            joined = now;
        }
        if (!last)
            poll(r->poll, r->cpus, ROUND_MS);
    } while (!last);
    return NULL;
}

static int start(struct record *r)
{
    sigset_t all, old;
    int err;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    err = -pthread_create(&r->thread, NULL, work, r);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    r->threaded = err == 0;
    return err;
}

static size_t ring_bytes(size_t asked, unsigned cpus)
{
    size_t bytes = (size_t)getpagesize(), most = TOTAL_MAX / cpus;

    if (asked == 0)
        asked = most < 4u << 20 ? most : 4u << 20;
    while (bytes < asked && bytes < 1u << 30)
        bytes *= 2;
    return bytes;
}

static int make_record(struct record **out, size_t bytes, char *why, size_t len)
{
    int cpu[EVENTS_CPUS_MAX], n = events_online(cpu, EVENTS_CPUS_MAX);
    struct record *r = n > 0 ? calloc(1, sizeof *r) : NULL;

    snprintf(why, len, "record: %s", n < 0 ? "the CPUs cannot be listed" : "out of memory");
    if (!r)
        return n < 0 ? n : -ENOMEM;
    r->ring = calloc((size_t)n, sizeof *r->ring);
    r->poll = calloc((size_t)n, sizeof *r->poll);
    if (!r->ring || !r->poll || join_open(&r->join, (unsigned)cpu[n - 1] + 1) < 0) {
        record_close(r);
        return -ENOMEM;
    }
    r->cpus = (unsigned)n;
    r->bytes = ring_bytes(bytes, r->cpus);
    for (int i = 0; i < n; i++) {
        r->ring[i].cpu = cpu[i];
        memset(r->ring[i].fd, -1, sizeof r->ring[i].fd);
    }
    *out = r;
    return 0;
}

int record_open(struct record **out, const uint32_t *dev, unsigned n, size_t bytes, char *why,
                size_t len)
{
    char filter[FILTER_MAX];
    struct record *r = NULL;
    int err = make_filter(filter, sizeof filter, dev, n);

    if (err < 0) {
        snprintf(why, len, "record: %u disks are too many for one filter", n);
        return err;
    }
    err = make_record(&r, bytes, why, len);
    if (err < 0)
        return err;
    err = sample_layouts(r->layout, why, len);
    for (unsigned i = 0; err >= 0 && i < r->cpus; i++) {
        err = open_cpu(r, &r->ring[i], filter, why, len);
        r->poll[i] = (struct pollfd){ .fd = r->ring[i].fd[0], .events = POLLIN };
    }
    if (err >= 0 && (err = start(r)) < 0)
        snprintf(why, len, "record: start a thread: %s", strerrordesc_np(-err));
    if (err < 0) {
        record_close(r);
        return err;
    }
    *out = r;
    return 0;
}

int record_stop(struct record *r)
{
    if (!r->threaded)
        return r->failed;
    for (unsigned i = 0; i < r->cpus; i++)
        for (unsigned k = 0; k < JOIN_LOST; k++)
            ioctl(r->ring[i].fd[k], PERF_EVENT_IOC_DISABLE, 0);
    atomic_store(&r->stop, true);
    pthread_join(r->thread, NULL);
    r->threaded = false;
    return r->failed;
}

const struct join_result *record_result(const struct record *r)
{
    return join_result(r->join);
}

void record_close(struct record *r)
{
    if (!r)
        return;
    record_stop(r);
    for (unsigned i = 0; i < r->cpus; i++) {
        if (r->ring[i].page)
            munmap(r->ring[i].page, r->bytes + (size_t)getpagesize());
        for (unsigned k = 0; k < JOIN_LOST; k++)
            if (r->ring[i].fd[k] >= 0)
                close(r->ring[i].fd[k]);
    }
    join_close(r->join);
    free(r->batch);
    free(r->ring);
    free(r->poll);
    free(r);
}
