#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/family.h"
#include "core/loops.h"

bool dev_set_has(const struct dev_set *set, dev_t dev)
{
    for (unsigned i = 0; i < set->n; i++)
        if (set->dev[i] == dev)
            return true;
    return false;
}

int dev_set_add(struct dev_set *set, dev_t dev)
{
    if (dev_set_has(set, dev))
        return 0;
    if (set->n == set->cap) {
        unsigned cap = set->cap ? 2 * set->cap : 16;
        dev_t *grown = realloc(set->dev, cap * sizeof *grown);

        if (!grown)
            return -ENOMEM;
        set->dev = grown;
        set->cap = cap;
    }
    set->dev[set->n++] = dev;
    return 1;
}

void dev_set_free(struct dev_set *set)
{
    free(set->dev);
    memset(set, 0, sizeof *set);
}

/* Add the devices whose folders lie in folder; with `marker`, those that contain that file. */
static int add_folders(struct dev_set *set, const char *folder, const char *marker)
{
    DIR *d = opendir(folder);
    struct dirent *e;
    char path[PATH_MAX];
    dev_t dev;
    int err = 0;

    if (!d)
        return errno == ENOENT ? 0 : -errno;
    while (err >= 0 && (e = readdir(d))) {
        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s/%s", folder, e->d_name, marker);
        if (marker[0] && access(path, F_OK) < 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (blk_number(&dev, path) == 0)
            err = dev_set_add(set, dev);
    }
    closedir(d);
    return err < 0 ? err : 0;
}

/* Loop devices know what they lie on, and nothing in sysfs knows them the other way round. */
static int add_loops(struct dev_set *set, const char *root, dev_t dev,
                     enum family_relation relation)
{
    struct loop *list;
    int n = loops_list(&list, root), err = 0;

    for (int i = 0; err >= 0 && i < n; i++) {
        if (relation == FAMILY_HOLDERS && list[i].rdev == dev)
            err = dev_set_add(set, list[i].dev);
        if (relation == FAMILY_PARENTS && list[i].dev == dev && list[i].rdev)
            err = dev_set_add(set, list[i].rdev);
    }
    if (n >= 0)
        free(list);
    return err < 0 ? err : 0;
}

int family_direct(struct dev_set *set, const char *root, const struct blk *b,
                enum family_relation relation)
{
    char path[PATH_MAX];
    int err;

    switch (relation) {
    case FAMILY_PARTITIONS:
        return b->disk == b->dev ? add_folders(set, b->sys, "partition") : 0;
    case FAMILY_PARENTS:
        if (b->disk != b->dev && (err = dev_set_add(set, b->disk)) < 0)
            return err;
        snprintf(path, sizeof path, "%s/slaves", b->sys);
        break;
    case FAMILY_HOLDERS:
        snprintf(path, sizeof path, "%s/holders", b->sys);
        break;
    }
    err = add_folders(set, path, "");
    return err < 0 ? err : add_loops(set, root, b->dev, relation);
}

/* Add what is related to every member of the set, also to those added meanwhile. */
static int close_over(struct dev_set *set, const char *root, const enum family_relation *relations,
                      unsigned n)
{
    struct blk b;
    int err = 0;

    for (unsigned i = 0; err >= 0 && i < set->n; i++) {
        err = blk_find(&b, root, set->dev[i]);
        for (unsigned r = 0; err >= 0 && r < n; r++)
            err = family_direct(set, root, &b, relations[r]);
        if (err == -ENODEV)             /* it went away while we looked */
            err = 0;
    }
    return err;
}

int family_below(struct dev_set *set, const char *root, dev_t dev)
{
    static const enum family_relation up[] = { FAMILY_PARENTS };
    int err = dev_set_add(set, dev);

    return err < 0 ? err : close_over(set, root, up, 1);
}

int family_above(struct dev_set *set, const char *root, dev_t dev)
{
    static const enum family_relation down[] = { FAMILY_PARTITIONS, FAMILY_HOLDERS };
    int err = dev_set_add(set, dev);

    return err < 0 ? err : close_over(set, root, down, 2);
}
