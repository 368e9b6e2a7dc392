/*
 * loops - the loop devices that are set up, and what each lies on.
 */
#ifndef IOLUA_CORE_LOOPS_H
#define IOLUA_CORE_LOOPS_H

#include <limits.h>
#include <sys/types.h>

struct loop {
    dev_t dev;                  /* the loop device */
    char name[32];              /* "loop3" */
    dev_t file_dev;             /* device and inode of the backing file, 0 when not known */
    ino_t file_ino;
    dev_t rdev;                 /* the backing block device, 0 for a file */
    char file[PATH_MAX];        /* as the kernel prints it */
};

/* All of them, to be freed by the caller. Returns their number or -errno. The backing file is
 * asked of the device where that may be opened, else found by its path. */
int loops_list(struct loop **list, const char *root);

#endif
