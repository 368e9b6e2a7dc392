#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/threads.h"

struct item {
    struct io_req q;
    uint64_t tag;
};

struct worker {
    struct threads *pool;
    pthread_t thread;
    struct item item;           /* what it does now, when busy */
    bool busy, cancelled;       /* under the pool's lock */
    int wake;                   /* eventfd that ends a poll */
    atomic_ullong user_ns, system_ns;
};

struct threads {
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    unsigned depth;
    struct item *queue;         /* ring of depth items: [taken, published, staged) */
    uint64_t taken, published, staged;
    struct io_done *finished;   /* ring of depth completions: [consumed, completed) */
    uint64_t consumed, completed;
    unsigned in_flight;
    struct worker *workers;
    unsigned started, idle;
    bool stop;
    int fd;                     /* eventfd: readable while completions wait */
};

static void count_cpu(struct worker *w)
{
    struct rusage u;

    getrusage(RUSAGE_THREAD, &u);
    atomic_store_explicit(&w->user_ns, (uint64_t)u.ru_utime.tv_sec * CLOCK_SECOND +
                          (uint64_t)u.ru_utime.tv_usec * 1000, memory_order_relaxed);
    atomic_store_explicit(&w->system_ns, (uint64_t)u.ru_stime.tv_sec * CLOCK_SECOND +
                          (uint64_t)u.ru_stime.tv_usec * 1000, memory_order_relaxed);
}

/* Poll fd until it is ready (its revents) or the request is cancelled. */
static int poll_or_cancel(struct worker *w, int fd, short events)
{
    struct pollfd p[2] = { { .fd = fd, .events = events }, { .fd = w->wake, .events = POLLIN } };

    while (poll(p, 2, -1) < 0)
        if (errno != EINTR)
            return -errno;
    return p[1].revents ? -ECANCELED : p[0].revents;
}

/* A stream (pipe, socket) has no positions and may block for ever: wait for it cancellably. */
static int perform_stream(struct worker *w, struct io_req q)
{
    bool reads = q.kind == IO_READ || q.kind == IO_READV || q.kind == IO_READ_FIXED;
    int res = poll_or_cancel(w, q.fd, reads ? POLLIN : POLLOUT);

    q.pos = UINT64_MAX;
    return res < 0 ? res : io_perform(&q);
}

static int perform(struct worker *w)
{
    const struct io_req *q = &w->item.q;
    int res;

    if (q->kind == IO_POLL)
        return poll_or_cancel(w, q->fd, (short)q->flags);
    if (q->kind <= IO_WRITE && q->pos == UINT64_MAX && q->kind != IO_FSYNC && q->kind != IO_NOP)
        return perform_stream(w, *q);
    res = io_perform(q);
    return res == -ESPIPE ? perform_stream(w, *q) : res;
}

static void complete(struct threads *t, uint64_t tag, int res)
{
    uint64_t one = 1;

    t->finished[t->completed % t->depth] = (struct io_done){ tag, res };
    if (t->completed++ == t->consumed && write(t->fd, &one, sizeof one) < 0)
        return;                 /* cannot fail: the counter is far from its limit */
    pthread_cond_signal(&t->done);
}

/* Take the next item; false when the pool stops. Called and returns with the lock held. */
static bool take(struct threads *t, struct worker *w)
{
    t->idle++;
    while (t->taken == t->published && !t->stop)
        pthread_cond_wait(&t->work, &t->lock);
    t->idle--;
    if (t->taken == t->published)
        return false;
    w->item = t->queue[t->taken++ % t->depth];
    w->busy = true;
    w->cancelled = false;
    return true;
}

