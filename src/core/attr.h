/*
 * attr - small text files of the kernel (sysfs, procfs, cgroups): read whole, write in one go.
 */
#ifndef IOLUA_CORE_ATTR_H
#define IOLUA_CORE_ATTR_H

#include <stddef.h>

/* Longest value: a page, as sysfs has it, and its NUL. */
enum { ATTR_MAX = 4097 };

/* Read path into text without its final newline; at most len - 1 bytes. Returns the length,
 * -E2BIG when the file holds more, or another -errno. */
int attr_read(char *text, size_t len, const char *path);

/* Write value in a single write(2), as attributes want it. The file must exist. 0 or -errno:
 * a short write is -EIO, what is no file (a device) -EINVAL. */
int attr_write(const char *path, const char *value);

#endif
