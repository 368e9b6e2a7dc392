/* core/near over trees of sysfs that this machine has not: nodes, volumes, multipath. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "check.h"
#include "core/near.h"

static char root[] = "/tmp/iolua-near-XXXXXX";

static const char *listed(const struct cpuset *set)
{
    static char text[256];

    cpuset_format(text, sizeof text, set);
    return text;
}

/* Make the file below the root, with its folders. */
__attribute__((format(printf, 2, 3))) static void put(const char *text, const char *form, ...)
{
    char path[512], name[400];
    va_list args;
    FILE *out;

    va_start(args, form);
    vsnprintf(name, sizeof name, form, args);
    va_end(args);
    snprintf(path, sizeof path, "%s/%s", root, name);
    for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')); at++) {
        *at = 0;
        mkdir(path, 0700);
        *at = '/';
    }
    out = fopen(path, "w");
    CHECK(out && fprintf(out, "%s\n", text) > 0 && fclose(out) == 0);
}

static void link_to(const char *target, const char *name)
{
    char path[512];

    put("", "%s.d/x", name);            /* only for its folders */
    snprintf(path, sizeof path, "%s/%s", root, name);
    CHECK_INT(symlink(target, path), 0);
}

/* A disk `name` with number maj:min behind a PCI function. */
static void disk(const char *name, const char *number, const char *pci, const char *node,
                 const char *cpus)
{
    char folder[300], target[400], link[64];

    snprintf(folder, sizeof folder, "sys/devices/pci0000:00/%s", pci);
    put(node, "%s/numa_node", folder);
    put(cpus, "%s/local_cpulist", folder);
    put(number, "%s/host0/block/%s/dev", folder, name);
    snprintf(target, sizeof target, "../../devices/pci0000:00/%s/host0/block/%s", pci, name);
    snprintf(link, sizeof link, "sys/dev/block/%s", number);
    link_to(target, link);
}

static void build(void)
{
    put("0-15", "sys/devices/system/cpu/online");
    disk("sda", "8:0", "0000:10:00.0", "0", "0-7");
    disk("sdb", "8:16", "0000:20:00.0", "1", "8-15");
    disk("sdc", "8:32", "0000:21:00.0", "1", "8-15");
    disk("sdd", "8:48", "0000:30:00.0", "2", "");               /* a node without CPUs */
    disk("sde", "8:64", "0000:40:00.0", "-1", "0-15");          /* firmware says nothing */
    put("8:1", "sys/devices/pci0000:00/0000:10:00.0/host0/block/sda/sda1/dev");
    put("1", "sys/devices/pci0000:00/0000:10:00.0/host0/block/sda/sda1/partition");
    link_to("../../devices/pci0000:00/0000:10:00.0/host0/block/sda/sda1", "sys/dev/block/8:1");
    put("253:0", "sys/devices/virtual/block/dm-0/dev");         /* on sdb and sdc */
    link_to("../../devices/virtual/block/dm-0", "sys/dev/block/253:0");
    put("8:16", "sys/devices/virtual/block/dm-0/slaves/sdb/dev");
    put("8:32", "sys/devices/virtual/block/dm-0/slaves/sdc/dev");
    put("253:1", "sys/devices/virtual/block/dm-1/dev");         /* on dm-0 and sda1 */
    link_to("../../devices/virtual/block/dm-1", "sys/dev/block/253:1");
    put("253:0", "sys/devices/virtual/block/dm-1/slaves/dm-0/dev");
    put("8:1", "sys/devices/virtual/block/dm-1/slaves/sda1/dev");
    put("252:0", "sys/devices/virtual/block/zram0/dev");
    link_to("../../devices/virtual/block/zram0", "sys/dev/block/252:0");
    put("1", "sys/devices/pci0000:00/0000:50:00.0/numa_node");
    put("8-15", "sys/devices/pci0000:00/0000:50:00.0/local_cpulist");
    put("x", "sys/devices/pci0000:00/0000:50:00.0/nvme/nvme0/model");
    put("259:0", "sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme0n1/dev");
    link_to("../../../pci0000:00/0000:50:00.0/nvme/nvme0",
            "sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme0");
    link_to("../../devices/virtual/nvme-subsystem/nvme-subsys0/nvme0n1", "sys/dev/block/259:0");
    put("1", "sys/devices/vmbus/numa_node");                    /* a controller without a list */
    put("8:80", "sys/devices/vmbus/host1/block/sdf/dev");
    link_to("../../devices/vmbus/host1/block/sdf", "sys/dev/block/8:80");
    put("8-15", "sys/devices/system/node/node1/cpulist");
}

static void every_kind_of_device_is_near_its_disks(void)
{
    static const struct { unsigned maj, min; const char *cpus; int node; unsigned disks;
                          bool tied; } rows[] = {
        { 8, 0, "0-7", 0, 1, true },            /* a disk */
        { 8, 1, "0-7", 0, 1, true },            /* its partition */
        { 8, 16, "8-15", 1, 1, true },
        { 253, 0, "8-15", 1, 2, true },         /* a volume on one node */
        { 253, 1, "0-15", -1, 3, true },        /* a volume of volumes on two */
        { 8, 48, "", 2, 1, true },              /* its node has no CPU */
        { 8, 64, "0-15", -1, 1, false },
        { 252, 0, "0-15", -1, 0, false },       /* memory: no controller at all */
        { 259, 0, "8-15", 1, 1, true },         /* NVMe multipath */
        { 8, 80, "8-15", 1, 1, true },          /* by its node's CPUs */
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct near near;

        CHECK_INT(near_device(&near, root, makedev(rows[i].maj, rows[i].min)), 0);
        CHECK_STR(listed(&near.cpus), rows[i].cpus);
        CHECK_INT(near.node, rows[i].node);
        CHECK_INT(near.disks, rows[i].disks);
        CHECK_INT(near.tied, rows[i].tied);
    }
}

static void an_unknown_device_is_an_error(void)
{
    struct near near;

    CHECK_INT(near_device(&near, root, makedev(9, 9)), -ENODEV);
}

static void the_controller_is_the_pci_function(void)
{
    char folder[512], want[512];

    snprintf(folder, sizeof folder, "%s/sys/devices/pci0000:00/0000:10:00.0/host0/block/sda", root);
    snprintf(want, sizeof want, "%s/sys/devices/pci0000:00/0000:10:00.0", root);
    CHECK_INT(near_controller(folder, sizeof folder, folder), 0);
    CHECK_STR(folder, want);
    snprintf(folder, sizeof folder, "%s/sys/devices/virtual/block/zram0", root);
    CHECK_INT(near_controller(folder, sizeof folder, folder), -ENODEV);
}

int main(void)
{
    char command[64];

    if (!mkdtemp(root))
        return 2;
    build();
    CASE(every_kind_of_device_is_near_its_disks);
    CASE(an_unknown_device_is_an_error);
    CASE(the_controller_is_the_pci_function);
    snprintf(command, sizeof command, "rm -r %s", root);
    if (system(command) != 0)
        return 2;
    return DONE();
}
