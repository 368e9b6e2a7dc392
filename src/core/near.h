/*
 * near - the CPUs and the node that are near a block device, from sysfs.
 *
 * A device is as near as its controller: the PCI function above its disk tells its CPUs. A
 * volume, a partition or a loop device is near what its disks are near (together). What has no
 * controller (zram, a loop device over memory) or a machine that does not say is not tied: all
 * CPUs are equally near. Trees are read below a root prefix, "" is the machine.
 */
#ifndef IOLUA_CORE_NEAR_H
#define IOLUA_CORE_NEAR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "core/cpuset.h"

struct near {
    bool tied;                  /* false: no place, cpus are all that are online */
    int node;                   /* OS number; -1 when not known or of several nodes */
    unsigned disks;             /* with a controller, that it lies on */
    struct cpuset cpus;         /* empty where the node has no CPU */
};

/* Near the device `dev` and all it lies on. 0, -ENODEV when sysfs does not know it, or another
 * -errno. */
int near_device(struct near *out, const char *root, dev_t dev);

/* Near one folder of sysfs (a disk's, a controller's), which need not be a block device. */
int near_folder(struct near *out, const char *root, const char *folder);

/* The folder of the controller above a folder of sysfs: the nearest one with local_cpulist, a
 * PCI function. For an NVMe multipath disk, its first path's. -ENODEV when there is none. */
int near_controller(char *out, size_t len, const char *folder);

#endif
