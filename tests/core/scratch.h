/*
 * scratch - a file of the tests' own, gone when the program ends.
 */
#ifndef IOLUA_TESTS_SCRATCH_H
#define IOLUA_TESTS_SCRATCH_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Make a file of `bytes` bytes, byte i being i / 512 mod 251; its path is in path[64]. */
static inline int scratch_file(char *path, size_t bytes)
{
    unsigned char block[512];
    int fd;

    snprintf(path, 64, "%s/iolua-test-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    fd = mkstemp(path);
    if (fd < 0)
        return -1;
    for (size_t at = 0; at < bytes; at += sizeof block) {
        size_t n = bytes - at < sizeof block ? bytes - at : sizeof block;

        memset(block, (int)(at / 512 % 251), sizeof block);
        if (write(fd, block, n) != (ssize_t)n)
            return -1;
    }
    return fd;
}

#endif
