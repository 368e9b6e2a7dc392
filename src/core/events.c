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

struct events_punts {
    unsigned threads;
    int fd[];
};

static uint64_t read_counter(int fd)
{
    uint64_t n = 0;

    return read(fd, &n, sizeof n) == sizeof n ? n : 0;
}

/* Ids of this process's threads, at most max; returns their number, which may be larger. */
static int list_threads(pid_t *tid, unsigned max)
{
    DIR *d = opendir("/proc/self/task");
    struct dirent *e;
    unsigned n = 0;

    if (!d)
        return -errno;
    while ((e = readdir(d)))
        if (e->d_name[0] != '.') {
            if (n < max)
                tid[n] = (pid_t)atoi(e->d_name);
            n++;
        }
    closedir(d);
    return (int)n;
}

/* One inherited counter for each thread. One that ended since it was listed is left out. */
static int count_threads(struct events_punts *p, uint64_t id, const pid_t *tid, unsigned n,
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
    pid_t tid[THREADS_MAX];
    uint64_t id = 0;
    int dir, n, err = tracepoint_dir(&dir, why, len);

    if (err < 0)
        return err;
    err = tracepoint_id(&id, dir, PUNT_EVENT, why, len);
    close(dir);
    if (err < 0)
        return err;
    n = list_threads(tid, THREADS_MAX);
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
    for (unsigned i = 0; i < p->threads; i++)
        close(p->fd[i]);
    free(p);
}
