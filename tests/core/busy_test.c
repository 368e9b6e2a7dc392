/* Who uses a device, on machines made of plain files: volumes, stacks, other namespaces. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "core/blk.h"
#include "core/busy.h"
#include "core/family.h"
#include "check.h"

static char root[64], message[512];

/* A file of the tree, with its folders. */
__attribute__((format(printf, 2, 3))) static void put(const char *path, const char *format, ...)
{
    char full[512], command[640];
    va_list args;
    FILE *f;

    snprintf(full, sizeof full, "%s%s", root, path);
    snprintf(command, sizeof command, "mkdir -p \"$(dirname '%s')\"", full);
    CHECK_INT(system(command), 0);
    f = fopen(full, "w");
    va_start(args, format);
    vfprintf(f, format, args);
    va_end(args);
    fclose(f);
}

static void tie(const char *path, const char *to)
{
    char command[1024];

    snprintf(command, sizeof command,
             "mkdir -p \"$(dirname '%s%s')\" && ln -sfn '%s%s' '%s%s'", root, path, root, to, root,
             path);
    CHECK_INT(system(command), 0);
}

/* A disk or, with a disk before the slash, a partition: "sda", "sda/sda1". */
static void device(const char *where, unsigned minor)
{
    char path[256], link[64];

    snprintf(path, sizeof path, "/sys/devices/block/%s/dev", where);
    put(path, "8:%u\n", minor);
    snprintf(path, sizeof path, "/sys/devices/block/%s/size", where);
    put(path, "2048\n");
    if (strchr(where, '/')) {
        snprintf(path, sizeof path, "/sys/devices/block/%s/partition", where);
        put(path, "1\n");
    }
    snprintf(path, sizeof path, "/sys/devices/block/%s", where);
    snprintf(link, sizeof link, "/sys/dev/block/8:%u", minor);
    tie(link, path);
}

/* upper is a volume on lower. */
static void stack(const char *upper, const char *lower)
{
    char link[256], to[256];
    const char *name = strrchr(lower, '/');

    snprintf(link, sizeof link, "/sys/devices/block/%s/slaves/%s", upper, name ? name + 1 : lower);
    snprintf(to, sizeof to, "/sys/devices/block/%s", lower);
    tie(link, to);
    snprintf(link, sizeof link, "/sys/devices/block/%s/holders/%s", lower, upper);
    snprintf(to, sizeof to, "/sys/devices/block/%s", upper);
    tie(link, to);
}

/*
 * sda (0) with sda1 (1) and sda2 (2); dm-0 (10) on sda2, dm-1 (11) on dm-0; sdb (20) empty;
 * sdc (30) with sdc1 (31) and sdc2 (32).
 */
static void machine(const char *mountinfo)
{
    char command[128];

    snprintf(command, sizeof command, "rm -rf %s/*", root);
    CHECK_INT(system(command), 0);
    device("sda", 0);
    device("sda/sda1", 1);
    device("sda/sda2", 2);
    device("dm-0", 10);
    device("dm-1", 11);
    device("sdb", 20);
    device("sdc", 30);
    device("sdc/sdc1", 31);
    device("sdc/sdc2", 32);
    put("/sys/devices/block/dm-1/dm/name", "vg-root\n");
    stack("dm-0", "sda/sda2");
    stack("dm-1", "dm-0");
    put("/proc/self/mountinfo", "%s", mountinfo);
}

static int busy(unsigned minor)
{
    message[0] = '\0';
    return busy_device(root, makedev(8, minor), message, sizeof message);
}

static void nobody_uses_a_free_disk(void)
{
    machine("30 1 0:22 / /proc rw - proc proc rw\n");
    CHECK_INT(busy(20), 0);
    CHECK_INT(busy(11), 0);             /* the top of the stack: what is below is not in use */
    CHECK_INT(busy(31), 0);
}

static void a_volume_holds_what_it_lies_on(void)
{
    machine("");
    CHECK_INT(busy(10), -EBUSY);
    CHECK_STR(message, "in use: dm-1 (vg-root) lies on it");
    CHECK_INT(busy(2), -EBUSY);
    CHECK_STR(message, "in use: dm-0 lies on it");
    CHECK_INT(busy(0), -EBUSY);         /* its partition's volume */
    CHECK_STR(message, "in use: dm-0 lies on it");
    CHECK_INT(busy(1), 0);              /* the neighbour */
}

static void a_mount_protects_all_that_it_lies_on(void)
{
    machine("36 1 8:11 / /home\\040of\\040all rw,noatime shared:1 master:2 - ext4 /dev/x rw\n");
    CHECK_INT(busy(11), -EBUSY);
    CHECK_STR(message, "in use: mounted on /home of all");
    CHECK_INT(busy(10), -EBUSY);
    CHECK_STR(message, "in use: dm-1 on it is mounted on /home of all");
    CHECK_INT(busy(2), -EBUSY);
    CHECK_INT(busy(0), -EBUSY);
    CHECK_STR(message, "in use: dm-1 on it is mounted on /home of all");
    CHECK_INT(busy(1), 0);
    CHECK_INT(busy(20), 0);
}

