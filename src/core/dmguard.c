#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "core/attr.h"
#include "core/busy.h"
#include "core/dmguard.h"
#include "core/dmname.h"
#include "core/family.h"
#include "core/guard.h"

/* "8:16" and nothing else. */
static bool is_number(unsigned *maj, unsigned *min, const char *word)
{
    int used = 0;

    return sscanf(word, "%u:%u%n", maj, min, &used) == 2 && !word[used];
}

/* The node of a device by its number: /dev/block is udev's, and there need be no udev. */
static void node_of(char *path, size_t len, unsigned maj, unsigned min)
{
    struct blk b;

    if (blk_find(&b, "", makedev(maj, min)) < 0) {
        snprintf(path, len, "/dev/block/%u:%u", maj, min);
        return;
    }
    snprintf(path, len, "/dev/%s", b.name);
    for (char *c = path; *c; c++)
        if (*c == '!')
            *c = '/';
}

/* The device a word names, and a path to it: 1, 0 when it names none, -errno. */
static int device(dev_t *dev, char *path, size_t len, const char *word)
{
    unsigned maj, min;
    struct stat st;

    if (is_number(&maj, &min, word))
        node_of(path, len, maj, min);
    else if (snprintf(path, len, "%s", word) >= (int)len)
        return -ENAMETOOLONG;
    if (stat(path, &st) < 0)
        return path[0] == '/' ? -errno : 0;
    if (!S_ISBLK(st.st_mode))
        return path[0] == '/' && strchr(word, '/') ? -ENOTBLK : 0;
    *dev = st.st_rdev;
    return 1;
}

/* Are all that hold dev volumes of this run, and is there one? */
static bool held_by_us(dev_t dev)
{
    struct dev_set holders = { 0 };
    char uuid[DM_UUID_MAX + 1];
    bool ours = false;
    struct blk b;

    if (blk_find(&b, "", dev) < 0)
        return false;
    if (family_direct(&holders, "", &b, FAMILY_HOLDERS) == 0 && holders.n > 0) {
        ours = true;
        for (unsigned i = 0; ours && i < holders.n; i++)
            ours = blk_find(&b, "", holders.dev[i]) == 0 &&
                   blk_attr(uuid, sizeof uuid, &b, "dm/uuid") > 0 &&
                   strncmp(uuid, dm_prefix(), strlen(dm_prefix())) == 0;
    }
    dev_set_free(&holders);
    return ours;
}

/* The entry of destroy that names this very device, or NULL. */
static const char *given_up(const char *const *destroy, dev_t dev)
{
    struct stat st;

    for (; destroy && *destroy; destroy++)
        if (stat(*destroy, &st) == 0 && S_ISBLK(st.st_mode) && st.st_rdev == dev)
            return *destroy;
    return NULL;
}

static bool known(const struct dmguard *g, dev_t dev)
{
    for (unsigned i = 0; i < g->n; i++)
        if (g->devs[i] == dev)
            return true;
    return false;
}

static int word(struct dmguard *g, const char *text, const char *const *destroy, char *message,
                size_t len)
{
    char path[PATH_MAX];
    dev_t dev = 0;
    int err = device(&dev, path, sizeof path, text);

    if (err < 0)
        snprintf(message, len, "open %s: %s", path, strerrordesc_np(-err));
    if (err <= 0 || known(g, dev))
        return err < 0 ? err : 0;
    if (g->n == DM_DEPS_MAX) {
        snprintf(message, len, "a table of more than %d devices", DM_DEPS_MAX);
        return -E2BIG;
    }
    if (!held_by_us(dev))
        err = guard_device(path, given_up(destroy, dev), message, len);
    if (err >= 0)
        g->devs[g->n++] = dev;
    return err < 0 ? err : 0;
}

int dmguard_params(struct dmguard *g, const char *params, const char *const *destroy,
                   char *message, size_t len)
{
    char *copy = strdup(params), *rest = copy, *text;
    int err = copy ? 0 : -ENOMEM;

    if (!copy)
        snprintf(message, len, "memory of the table");
    while (err == 0 && (text = strsep(&rest, " \t")))
        if (text[0])
            err = word(g, text, destroy, message, len);
    free(copy);
    return err;
}

int dmguard_covers(const struct dmguard *g, const dev_t *devs, unsigned n, char *message,
                   size_t len)
{
    for (unsigned i = 0; i < n; i++)
        if (!known(g, devs[i])) {
            snprintf(message, len, "the table leads to device %u:%u, which it does not name as a "
                     "path or as MAJOR:MINOR", major(devs[i]), minor(devs[i]));
            return -EPERM;
        }
    return 0;
}

/* Has the process an open descriptor of dev? */
static bool opened(const char *pid, dev_t dev)
{
    char folder[64], path[340];
    struct dirent *e;
    struct stat st;
    bool found = false;
    DIR *d;

    snprintf(folder, sizeof folder, "/proc/%.20s/fd", pid);
    d = opendir(folder);
    while (d && !found && (e = readdir(d))) {
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        found = stat(path, &st) == 0 && S_ISBLK(st.st_mode) && st.st_rdev == dev;
    }
    if (d)
        closedir(d);
    return found;
}

int dmguard_holder(char *text, size_t len, dev_t dev)
{
    char path[64], name[32];
    struct dirent *e;
    int err = -ENOENT;
    DIR *d;

    if (busy_device("", dev, text, len) == -EBUSY) {
        if (strncmp(text, "in use: ", 8) == 0)
            memmove(text, text + 8, strlen(text + 8) + 1);
        return 0;
    }
    d = opendir("/proc");
    while (d && err < 0 && (e = readdir(d))) {
        if (!isdigit((unsigned char)e->d_name[0]) || !opened(e->d_name, dev))
            continue;
        snprintf(path, sizeof path, "/proc/%.20s/comm", e->d_name);
        if (attr_read(name, sizeof name, path) < 0)
            strcpy(name, "a program");
        snprintf(text, len, "%s (process %.20s)", name, e->d_name);
        err = 0;
    }
    if (d)
        closedir(d);
    return err;
}
