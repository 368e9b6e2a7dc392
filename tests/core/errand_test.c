/*
 * errand_test - threads of blocking work; lists of transfers and of small files.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/stat.h>

#include "check.h"
#include "core/errand.h"
#include "core/names.h"
#include "core/walk.h"
#include "scratch.h"

static atomic_uint calls;

static int count_calls(void *arg, unsigned thread, const atomic_bool *stop)
{
    (void)stop;
    atomic_fetch_add(&calls, 1);
    return arg && thread == 2 ? -EIO : 0;
}

static int until_stopped(void *arg, unsigned thread, const atomic_bool *stop)
{
    (void)arg;
    (void)thread;
    while (!atomic_load(stop))
        usleep(1000);
    return 0;
}

static int ready(const struct errand *e, int ms)
{
    struct pollfd p = { .fd = errand_fd(e), .events = POLLIN };

    return poll(&p, 1, ms);
}

static void every_thread_runs_and_an_error_is_told(void)
{
    struct errand *e;
    struct errand_times t;

    atomic_store(&calls, 0);
    CHECK_INT(errand_start(&e, 4, count_calls, &calls), 0);
    CHECK_INT(ready(e, 10000), 1);
    CHECK_INT(errand_join(e, &t), -EIO);
    CHECK_INT(atomic_load(&calls), 4);
    CHECK(t.end_ns >= t.begin_ns && t.begin_ns > 0);
    errand_close(e);
    CHECK_INT(errand_start(&e, 0, count_calls, NULL), -EINVAL);
}

static void closing_stops_them(void)
{
    struct errand *e;

    CHECK_INT(errand_start(&e, 3, until_stopped, NULL), 0);
    CHECK_INT(ready(e, 20), 0);
    errand_close(e);
    errand_close(NULL);
}

/* Run a walk over a file of 64 blocks of 512 bytes; its threads' result. */
static int walk(const char *path, const struct walk_step *step, size_t n, unsigned threads,
                bool write, uint64_t *counted)
{
    struct file_options o = { .write = write, .overwrite = true };
    struct errand_times t;
    struct errand *e;
    struct walk *w;
    struct file *f;
    char message[256];
    int err;

    CHECK_INT(file_open(&f, path, &o, message, sizeof message), 0);
    err = walk_open(&w, f, step, n, threads);
    file_unref(f);
    if (err < 0)
        return err;
    CHECK_INT(errand_start(&e, threads, walk_run, w), 0);
    err = errand_join(e, &t);
    errand_close(e);
    *counted = 0;
    for (unsigned i = 0; i < threads; i++)
        *counted += w->hist[i].count;
    walk_close(w);
    return err;
}

static void steps_are_done_once_by_any_thread(void)
{
    struct walk_step step[64];
    unsigned char block[512];
    char path[64];
    uint64_t counted;
    int fd = scratch_file(path, 64 * 512);

    for (unsigned i = 0; i < 64; i++)
        step[i] = (struct walk_step){ (uint64_t)i * 512, 512, WALK_UPDATE };
    CHECK_INT(walk(path, step, 64, 5, true, &counted), 0);
    CHECK_INT(counted, 64);
    for (unsigned i = 0; i < 64; i++) {         /* one byte of each is one more than before */
        CHECK_INT(pread(fd, block, sizeof block, (off_t)i * 512), 512);
        CHECK_INT(block[0], i % 251 + 1);
        CHECK_INT(block[1], i % 251);
    }
    CHECK_INT(walk(path, step, 64, 1, false, &counted), -EINVAL);       /* open for reading */
    step[3].kind = 7;
    CHECK_INT(walk(path, step, 64, 1, true, &counted), -EINVAL);
    CHECK_INT(walk(path, step, 0, 1, true, &counted), -EINVAL);
    step[0] = (struct walk_step){ 64 * 512, 512, WALK_READ };
    CHECK_INT(walk(path, step, 1, 1, false, &counted), -ENODATA);       /* past the end */
    close(fd);
    unlink(path);
}

static int visit(const char *folder, enum names_what what, const uint32_t *bytes)
{
    static const char text[] = "one\0two\0three";
    struct errand_times t;
    struct errand *e;
    struct names *s;
    int err = names_open(&s, folder, text, sizeof text, 3, bytes);

    if (err < 0)
        return err;
    s->what = what;
    s->flush = what == NAMES_REMOVE;
    CHECK_INT(errand_start(&e, 1, names_run, s), 0);
    err = errand_join(e, &t);
    errand_close(e);
    if (err == 0)
        CHECK_INT(s->hist.count, 3);
    names_close(s);
    return err;
}

static void files_are_made_seen_and_removed(void)
{
    static const uint32_t bytes[] = { 0, 10000, 3 };
    char folder[] = "/tmp/iolua-names-XXXXXX", path[64];
    struct names *s;
    struct stat st;

    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/two", folder);
    CHECK_INT(visit(folder, NAMES_STAT, NULL), -ENOENT);
    CHECK_INT(visit(folder, NAMES_CREATE, bytes), 0);
    CHECK(stat(path, &st) == 0 && st.st_size == 10000 && (st.st_mode & 0777) == 0600);
    CHECK_INT(visit(folder, NAMES_CREATE, bytes), -EEXIST);
    CHECK_INT(visit(folder, NAMES_STAT, bytes), 0);
    CHECK_INT(visit(folder, NAMES_REMOVE, NULL), 0);
    CHECK_INT(rmdir(folder), 0);
    CHECK_INT(names_open(&s, "/tmp", "a/b", 4, 1, NULL), -EINVAL);
    CHECK_INT(names_open(&s, "/tmp", "a", 2, 2, NULL), -EINVAL);
    CHECK_INT(names_open(&s, "/nowhere", "a", 2, 1, NULL), -ENOENT);
}

static void a_tree_is_removed_and_links_are_not_followed(void)
{
    char folder[] = "/tmp/iolua-names-XXXXXX", outside[] = "/tmp/iolua-names-XXXXXX", path[128];

    CHECK(mkdtemp(folder) != NULL && mkdtemp(outside) != NULL);
    snprintf(path, sizeof path, "%s/00000", folder);
    CHECK_INT(mkdir(path, 0700), 0);
    CHECK_INT(visit(path, NAMES_CREATE, NULL), 0);
    snprintf(path, sizeof path, "%s/link", folder);
    CHECK_INT(symlink(outside, path), 0);
    CHECK_INT(visit(outside, NAMES_CREATE, NULL), 0);
    CHECK_INT(names_remove_tree(folder), 0);
    CHECK(access(folder, F_OK) < 0);
    CHECK_INT(visit(outside, NAMES_STAT, NULL), 0);
    CHECK_INT(names_remove_tree(outside), 0);
    CHECK_INT(names_remove_tree(outside), -ENOENT);
}

int main(void)
{
    CASE(every_thread_runs_and_an_error_is_told);
    CASE(closing_stops_them);
    CASE(steps_are_done_once_by_any_thread);
    CASE(files_are_made_seen_and_removed);
    CASE(a_tree_is_removed_and_links_are_not_followed);
    return DONE();
}
