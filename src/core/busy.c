#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/busy.h"
#include "core/family.h"
#include "core/loops.h"
#include "core/mounts.h"

/* The device asked about and its family. */
struct who {
    const char *root;
    struct blk self;
    struct dev_set above, below;        /* both with the device itself */
    char *message;
    size_t len;
};

/* "" for the device itself, "its partition sda1 is ", "dm-0 on it is ", "sda below it is ". */
static const char *member(char *text, size_t len, const struct who *w, dev_t dev)
{
    struct blk b;

    text[0] = '\0';
    if (dev == w->self.dev || blk_find(&b, w->root, dev) < 0)
        return text;
    if (dev_set_has(&w->below, dev))
        snprintf(text, len, "%s below it is ", b.name);
    else if (b.disk == w->self.dev)
        snprintf(text, len, "its partition %s is ", b.name);
    else
        snprintf(text, len, "%s on it is ", b.name);
    return text;
}

static bool related(const struct who *w, dev_t dev)
{
    return dev_set_has(&w->above, dev) || dev_set_has(&w->below, dev);
}

/* The device a mount lies on: its number, or its source's where that is anonymous. */
static dev_t mounted_device(const struct who *w, const struct mount *row)
{
    struct stat st;

    if (related(w, row->dev) || row->source[0] != '/' || w->root[0])
        return row->dev;
    return stat(row->source, &st) == 0 && S_ISBLK(st.st_mode) ? st.st_rdev : row->dev;
}

static int mounted(const struct who *w)
{
    char text[128], other[64] = "";
    struct mounts m;
    struct mount row;
    int err = mounts_open(&m, w->root, false);

    if (err < 0) {
        snprintf(w->message, w->len, "the mounts cannot be read, so it may be in use");
        return err;
    }
    while (err == 0 && mounts_next(&m, &row)) {
        dev_t dev = mounted_device(w, &row);

        if (!related(w, dev))
            continue;
        if (row.pid)
            snprintf(other, sizeof other, " (in the mount namespace of process %d)", row.pid);
        snprintf(w->message, w->len, "in use: %smounted on %s%s",
                 member(text, sizeof text, w, dev), row.point, other);
        err = -EBUSY;
    }
    mounts_close(&m);
    return err;
}

/* Rows of /proc/swaps: calls match(arg, file name) until it says stop. */
static int swaps(const char *root,
                 int (*match)(void *arg, const struct stat *st, const char *name), void *arg)
{
    char path[PATH_MAX], *line = NULL;
    size_t cap = 0;
    int err = 0;
    FILE *f;

    snprintf(path, sizeof path, "%s/proc/swaps", root);
    f = fopen(path, "re");
    while (f && err == 0 && getline(&line, &cap, f) > 0) {
        struct stat st;

        line[strcspn(line, " \t\n")] = '\0';
        mounts_unescape(line);
        snprintf(path, sizeof path, "%s%s", root, line);
        if (line[0] == '/' && stat(path, &st) == 0)
            err = match(arg, &st, line);
    }
    if (f)
        fclose(f);
    free(line);
    return err;
}

static int swap_device(void *arg, const struct stat *st, const char *name)
{
    struct who *w = arg;
    char text[128];

    if (!S_ISBLK(st->st_mode) || !related(w, st->st_rdev))
        return 0;
    snprintf(w->message, w->len, "in use: %sswap (%s)",
             member(text, sizeof text, w, st->st_rdev), name);
    return -EBUSY;
}

/* Name of a volume on it: "dm-0 (vg-root)". */
static void volume_name(char *text, size_t len, const struct blk *b)
{
    char name[128];

    if (blk_attr(name, sizeof name, b, "dm/name") > 0)
        snprintf(text, len, "%s (%s)", b->name, name);
    else
        snprintf(text, len, "%s", b->name);
}

/* Anything above that is not a partition holds it. */
static int held(const struct who *w)
{
    char text[256];
    struct blk b;

    for (unsigned i = 1; i < w->above.n; i++) {
        if (blk_find(&b, w->root, w->above.dev[i]) < 0 || b.disk == w->self.dev)
            continue;
        volume_name(text, sizeof text, &b);
        snprintf(w->message, w->len, "in use: %s lies on it", text);
        return -EBUSY;
    }
    return 0;
}

int busy_device(const char *root, dev_t dev, char *message, size_t len)
{
    struct who w = { .root = root, .message = message, .len = len };
    int err = blk_find(&w.self, root, dev);

    if (err == 0)
        err = family_above(&w.above, root, dev);
    if (err == 0)
        err = family_below(&w.below, root, dev);
    if (err < 0)
        snprintf(message, len, "sysfs does not say what lies on it, so it may be in use");
    if (err == 0)
        err = mounted(&w);
    if (err == 0)
        err = swaps(root, swap_device, &w);
    if (err == 0)
        err = held(&w);
    dev_set_free(&w.above);
    dev_set_free(&w.below);
    return err;
}

struct file_who {
    const struct stat *st;
    char *message;
    size_t len;
};

static int swap_file(void *arg, const struct stat *st, const char *name)
{
    struct file_who *w = arg;

    if (st->st_dev != w->st->st_dev || st->st_ino != w->st->st_ino)
        return 0;
    snprintf(w->message, w->len, "in use: swap (%s)", name);
    return -EBUSY;
}

int busy_file(const char *root, const struct stat *st, char *message, size_t len)
{
    struct file_who w = { st, message, len };
    struct loop *list;
    int err = 0, n = loops_list(&list, root);

    if (n < 0)
        return n;
    for (int i = 0; err == 0 && i < n; i++)
        if (list[i].file_ino == st->st_ino && list[i].file_dev == st->st_dev) {
            snprintf(message, len, "in use: %s lies on it", list[i].name);
            err = -EBUSY;
        }
    free(list);
    return err < 0 ? err : swaps(root, swap_file, &w);
}