static void *work(void *arg)
{
    struct worker *w = arg;
    struct threads *t = w->pool;
    uint64_t drop;
    int res;

    pthread_mutex_lock(&t->lock);
    while (take(t, w)) {
        pthread_mutex_unlock(&t->lock);
        res = perform(w);
        count_cpu(w);
        pthread_mutex_lock(&t->lock);
        w->busy = false;
        if (w->cancelled && read(w->wake, &drop, sizeof drop) < 0)
            w->cancelled = false;
        complete(t, w->item.tag, res);
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

/* Start one more worker, with all signals blocked. Called with the lock held. */
static void start_worker(struct threads *t)
{
    struct worker *w = &t->workers[t->started];
    sigset_t all, old;

    w->pool = t;
    w->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (w->wake < 0)
        return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    if (pthread_create(&w->thread, NULL, work, w) == 0)
        t->started++;
    else
        close(w->wake);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void init_sync(struct threads *t)
{
    pthread_condattr_t attr;

    pthread_mutex_init(&t->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&t->work, NULL);
    pthread_cond_init(&t->done, &attr);
    pthread_condattr_destroy(&attr);
}

static void release(struct threads *t)
{
    if (t->fd >= 0)
        close(t->fd);
    free(t->queue);
    free(t->finished);
    free(t->workers);
    free(t);
}

int threads_open(struct threads **out, unsigned depth)
{
    struct threads *t;

    if (depth < 1 || depth > THREADS_DEPTH_MAX)
        return -EINVAL;
    t = calloc(1, sizeof *t);
    if (!t)
        return -ENOMEM;
    t->depth = depth;
    t->queue = calloc(depth, sizeof *t->queue);
    t->finished = calloc(depth, sizeof *t->finished);
    t->workers = calloc(depth, sizeof *t->workers);
    t->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (!t->queue || !t->finished || !t->workers || t->fd < 0) {
        release(t);
        return -ENOMEM;
    }
    init_sync(t);
    start_worker(t);
    if (t->started == 0) {
        release(t);
        return -EAGAIN;
    }
    *out = t;
    return 0;
}

static int prepare(void *self, const struct io_req *q, uint64_t tag)
{
    struct threads *t = self;

    if (t->in_flight == t->depth)
        return -EBUSY;
    t->queue[t->staged++ % t->depth] = (struct item){ *q, tag };
    t->in_flight++;
    return 0;
}

/* Let the workers see what was prepared. Called with the lock held. */
static void publish(struct threads *t)
{
    unsigned fresh = (unsigned)(t->staged - t->published);

    t->published = t->staged;
    while (fresh > t->idle && t->started < t->depth && fresh-- > 0)
        start_worker(t);
    pthread_cond_broadcast(&t->work);
}

static int submit(void *self, unsigned wait, uint64_t wait_ns)
{
    struct threads *t = self;
    uint64_t until = clock_now() + wait_ns;
    struct timespec ts = { (time_t)(until / CLOCK_SECOND), (long)(until % CLOCK_SECOND) };
    int err = 0;

    pthread_mutex_lock(&t->lock);
    if (t->staged != t->published)
        publish(t);
    while (wait_ns && t->completed - t->consumed < wait && err == 0)
        err = pthread_cond_timedwait(&t->done, &t->lock, &ts);
    pthread_mutex_unlock(&t->lock);
    return -(err == ETIMEDOUT ? ETIME : err);
}

static unsigned ready(void *self)
{
    struct threads *t = self;
    unsigned n;

    pthread_mutex_lock(&t->lock);
    n = (unsigned)(t->completed - t->consumed);
    pthread_mutex_unlock(&t->lock);
    return n;
}

/* Entries below completed are not written again until consumed: no lock is needed. */
static struct io_done at(void *self, unsigned i)
{
    struct threads *t = self;

    return t->finished[(t->consumed + i) % t->depth];
}

static void consume(void *self, unsigned n)
{
    struct threads *t = self;
    uint64_t drop;

    pthread_mutex_lock(&t->lock);
    t->consumed += n;
    t->in_flight -= n;
    if (n && t->consumed == t->completed && read(t->fd, &drop, sizeof drop) < 0)
        drop = 0;               /* it was empty: nothing to take */
    pthread_mutex_unlock(&t->lock);
}

static uint64_t now(void *self)
{
    (void)self;
    return clock_now();
}

/* Called with the lock held: the worker's poll ends, its item completes. */
static void cancel_worker(struct worker *w)
{
    uint64_t one = 1;

    w->cancelled = true;
    if (write(w->wake, &one, sizeof one) < 0)
        w->cancelled = false;
}

/* Take item i out of the queue, later ones move up, and complete it as cancelled. */
static void unqueue(struct threads *t, uint64_t i)
{
    uint64_t tag = t->queue[i % t->depth].tag;

    if (i < t->published)
        t->published--;
    for (; i + 1 < t->staged; i++)
        t->queue[i % t->depth] = t->queue[(i + 1) % t->depth];
    t->staged--;
    complete(t, tag, -ECANCELED);
}

static int cancel(struct threads *t, uint64_t tag)
{
    for (uint64_t i = t->taken; i < t->staged; i++)
        if (t->queue[i % t->depth].tag == tag) {
            unqueue(t, i);
            return 0;
        }
    for (unsigned i = 0; i < t->started; i++)
        if (t->workers[i].busy && t->workers[i].item.tag == tag) {
            cancel_worker(&t->workers[i]);
            return 0;
        }
    return -ENOENT;
}

int threads_cancel(struct threads *t, uint64_t tag)
{
    int err;

    pthread_mutex_lock(&t->lock);
    err = cancel(t, tag);
    pthread_mutex_unlock(&t->lock);
    return err;
}

unsigned threads_in_flight(const struct threads *t)
{
    return t->in_flight;
}

int threads_fd(const struct threads *t)
{
    return t->fd;
}

void threads_cpu(uint64_t *user_ns, uint64_t *system_ns, struct threads *t)
{
    *user_ns = *system_ns = 0;
    for (unsigned i = 0; i < t->started; i++) {
        *user_ns += atomic_load_explicit(&t->workers[i].user_ns, memory_order_relaxed);
        *system_ns += atomic_load_explicit(&t->workers[i].system_ns, memory_order_relaxed);
    }
}

/* Nothing more starts; what waits is cancelled. */
static void stop(struct threads *t)
{
    pthread_mutex_lock(&t->lock);
    while (t->taken < t->staged)
        unqueue(t, t->taken);
    for (unsigned i = 0; i < t->started; i++)
        if (t->workers[i].busy)
            cancel_worker(&t->workers[i]);
    t->stop = true;
    pthread_cond_broadcast(&t->work);
    pthread_mutex_unlock(&t->lock);
}

static int threads_close(void *self, uint64_t grace_ns)
{
    struct threads *t = self;
    uint64_t until = clock_now() + grace_ns;

    stop(t);
    while (ready(t) < t->in_flight)
        if (submit(t, t->in_flight, ENGINE_WAIT_NS) < 0 && clock_now() >= until)
            return -ETIME;      /* a call is stuck: its memory stays */
    for (unsigned i = 0; i < t->started; i++) {
        pthread_join(t->workers[i].thread, NULL);
        close(t->workers[i].wake);
    }
    pthread_cond_destroy(&t->work);
    pthread_cond_destroy(&t->done);
    pthread_mutex_destroy(&t->lock);
    release(t);
    return 0;
}

const struct engine threads_engine = {
    "threads", prepare, submit, ready, at, consume, now, threads_close,
};
