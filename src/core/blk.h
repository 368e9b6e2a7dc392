/*
 * blk - what block device this is: its number and name, its disk, size and signature.
 *
 * A device is known by its number (dev_t): links and second nodes lead to the same one. Trees
 * are read below a root prefix: "" is the machine, another folder holds a copy of /proc and
 * /sys for tests. Nothing here opens a device or writes.
 */
#ifndef IOLUA_CORE_BLK_H
#define IOLUA_CORE_BLK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { BLK_NAME_MAX = 64, BLK_SYS_MAX = 512 };

struct blk {
    dev_t dev;
    dev_t disk;                         /* whole disk; dev itself where it is not a partition */
    char name[BLK_NAME_MAX];            /* the kernel's: "sda1", "dm-3", "cciss!c0d0" */
    char disk_name[BLK_NAME_MAX];
    char sys[BLK_SYS_MAX];              /* its folder in sysfs, with the prefix */
    char disk_sys[BLK_SYS_MAX];         /* of the disk: queue/ and mq/ are here */
};

/* Look dev up. -ENODEV when sysfs knows no such block device. */
int blk_find(struct blk *b, const char *root, dev_t dev);

/* The block device behind an open file: itself, or what holds the file's filesystem (found
 * through the mount's source where the filesystem's own number is anonymous, as btrfs's is).
 * -ENODEV where no device is known (tmpfs, overlay, network), -ENOTBLK for what is no file. */
int blk_of_fd(dev_t *dev, const char *root, int fd);

/* The same for a path, which is only looked at, never opened for I/O. */
int blk_of_path(dev_t *dev, const char *root, const char *path);

/* The device number in the attribute `dev` of a folder of sysfs. */
int blk_number(dev_t *dev, const char *folder);

/* Size in bytes, as sysfs has it; logical block size. */
int blk_size(uint64_t *bytes, const struct blk *b);
int blk_logical(uint32_t *bytes, const struct blk *b);

/* A file below the device's folder, as text; see attr_read. */
int blk_attr(char *text, size_t len, const struct blk *b, const char *name);

/* What a device holds, by libblkid: text like "ext4 filesystem", "dos partition table",
 * "LVM2_member", "crypto_LUKS". 1 something, 0 nothing known, -errno when it cannot be told.
 * fd must be open for buffered reading. */
int blk_signature(char *text, size_t len, int fd);

#endif
