#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "core/events.h"
#include "core/tracepoint.h"

#define PUNT_EVENT "io_uring/io_uring_queue_async_work"

struct events {
    unsigned specs, cpus;
    int *cpu;                   /* OS numbers */
    int fd[];                   /* spec by spec, each on all CPUs; -1: not open */
};

struct events_punts {
    unsigned threads;
    int fd[];
};

static uint64_t read_counter(int fd)
{
    uint64_t n = 0;

    return read(fd, &n, sizeof n) == sizeof n ? n : 0;
}

/* The numbers that are names in a folder, at most max; returns how many there are. */
static int list_numbers(int *number, unsigned max, const char *folder)
{
    DIR *d = opendir(folder);
    struct dirent *e;
    unsigned n = 0;

    if (!d)
        return -errno;
    while ((e = readdir(d))) {
        if (!isdigit((unsigned char)e->d_name[0]))
            continue;
        if (n < max)
            number[n] = atoi(e->d_name);
        n++;
    }
    closedir(d);
    return (int)n;
}

/* The kernel's list is ranges joined by commas: "0-3,8". */
int events_online(int *cpu, unsigned max)
{
    FILE *f = fopen("/sys/devices/system/cpu/online", "re");
    unsigned n = 0;
    int first, last;

    if (!f)
        return -errno;
    while (fscanf(f, "%d", &first) == 1) {
        if (fscanf(f, "-%d", &last) != 1)
            last = first;
        for (int c = first; c <= last && n < max; c++)
            cpu[n++] = c;
        if (fgetc(f) != ',')
            break;
    }
    fclose(f);
    return n > 0 ? (int)n : -ENODEV;
}

static void close_all(const int *fd, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (fd[i] >= 0)
            close(fd[i]);
}

static int open_spec(struct events *e, unsigned i, const struct events_spec *spec, int dir,
                     char *why, size_t len)
{
    uint64_t id = 0;
    int err = tracepoint_id(&id, dir, spec->event, why, len);

    for (unsigned k = 0; err >= 0 && k < e->cpus; k++) {
        struct perf_event_attr attr = { .config = id };

        err = tracepoint_open(&attr, -1, e->cpu[k], spec->filter, spec->event, why, len);
        e->fd[i * e->cpus + k] = err;
    }
    return err < 0 ? err : 0;
}

static int make_events(struct events **out, unsigned specs)
{
    int cpu[EVENTS_CPUS_MAX], n = events_online(cpu, EVENTS_CPUS_MAX);
    struct events *e;
    size_t fds = n > 0 ? (size_t)n * specs : 0;

    if (n < 0)
        return n;
    e = malloc(sizeof *e + fds * sizeof *e->fd + (size_t)n * sizeof *e->cpu);
    if (!e)
        return -ENOMEM;
    *e = (struct events){ .specs = specs, .cpus = (unsigned)n, .cpu = e->fd + fds };
    memset(e->fd, -1, fds * sizeof *e->fd);
    memcpy(e->cpu, cpu, (size_t)n * sizeof *cpu);
    *out = e;
    return 0;
}

int events_open(struct events **out, const struct events_spec *spec, unsigned n, char *why,
                size_t len)
{
    struct events *e = NULL;
    int dir, err = tracepoint_dir(&dir, why, len);

    if (err < 0)
        return err;
    err = make_events(&e, n);
    if (err < 0)
        snprintf(why, len, "list the CPUs: %s", strerrordesc_np(-err));
    for (unsigned i = 0; err >= 0 && i < n; i++)
        err = open_spec(e, i, &spec[i], dir, why, len);
    close(dir);
    if (err < 0) {
        events_close(e);
        return err;
    }
    *out = e;
    return 0;
}

unsigned events_cpus(const struct events *e, const int **cpu)
{
    *cpu = e->cpu;
    return e->cpus;
}

void events_read(const struct events *e, uint64_t *counts)
{
    for (size_t i = 0; i < (size_t)e->specs * e->cpus; i++)
        counts[i] = read_counter(e->fd[i]);
}

void events_close(struct events *e)
{
    if (!e)
        return;
    close_all(e->fd, (size_t)e->specs * e->cpus);
    free(e);
}

/* One inherited counter for each thread. One that ended since it was listed is left out. */
static int count_threads(struct events_punts *p, uint64_t id, const int *tid, unsigned n,
                         char *why, size_t len)
{
    for (unsigned i = 0; i < n; i++) {
        struct perf_event_attr attr = { .config = id, .inherit = 1 };
        int fd = tracepoint_open(&attr, tid[i], -1, NULL, PUNT_EVENT, why, len);

        if (fd == -ESRCH)
            continue;
        if (fd < 0)
            return fd;
        p->fd[p->threads++] = fd;
    }
    return 0;
}

int events_punts_open(struct events_punts **out, char *why, size_t len)
{
    enum { THREADS_MAX = 1024 };
    struct events_punts *p;
    int tid[THREADS_MAX];
    uint64_t id = 0;
    int dir, n, err = tracepoint_dir(&dir, why, len);

    if (err < 0)
        return err;
    err = tracepoint_id(&id, dir, PUNT_EVENT, why, len);
    close(dir);
    if (err < 0)
        return err;
    n = list_numbers(tid, THREADS_MAX, "/proc/self/task");
    if (n < 0 || n > THREADS_MAX) {
        snprintf(why, len, "count %s: the threads of this process cannot be listed", PUNT_EVENT);
        return n < 0 ? n : -E2BIG;
    }
    p = calloc(1, sizeof *p + (unsigned)n * sizeof *p->fd);
    if (!p) {
        snprintf(why, len, "count %s: out of memory", PUNT_EVENT);
        return -ENOMEM;
    }
    err = count_threads(p, id, tid, (unsigned)n, why, len);
    if (err < 0) {
        events_punts_close(p);
        return err;
    }
    *out = p;
    return 0;
}

uint64_t events_punts_read(const struct events_punts *p)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < p->threads; i++)
        sum += read_counter(p->fd[i]);
    return sum;
}

void events_punts_close(struct events_punts *p)
{
    if (!p)
        return;
    close_all(p->fd, p->threads);
    free(p);
}
