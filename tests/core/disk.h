/*
 * disk - a loop device of a test's own, over a file that is already unlinked: its number as the
 * kernel's filters want it, and reads of it that reach the block layer one by one.
 */
#ifndef IOLUA_TESTS_DISK_H
#define IOLUA_TESTS_DISK_H

#include <fcntl.h>
#include <linux/loop.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { BLOCK = 4096, BLOCKS = 256 };

static char disk[64];           /* "/dev/loopN" while it exists */
static int disk_fd = -1;

static inline void drop_disk(void)
{
    if (disk_fd < 0)
        return;
    ioctl(disk_fd, LOOP_CLR_FD);
    close(disk_fd);
    disk_fd = -1;
}

/* A loop device over an unlinked file of this test. */
static inline int make_disk(void)
{
    struct loop_config config = { .block_size = 512 };
    char name[] = "/tmp/iolua-events-XXXXXX";
    int file = mkstemp(name), control = open("/dev/loop-control", O_RDWR | O_CLOEXEC), n;

    unlink(name);
    if (control < 0 || ftruncate(file, BLOCK * BLOCKS) < 0)
        return 0;
    for (int attempt = 0; attempt < 20 && disk_fd < 0; attempt++) {
        n = ioctl(control, LOOP_CTL_GET_FREE);
        snprintf(disk, sizeof disk, "/dev/loop%d", n);
        config.fd = (unsigned)file;
        disk_fd = open(disk, O_RDWR | O_DIRECT | O_CLOEXEC);
        if (disk_fd >= 0 && ioctl(disk_fd, LOOP_CONFIGURE, &config) < 0) {
            close(disk_fd);     /* another test was faster */
            disk_fd = -1;
        }
    }
    close(control);
    close(file);
    return disk_fd >= 0;
}

static inline unsigned long kernel_dev(void)
{
    struct stat st = { 0 };

    fstat(disk_fd, &st);
    return (unsigned long)major(st.st_rdev) << 20 | minor(st.st_rdev);
}

static inline void pin(int cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
}

static inline void read_blocks(unsigned n)
{
    void *block = aligned_alloc(BLOCK, BLOCK);

    for (unsigned i = 0; i < n; i++)
        if (pread(disk_fd, block, BLOCK, (off_t)(i % BLOCKS) * BLOCK) != BLOCK)
            abort();
    free(block);
}

#endif
