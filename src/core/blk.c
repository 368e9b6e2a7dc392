#include <blkid/blkid.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "core/attr.h"
#include "core/blk.h"
#include "core/mounts.h"

int blk_number(dev_t *dev, const char *folder)
{
    char path[PATH_MAX], text[32];
    unsigned maj, min;
    int n;

    if (snprintf(path, sizeof path, "%s/dev", folder) >= (int)sizeof path)
        return -ENAMETOOLONG;
    n = attr_read(text, sizeof text, path);
    if (n < 0)
        return n;
    if (sscanf(text, "%u:%u", &maj, &min) != 2)
        return -EINVAL;
    *dev = makedev(maj, min);
    return 0;
}

static void last_name(char *name, const char *path)
{
    const char *slash = strrchr(path, '/');

    snprintf(name, BLK_NAME_MAX, "%.*s", BLK_NAME_MAX - 1, slash ? slash + 1 : path);
}

/* A partition's folder lies in its disk's. */
static int find_disk(struct blk *b)
{
    char path[PATH_MAX];
    char *slash;

    b->disk = b->dev;
    memcpy(b->disk_sys, b->sys, sizeof b->sys);
    snprintf(path, sizeof path, "%s/partition", b->sys);
    if (access(path, F_OK) == 0) {
        slash = strrchr(b->disk_sys, '/');
        if (slash)
            *slash = '\0';
        if (blk_number(&b->disk, b->disk_sys) < 0)
            return -ENODEV;
    }
    last_name(b->disk_name, b->disk_sys);
    return 0;
}

int blk_find(struct blk *b, const char *root, dev_t dev)
{
    char path[PATH_MAX], real[PATH_MAX];
    size_t len;

    snprintf(path, sizeof path, "%s/sys/dev/block/%u:%u", root, major(dev), minor(dev));
    if (!realpath(path, real))
        return errno == ENOENT ? -ENODEV : -errno;
    len = strlen(real);
    if (len >= BLK_SYS_MAX)
        return -ENAMETOOLONG;
    memset(b, 0, sizeof *b);
    memcpy(b->sys, real, len + 1);
    b->dev = dev;
    last_name(b->name, b->sys);
    return find_disk(b);
}

/* The device in the source of mount `id` of this process. */
static int source_of(dev_t *dev, const char *root, int id)
{
    struct mounts m;
    struct mount row;
    struct stat st;
    int err = mounts_open(&m, root, true);

    if (err < 0)
        return err;
    err = -ENODEV;
    while (err < 0 && mounts_next(&m, &row))
        if (row.id == id && row.source[0] == '/' && stat(row.source, &st) == 0
            && S_ISBLK(st.st_mode)) {
            *dev = st.st_rdev;
            err = 0;
        }
    mounts_close(&m);
    return err;
}

static int of_statx(dev_t *dev, const char *root, const struct statx *x)
{
    struct blk b;

    if (S_ISBLK(x->stx_mode)) {
        *dev = makedev(x->stx_rdev_major, x->stx_rdev_minor);
        return 0;
    }
    if (!S_ISREG(x->stx_mode) && !S_ISDIR(x->stx_mode))
        return -ENOTBLK;
    if (blk_find(&b, root, makedev(x->stx_dev_major, x->stx_dev_minor)) == 0) {
        *dev = b.dev;
        return 0;
    }
    return x->stx_mask & STATX_MNT_ID ? source_of(dev, root, (int)x->stx_mnt_id) : -ENODEV;
}

int blk_of_fd(dev_t *dev, const char *root, int fd)
{
    struct statx x;

    if (statx(fd, "", AT_EMPTY_PATH, STATX_TYPE | STATX_MNT_ID, &x) < 0)
        return -errno;
    return of_statx(dev, root, &x);
}

int blk_of_path(dev_t *dev, const char *root, const char *path)
{
    struct statx x;

    if (statx(AT_FDCWD, path, 0, STATX_TYPE | STATX_MNT_ID, &x) < 0)
        return -errno;
    return of_statx(dev, root, &x);
}

int blk_attr(char *text, size_t len, const struct blk *b, const char *name)
{
    char path[PATH_MAX];

    if (snprintf(path, sizeof path, "%s/%s", b->sys, name) >= (int)sizeof path)
        return -ENAMETOOLONG;
    return attr_read(text, len, path);
}

static int count(uint64_t *value, const char *folder, const char *name)
{
    char path[PATH_MAX], text[32], *end;
    int n;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    n = attr_read(text, sizeof text, path);
    if (n < 0)
        return n;
    errno = 0;
    *value = strtoull(text, &end, 10);
    return errno || end == text || *end ? -EINVAL : 0;
}

int blk_size(uint64_t *bytes, const struct blk *b)
{
    uint64_t sectors;
    int err = count(&sectors, b->sys, "size");

    if (err == 0)
        *bytes = sectors * 512;
    return err;
}

int blk_logical(uint32_t *bytes, const struct blk *b)
{
    uint64_t value;
    int err = count(&value, b->disk_sys, "queue/logical_block_size");

    if (err == 0)
        *bytes = (uint32_t)value;
    return err;
}

static const char *value(blkid_probe probe, const char *name)
{
    const char *text;

    return blkid_probe_lookup_value(probe, name, &text, NULL) == 0 ? text : NULL;
}

/* "ext4 filesystem (home)", "dos partition table", "LVM2_member": what wipefs would name. */
static void describe(char *text, size_t len, blkid_probe probe)
{
    const char *type = value(probe, "TYPE"), *table = value(probe, "PTTYPE");
    const char *usage = value(probe, "USAGE"), *label = value(probe, "LABEL");
    bool named = label && label[0];

    if (!type)
        snprintf(text, len, "%s partition table", table ? table : "unknown");
    else
        snprintf(text, len, "%s%s%s%s%s", type,
                 usage && strcmp(usage, "filesystem") == 0 ? " filesystem" : "",
                 named ? " (" : "", named ? label : "", named ? ")" : "");
}

/* A signature with a wrong checksum is somebody's data too: BADCSUM finds it. */
static int setup(blkid_probe probe, int fd)
{
    if (blkid_probe_set_device(probe, fd, 0, 0) != 0)
        return -EIO;
    blkid_probe_enable_superblocks(probe, 1);
    blkid_probe_set_superblocks_flags(probe, BLKID_SUBLKS_TYPE | BLKID_SUBLKS_USAGE
                                                 | BLKID_SUBLKS_LABEL | BLKID_SUBLKS_BADCSUM);
    blkid_probe_enable_partitions(probe, 1);
    return 0;
}

int blk_signature(char *text, size_t len, int fd)
{
    blkid_probe probe = blkid_new_probe();
    int err;

    if (!probe)
        return -ENOMEM;
    errno = 0;
    err = setup(probe, fd);
    if (err == 0) {
        int found = blkid_do_probe(probe);

        if (found == 0)
            describe(text, len, probe);
        err = found == 0 ? 1 : found == 1 ? 0 : -EIO;
    }
    blkid_free_probe(probe);
    return err;
}
