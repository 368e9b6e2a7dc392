/*
 * walk - pread and pwrite down a list.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/walk.h"

#define BYTES_MAX (64u << 20)
#define ALIGNMENT 4096u

static int check(struct walk *w, const struct file *f)
{
    for (size_t i = 0; i < w->n; i++) {
        const struct walk_step *s = &w->step[i];

        if (s->kind > WALK_UPDATE || s->bytes < 1 || s->bytes > BYTES_MAX ||
            s->pos > (uint64_t)INT64_MAX - s->bytes)
            return -EINVAL;
        if (s->kind != WALK_READ && !f->writable)
            return -EINVAL;
        w->largest = s->bytes > w->largest ? s->bytes : w->largest;
    }
    return 0;
}

static int allocate(struct walk *w)
{
    size_t len = (w->largest + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;

    w->hist = calloc(w->threads, sizeof *w->hist);
    w->buf = calloc(w->threads, sizeof *w->buf);
    if (!w->hist || !w->buf)
        return -ENOMEM;
    for (unsigned i = 0; i < w->threads; i++) {
        hist_reset(&w->hist[i]);
        w->buf[i] = aligned_alloc(ALIGNMENT, len);
        if (!w->buf[i])
            return -ENOMEM;
        memset(w->buf[i], 0, len);
    }
    return 0;
}

int walk_open(struct walk **out, struct file *f, const struct walk_step *step, size_t n,
              unsigned threads)
{
    struct walk *w;
    int err;

    if (n == 0 || n > SIZE_MAX / sizeof *step || threads < 1)
        return -EINVAL;
    w = calloc(1, sizeof *w);
    if (!w)
        return -ENOMEM;
    w->n = n;
    w->threads = threads;
    w->step = malloc(n * sizeof *step);
    err = w->step ? 0 : -ENOMEM;
    if (err == 0) {
        memcpy(w->step, step, n * sizeof *step);
        err = check(w, f);
    }
    if (err == 0)
        err = allocate(w);
    if (err < 0) {
        walk_close(w);
        return err;
    }
    w->file = file_ref(f);
    *out = w;
    return 0;
}

/* All the bytes of a step in one direction. */
static int move(int fd, unsigned char *buf, const struct walk_step *s, bool write)
{
    uint32_t done = 0;

    while (done < s->bytes) {
        off_t at = (off_t)(s->pos + done);
        ssize_t n = write ? pwrite(fd, buf + done, s->bytes - done, at)
                          : pread(fd, buf + done, s->bytes - done, at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            return -ENODATA;            /* the file ends here */
        done += (uint32_t)n;
    }
    return 0;
}

static int do_step(const struct walk *w, unsigned char *buf, const struct walk_step *s)
{
    int err = s->kind == WALK_WRITE ? 0 : move(w->file->fd, buf, s, false);

    if (err < 0 || s->kind == WALK_READ)
        return err;
    buf[s->pos % s->bytes]++;           /* what is written is new */
    return move(w->file->fd, buf, s, true);
}

int walk_run(void *arg, unsigned thread, const atomic_bool *stop)
{
    struct walk *w = arg;
    size_t i;

    while ((i = atomic_fetch_add(&w->next, 1)) < w->n) {
        uint64_t from = clock_now();
        int err = do_step(w, w->buf[thread], &w->step[i]);

        if (err < 0)
            atomic_store(&w->bad_pos, w->step[i].pos);
        if (err < 0 || atomic_load_explicit(stop, memory_order_relaxed))
            return err < 0 ? err : -ECANCELED;
        hist_record(&w->hist[thread], clock_now() - from, 1);
    }
    return 0;
}

void walk_close(struct walk *w)
{
    if (!w)
        return;
    for (unsigned i = 0; w->buf && i < w->threads; i++)
        free(w->buf[i]);
    free(w->buf);
    free(w->hist);
    free(w->step);
    file_unref(w->file);
    free(w);
}
