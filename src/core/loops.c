#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "core/attr.h"
#include "core/loops.h"

/* The kernel's huge_encode_dev: minor bits 0..7 and 20..31, major from bit 8. */
static dev_t decode(uint64_t d)
{
    return makedev((unsigned)((d >> 8) & 0xfff),
                   (unsigned)((d & 0xff) | ((d >> 12) & 0xffffff00u)));
}

/* What the device itself says: right even when the path is gone or of another namespace. */
static bool ask_device(struct loop *l)
{
    char path[64];
    struct loop_info64 info;
    struct stat st;
    int fd, ok;

    snprintf(path, sizeof path, "/dev/%s", l->name);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return false;
    ok = fstat(fd, &st) == 0 && st.st_rdev == l->dev && ioctl(fd, LOOP_GET_STATUS64, &info) == 0;
    close(fd);
    if (!ok)
        return false;
    l->file_dev = decode(info.lo_device);
    l->file_ino = info.lo_inode;
    l->rdev = decode(info.lo_rdevice);
    return true;
}

static void ask_path(struct loop *l, const char *root)
{
    char path[PATH_MAX];
    struct stat st;

    if (snprintf(path, sizeof path, "%s%s", root, l->file) >= (int)sizeof path)
        return;
    if (stat(path, &st) < 0)
        return;
    l->file_dev = st.st_dev;
    l->file_ino = st.st_ino;
    l->rdev = S_ISBLK(st.st_mode) ? st.st_rdev : 0;
}

/* One entry of /sys/block; false when it is no loop device that is set up. */
static bool look(struct loop *l, const char *root, const char *name)
{
    char path[PATH_MAX], text[32];
    unsigned maj, min;

    memset(l, 0, sizeof *l);
    if (strncmp(name, "loop", 4) != 0 || strlen(name) >= sizeof l->name)
        return false;
    strcpy(l->name, name);
    snprintf(path, sizeof path, "%s/sys/block/%s/loop/backing_file", root, name);
    if (attr_read(l->file, sizeof l->file, path) < 0)
        return false;
    snprintf(path, sizeof path, "%s/sys/block/%s/dev", root, name);
    if (attr_read(text, sizeof text, path) < 0 || sscanf(text, "%u:%u", &maj, &min) != 2)
        return false;
    l->dev = makedev(maj, min);
    if (root[0] || !ask_device(l))
        ask_path(l, root);
    return true;
}

int loops_list(struct loop **list, const char *root)
{
    char path[PATH_MAX];
    struct loop *found = NULL, one;
    struct dirent *e;
    int n = 0;
    DIR *d;

    snprintf(path, sizeof path, "%s/sys/block", root);
    d = opendir(path);
    while (d && (e = readdir(d))) {
        struct loop *grown;

        if (!look(&one, root, e->d_name))
            continue;
        grown = realloc(found, ((size_t)n + 1) * sizeof *found);
        if (!grown) {
            free(found);
            closedir(d);
            return -ENOMEM;
        }
        found = grown;
        found[n++] = one;
    }
    if (d)
        closedir(d);
    *list = found;
    return n;
}
