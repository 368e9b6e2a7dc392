/*
 * loopmake - a loop device over a file of our own, which goes by itself.
 *
 * It is detached by the kernel when its last descriptor is closed, so that not even kill -9
 * leaves one behind.
 */
#ifndef IOLUA_CORE_LOOPMAKE_H
#define IOLUA_CORE_LOOPMAKE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Set up a free loop device over the open file: *fd keeps it, path (64 bytes) leads to it. Its
 * I/O to the file is direct where the file can do that. 0, or -errno with a sentence.
 */
int loop_make(int *fd, char *path, int file, uint32_t block_size, char *message, size_t len);

#endif