static void what_is_below_is_protected_too(void)
{
    machine("36 1 8:0 / /whole rw - ext4 /dev/sda rw\n");
    CHECK_INT(busy(1), -EBUSY);
    CHECK_STR(message, "in use: sda below it is mounted on /whole");
    CHECK_INT(busy(11), -EBUSY);
    CHECK_STR(message, "in use: sda below it is mounted on /whole");
}

static void a_partition_is_named(void)
{
    machine("36 1 8:31 / /boot rw - vfat /dev/sdc1 rw\n");
    CHECK_INT(busy(30), -EBUSY);
    CHECK_STR(message, "in use: its partition sdc1 is mounted on /boot");
    CHECK_INT(busy(32), 0);
}

static void other_namespaces_are_read(void)
{
    machine("");
    put("/proc/12/mountinfo", "1 1 0:5 / / rw - overlay overlay rw\n");
    put("/proc/99/mountinfo", "1 1 8:20 / /data rw - xfs /dev/sdb rw\n");
    put("/proc/nonsense/mountinfo", "1 1 8:30 / /no rw - xfs /dev/sdc rw\n");
    CHECK_INT(busy(20), -EBUSY);
    CHECK_STR(message, "in use: mounted on /data (in the mount namespace of process 99)");
    CHECK_INT(busy(30), 0);
}

static void broken_rows_are_passed_over(void)
{
    machine("\n1\n1 2 3\n1 1 8:x / / rw - ext4 /dev/sda rw\n1 1 8:20 / /a rw\n"
            "1 1 8:20 / /b rw -\n1 1 8:20 / /c rw - xfs\n");
    CHECK_INT(busy(20), -EBUSY);        /* the last says enough */
    CHECK_STR(message, "in use: mounted on /c");
}

static void what_cannot_be_found_out_is_an_error(void)
{
    machine("");
    CHECK_INT(busy(77), -ENODEV);
    CHECK_STR(message, "sysfs does not say what lies on it, so it may be in use");
    CHECK_INT(system((snprintf(message, sizeof message, "rm %s/proc/self/mountinfo", root),
                      message)), 0);
    CHECK_INT(busy(20), -ENOENT);
    CHECK_STR(message, "the mounts cannot be read, so it may be in use");
}

static void a_loop_device_is_found_by_its_path(void)
{
    struct stat st;
    char path[128];

    machine("");
    device("loop3", 43);
    put("/sys/devices/block/loop3/loop/backing_file", "/images/one file\n");
    tie("/sys/block/loop3", "/sys/devices/block/loop3");
    put("/images/one file", "x");
    snprintf(path, sizeof path, "%s/images/one file", root);
    CHECK_INT(stat(path, &st), 0);
    CHECK_INT(busy_file(root, &st, message, sizeof message), -EBUSY);
    CHECK_STR(message, "in use: loop3 lies on it");
    put("/images/other", "x");
    snprintf(path, sizeof path, "%s/images/other", root);
    CHECK_INT(stat(path, &st), 0);
    CHECK_INT(busy_file(root, &st, message, sizeof message), 0);
    put("/proc/swaps", "Filename Type Size Used Priority\n/images/other file 1 0 -2\n");
    CHECK_INT(busy_file(root, &st, message, sizeof message), -EBUSY);
    CHECK_STR(message, "in use: swap (/images/other)");
}

static void a_device_is_known_by_its_number(void)
{
    struct blk b;
    uint64_t bytes;

    machine("");
    CHECK_INT(blk_find(&b, root, makedev(8, 2)), 0);
    CHECK_STR(b.name, "sda2");
    CHECK_STR(b.disk_name, "sda");
    CHECK(b.disk == makedev(8, 0));
    CHECK_INT(blk_size(&bytes, &b), 0);
    CHECK_INT(bytes, 1048576);          /* sectors of 512 bytes, whatever the device's blocks */
    CHECK_INT(blk_find(&b, root, makedev(8, 99)), -ENODEV);
}

static void a_circle_of_holders_ends(void)
{
    struct dev_set set = { 0 };

    machine("");
    stack("dm-0", "dm-1");
    CHECK_INT(family_above(&set, root, makedev(8, 10)), 0);
    CHECK_INT(set.n, 2);
    dev_set_free(&set);
}

int main(void)
{
    char command[128];

    strcpy(root, "/tmp/iolua-busy-XXXXXX");
    if (!mkdtemp(root))
        return 1;
    CASE(nobody_uses_a_free_disk);
    CASE(a_volume_holds_what_it_lies_on);
    CASE(a_mount_protects_all_that_it_lies_on);
    CASE(what_is_below_is_protected_too);
    CASE(a_partition_is_named);
    CASE(other_namespaces_are_read);
    CASE(broken_rows_are_passed_over);
    CASE(what_cannot_be_found_out_is_an_error);
    CASE(a_loop_device_is_found_by_its_path);
    CASE(a_device_is_known_by_its_number);
    CASE(a_circle_of_holders_ends);
    snprintf(command, sizeof command, "rm -rf %s", root);
    return system(command) == 0 ? DONE() : 1;
}
