#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/attr.h"
#include "core/blk.h"
#include "core/family.h"
#include "core/near.h"

/* Is this attribute in the folder? */
static bool has(const char *folder, const char *name)
{
    char path[PATH_MAX];

    return snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path &&
           access(path, F_OK) == 0;
}

/* The CPU list in an attribute. 0 or -errno. */
static int read_list(struct cpuset *out, const char *folder, const char *name)
{
    char path[PATH_MAX], text[8 * ATTR_MAX], message[8];
    int n;

    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return -ENAMETOOLONG;
    n = attr_read(text, sizeof text, path);
    return n < 0 ? n : cpuset_parse(out, text, (size_t)n, message, sizeof message);
}

/* The node a folder names, or -1. */
static int read_node(const char *folder)
{
    char path[PATH_MAX], text[32], *end;
    long node;

    if (snprintf(path, sizeof path, "%s/numa_node", folder) >= (int)sizeof path ||
        attr_read(text, sizeof text, path) <= 0)
        return -1;
    node = strtol(text, &end, 10);
    return *end || node < 0 || node > 65535 ? -1 : (int)node;
}

/* One step up, not above sysfs's devices. False at the top. */
static bool up(char *folder)
{
    char *slash = strrchr(folder, '/');

    if (!slash || strstr(folder, "/sys/devices/") == NULL)
        return false;
    *slash = 0;
    return true;
}

/* The first path of an NVMe multipath disk: its subsystem's folder links to its controllers. */
static int multipath(char *out, size_t len, const char *folder)
{
    char path[PATH_MAX], real[PATH_MAX];
    struct dirent *e;
    DIR *d;
    int err = -ENODEV;

    if (!strstr(folder, "/nvme-subsystem/") ||
        snprintf(path, sizeof path, "%s/..", folder) >= (int)sizeof path)
        return -ENODEV;
    d = opendir(path);
    while (d && err < 0 && (e = readdir(d))) {
        if (strncmp(e->d_name, "nvme", 4) != 0 ||
            snprintf(path, sizeof path, "%s/../%s", folder, e->d_name) >= (int)sizeof path)
            continue;
        if (realpath(path, real) && !strstr(real, "/nvme-subsystem/"))
            err = near_controller(out, len, real);
    }
    if (d)
        closedir(d);
    return err;
}

int near_controller(char *out, size_t len, const char *folder)
{
    char real[PATH_MAX], at[PATH_MAX];

    if (!realpath(folder, real))
        return -errno;
    memcpy(at, real, sizeof at);
    do {
        if (!has(at, "local_cpulist"))
            continue;
        return snprintf(out, len, "%s", at) < (int)len ? 0 : -ENAMETOOLONG;
    } while (up(at));
    return multipath(out, len, real);
}

/* The first node named at or above a folder, where no controller lists its CPUs. */
static int node_above(const char *folder)
{
    char at[PATH_MAX];
    int node;

    if (!realpath(folder, at))
        return -1;
    do
        node = read_node(at);
    while (node < 0 && up(at));
    return node;
}

static int all_online(struct near *out, const char *root)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/sys/devices/system/cpu", root);
    out->tied = false;
    out->node = -1;
    return read_list(&out->cpus, path, "online");
}

int near_folder(struct near *out, const char *root, const char *folder)
{
    char controller[PATH_MAX], path[PATH_MAX];
    bool listed = near_controller(controller, sizeof controller, folder) == 0;
    int err;

    memset(out, 0, sizeof *out);
    out->node = listed ? read_node(controller) : node_above(folder);
    out->disks = listed || out->node >= 0;
    if (out->node < 0)
        return all_online(out, root);
    out->tied = true;
    if (listed)
        return read_list(&out->cpus, controller, "local_cpulist");
    snprintf(path, sizeof path, "%s/sys/devices/system/node/node%d", root, out->node);
    err = read_list(&out->cpus, path, "cpulist");
    return err == -ENOENT ? all_online(out, root) : err;
}

/* Add what one disk is near to what the others are. */
static void join(struct near *all, const struct near *one)
{
    if (!one->disks)
        return;
    if (all->disks++ == 0) {
        all->node = one->node;
        all->tied = one->tied;
    }
    if (all->node != one->node)
        all->node = -1;
    all->tied = all->tied && one->tied;
    cpuset_or(&all->cpus, &all->cpus, &one->cpus);
}

/* A loop device over a file lies on what holds the file: add that. */
static int add_backing(struct dev_set *below, const char *root, const struct blk *b)
{
    char path[PATH_MAX];
    dev_t dev;

    if (blk_attr(path, sizeof path, b, "loop/backing_file") <= 0 ||
        blk_of_path(&dev, root, path) < 0)
        return 0;
    return family_below(below, root, dev);
}

int near_device(struct near *out, const char *root, dev_t dev)
{
    struct dev_set below = { 0 };
    struct near all = { .node = -1 }, one;
    struct blk b;
    int err = blk_find(&b, root, dev);

    if (err == 0)
        err = family_below(&below, root, dev);
    for (unsigned i = 0; err >= 0 && i < below.n; i++) {
        if (blk_find(&b, root, below.dev[i]) < 0 || b.dev != b.disk)
            continue;                           /* a partition's disk is in the set too */
        err = add_backing(&below, root, &b);
        if (err >= 0)
            err = near_folder(&one, root, b.disk_sys);
        if (err >= 0)
            join(&all, &one);
    }
    dev_set_free(&below);
    if (err >= 0 && all.disks == 0)
        err = all_online(&all, root);
    if (err < 0)
        return err;
    *out = all;
    return 0;
}
