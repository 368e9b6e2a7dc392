/*
 * busy - who uses a device or file now: mounts in any namespace we can see, swap, volumes and
 * loop devices on it. Looking opens nothing but loop devices, for reading.
 */
#ifndef IOLUA_CORE_BUSY_H
#define IOLUA_CORE_BUSY_H

#include <stddef.h>
#include <sys/stat.h>

/*
 * 0 when nobody is known to use the block device dev, its partitions, what it is made of or
 * what is on it; -EBUSY with who in message ("in use: its partition sda1 is mounted on /home").
 * Another -errno when that cannot be found out.
 */
int busy_device(const char *root, dev_t dev, char *message, size_t len);

/* The same for a regular file: a swap file, or under a loop device. */
int busy_file(const char *root, const struct stat *st, char *message, size_t len);

#endif
