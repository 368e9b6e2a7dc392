/*
 * sync - the baseline engine: one request, done by a plain call in submit.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/clock.h"
#include "core/threads.h"

struct sync {
    struct clock clock;
    struct io_req q;
    struct io_done done;
    bool queued, finished;
};

int sync_open(struct sync **out)
{
    struct sync *s = calloc(1, sizeof *s);

    if (!s)
        return -ENOMEM;
    clock_calibrate(&s->clock);
    *out = s;
    return 0;
}

static int prepare(void *self, const struct io_req *q, uint64_t tag)
{
    struct sync *s = self;

    if (s->queued || s->finished)
        return -EBUSY;
    s->q = *q;
    s->done.tag = tag;
    s->queued = true;
    return 0;
}

static int submit(void *self, unsigned wait, uint64_t wait_ns)
{
    struct sync *s = self;

    if (s->queued) {
        s->done.res = io_perform(&s->q);
        s->finished = true;
        s->queued = false;
    } else if (!s->finished && wait && wait_ns) {
        clock_sleep_until(clock_now() + wait_ns);
        return -ETIME;
    }
    return 0;
}

static unsigned ready(void *self)
{
    return ((struct sync *)self)->finished;
}

static struct io_done at(void *self, unsigned i)
{
    (void)i;
    return ((struct sync *)self)->done;
}

static void consume(void *self, unsigned n)
{
    struct sync *s = self;

    s->finished = s->finished && n == 0;
}

static uint64_t now(void *self)
{
    return clock_read(&((struct sync *)self)->clock);
}

static int sync_close(void *self, uint64_t grace_ns)
{
    (void)grace_ns;
    free(self);
    return 0;
}

const struct engine sync_engine = {
    "sync", prepare, submit, ready, at, consume, now, sync_close,
};
