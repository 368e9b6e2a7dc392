/* The guard over real loop devices, with the image's bytes compared: needs root. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/guard.h"
#include "check.h"

enum { IMAGE_BYTES = 16 << 20 };

static char folder[64], image[128], loop[64], message[512];

/* Run a shell command; its status. */
__attribute__((format(printf, 1, 2))) static int sh(const char *format, ...)
{
    char command[512];
    va_list args;

    va_start(args, format);
    vsnprintf(command, sizeof command, format, args);
    va_end(args);
    return system(command);
}

/* First line a command prints. */
__attribute__((format(printf, 3, 4))) static bool line_of(char *text, size_t len,
                                                          const char *format, ...)
{
    char command[512];
    va_list args;
    FILE *pipe;
    bool ok;

    va_start(args, format);
    vsnprintf(command, sizeof command, format, args);
    va_end(args);
    pipe = popen(command, "r");
    ok = pipe && fgets(text, (int)len, pipe);
    if (pipe)
        ok = pclose(pipe) == 0 && ok;
    if (ok)
        text[strcspn(text, "\n")] = '\0';
    return ok;
}

static uint64_t sum_of(const char *path)
{
    unsigned char block[65536];
    uint64_t sum = 1469598103934665603u;
    ssize_t n;
    int fd = open(path, O_RDONLY);

    while ((n = read(fd, block, sizeof block)) > 0)
        for (ssize_t i = 0; i < n; i++)
            sum = (sum ^ block[i]) * 1099511628211u;
    close(fd);
    return sum;
}

/* A fresh image of zeros. */
static void new_image(const char *name)
{
    int fd;

    snprintf(image, sizeof image, "%s/%s", folder, name);
    fd = open(image, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && ftruncate(fd, IMAGE_BYTES) == 0);
    close(fd);
}

/* What the guard says about path. */
static int ask(const char *path, bool overwrite, const char *destroy)
{
    struct guard_ask a = { path, overwrite, false, destroy };
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err;

    if (fd < 0)
        return -errno;
    err = guard_write(fd, &a, message, sizeof message);
    close(fd);
    return err;
}

#define CHECK_SAYS(part) \
    (strstr(message, part) ? (void)0 : (check_str(__FILE__, __LINE__, "message", message, part)))


/* Set up a loop device over the image with losetup's options. */
static void attach(const char *options)
{
    if (!line_of(loop, sizeof loop, "losetup -f --show %s %s", options, image))
        loop[0] = '\0';
}

static void detach(const char *device)
{
    if (device[0])
        CHECK_INT(sh("losetup -d %s", device), 0);
}

static bool attached(const char *options)
{
    new_image("image");
    attach(options);
    return loop[0] != '\0';
}

#define NEED(options) do { if (!attached(options)) SKIP("no loop device can be set up"); } while (0)

/* Write bytes at a place of the image. */
static void put(off_t pos, const void *bytes, size_t len)
{
    int fd = open(image, O_WRONLY | O_CLOEXEC);

    CHECK(fd >= 0 && pwrite(fd, bytes, len, pos) == (ssize_t)len);
    close(fd);
}

/* Refused, and not a byte changed. */
static void check_refused(const char *path, const char *destroy, int err, const char *says)
{
    uint64_t before = sum_of(image);

    CHECK_INT(ask(path, true, destroy), err);
    CHECK_SAYS(says);
    CHECK(sum_of(image) == before);
}

static void a_free_device_may_be_written_and_is_claimed(void)
{
    struct guard_ask a = { loop, false, false, NULL };
    int fd, other;

    NEED("");
    fd = open(loop, O_RDONLY | O_CLOEXEC);
    CHECK_INT(guard_write(fd, &a, message, sizeof message), 0);
    CHECK_INT(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDWR);
    CHECK_INT(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    other = open(loop, O_RDWR | O_EXCL);
    CHECK(other < 0 && errno == EBUSY);
    CHECK_INT(ask(loop, false, NULL), -EBUSY);          /* by us, as by anybody */
    CHECK_SAYS("claimed");
    close(fd);
    CHECK_INT(ask(loop, false, NULL), 0);
    CHECK_INT(guard_device(loop, NULL, message, sizeof message), 0);
    CHECK_INT(guard_device(loop, NULL, message, sizeof message), 0);
    detach(loop);
}

static void the_claim_keeps_direct_and_sync(void)
{
    struct guard_ask a = { loop, false, false, NULL };
    int fd;

    NEED("");
    fd = open(loop, O_RDONLY | O_DIRECT | O_SYNC | O_CLOEXEC);
    CHECK_INT(guard_write(fd, &a, message, sizeof message), 0);
    CHECK_INT(fcntl(fd, F_GETFL) & (O_DIRECT | O_SYNC | O_ACCMODE), O_DIRECT | O_SYNC | O_RDWR);
    close(fd);
    detach(loop);
}

static void a_filesystem_is_lifted_only_by_its_own_name(void)
{
    char link[128], second[128];
    struct stat st;

    NEED("");
    CHECK_INT(sh("mkfs.ext4 -q -L precious %s", loop), 0);
    check_refused(loop, NULL, -EEXIST, "holds ext4 filesystem (precious)");
    check_refused(loop, "/dev/null", -EEXIST, "is no block device");
    check_refused(loop, "/dev/sdzz", -EEXIST, "names no device");
    check_refused(loop, "", -EEXIST, "names no device");
    check_refused(loop, strcmp(loop, "/dev/loop0") ? "/dev/loop0" : "/dev/loop1", -EEXIST,
                  "names another device");
    snprintf(link, sizeof link, "%s/by-id", folder);
    CHECK_INT(symlink(loop, link), 0);
    check_refused(link, NULL, -EEXIST, "ext4");
    CHECK_INT(stat(loop, &st), 0);
    snprintf(second, sizeof second, "%s/node", folder);
    CHECK_INT(mknod(second, S_IFBLK | 0600, st.st_rdev), 0);
    check_refused(second, NULL, -EEXIST, "ext4");
    CHECK_INT(ask(link, false, loop), 0);               /* by device number, not by name */
    CHECK_INT(ask(loop, false, link), 0);
    CHECK_INT(ask(loop, false, second), 0);
    unlink(link);
    unlink(second);
    detach(loop);
}

static void what_is_mounted_stays_refused(void)
{
    char point[128];

    NEED("");
    CHECK_INT(sh("mkfs.ext4 -q %s", loop), 0);
    snprintf(point, sizeof point, "%s/a place", folder);
    CHECK_INT(mkdir(point, 0700), 0);
    CHECK_INT(sh("mount -o ro %s '%s'", loop, point), 0);
    check_refused(loop, NULL, -EBUSY, "in use: mounted on ");
    CHECK_SAYS(point);
    check_refused(loop, loop, -EBUSY, "in use: mounted on ");
    CHECK_INT(umount(point), 0);
    rmdir(point);
    detach(loop);
}

static void a_mount_in_another_namespace_is_seen(void)
{
    char command[512];
    FILE *pipe;
    char line[64] = "";

    NEED("");
    CHECK_INT(sh("mkfs.ext4 -q %s", loop), 0);
    snprintf(command, sizeof command, "exec unshare -m sh -c 'mount -o ro %s /mnt && echo up; "
             "sleep 1; while [ -e %s/hold ]; do sleep 0.1; done'", loop, folder);
    CHECK_INT(sh("touch %s/hold", folder), 0);
    pipe = popen(command, "r");
    if (!pipe || !fgets(line, sizeof line, pipe) || strcmp(line, "up\n") != 0) {
        detach(loop);
        SKIP("no mount namespace of our own");
    }
    check_refused(loop, loop, -EBUSY, "in use: mounted on /mnt (in the mount namespace of ");
    CHECK_INT(sh("rm %s/hold", folder), 0);
    pclose(pipe);
    CHECK_INT(ask(loop, false, loop), 0);
    detach(loop);
}

/* A partition table of two Linux partitions, 4 MiB each. */
static void put_partitions(void)
{
    static const unsigned char entries[] = {
        0, 0, 0, 0, 0x83, 0, 0, 0, 0, 8, 0, 0, 0, 0x20, 0, 0,
        0, 0, 0, 0, 0x83, 0, 0, 0, 0, 0x28, 0, 0, 0, 0x20, 0, 0,
    };

    put(446, entries, sizeof entries);
    put(510, "\x55\xaa", 2);
}

static void a_mounted_partition_protects_its_disk_and_not_its_neighbour(void)
{
    char part[80], other[80], point[128];

    new_image("image");
    put_partitions();
    attach("-P");
    snprintf(part, sizeof part, "%sp1", loop);
    snprintf(other, sizeof other, "%sp2", loop);
    if (loop[0] && access(part, F_OK) < 0)              /* a kernel that reads no tables */
        sh("partx -a %s", loop);
    if (!loop[0] || access(part, F_OK) < 0) {
        detach(loop);
        SKIP("no loop device with partitions");
    }
    check_refused(loop, NULL, -EEXIST, "holds dos partition table");
    CHECK_INT(ask(loop, false, loop), 0);
    CHECK_INT(sh("mkfs.ext4 -q %s", part), 0);
    snprintf(point, sizeof point, "%s/point", folder);
    CHECK_INT(mkdir(point, 0700), 0);
    CHECK_INT(sh("mount -o ro %s %s", part, point), 0);
    check_refused(loop, loop, -EBUSY, "in use: its partition loop");
    CHECK_SAYS(point);
    check_refused(part, part, -EBUSY, "in use: mounted on ");
    CHECK_INT(ask(other, false, NULL), 0);
    CHECK_INT(umount(point), 0);
    rmdir(point);
    detach(loop);
}

static void swap_is_in_use(void)
{
    char says[160];

    NEED("");
    CHECK_INT(sh("mkswap -q %s >/dev/null", loop), 0);
    check_refused(loop, NULL, -EEXIST, "holds swap");
    if (sh("swapon %s", loop) != 0) {
        detach(loop);
        SKIP("swapon does not work here");
    }
    CHECK_INT(ask(loop, false, loop), -EBUSY);
    snprintf(says, sizeof says, "in use: swap (%s)", loop);
    CHECK_SAYS(says);
    CHECK_INT(sh("swapoff %s", loop), 0);
    detach(loop);
}

static void a_swap_file_is_in_use(void)
{
    int fd;

    new_image("swap");
    fd = open(image, O_WRONLY | O_CLOEXEC);
    CHECK(fd >= 0 && posix_fallocate(fd, 0, IMAGE_BYTES) == 0);
    close(fd);
    CHECK_INT(sh("mkswap -q %s >/dev/null", image), 0);
    if (sh("swapon %s 2>/dev/null", image) != 0)
        SKIP("swapon does not work on this filesystem");
    CHECK_INT(ask(image, true, NULL), -EBUSY);
    CHECK_SAYS("in use: swap");
    CHECK_INT(sh("swapoff %s", image), 0);
    CHECK_INT(ask(image, true, NULL), 0);
}

static void a_loop_device_is_known_from_below_and_above(void)
{
    char lower[64], upper[64], point[128];

    NEED("");
    check_refused(image, NULL, -EBUSY, "lies on it");   /* its file */
    strcpy(lower, loop);
    if (!line_of(upper, sizeof upper, "losetup -f --show %s", lower)) {
        detach(lower);
        SKIP("no second loop device");
    }
    check_refused(lower, NULL, -EBUSY, strrchr(upper, '/') + 1);
    CHECK_SAYS("lies on it");
    CHECK_INT(ask(upper, false, NULL), 0);
    CHECK_INT(sh("mkfs.ext4 -q %s", lower), 0);
    snprintf(point, sizeof point, "%s/point", folder);
    CHECK_INT(mkdir(point, 0700), 0);
    CHECK_INT(sh("mount -o ro %s %s", lower, point), 0);
    check_refused(upper, upper, -EBUSY, "below it is mounted on ");
    CHECK_INT(umount(point), 0);
    rmdir(point);
    detach(upper);
    detach(lower);
}

/* The magic numbers of LUKS (offset 0), LVM (label in sector 1) and md 1.2 (offset 4096). */
static void other_signatures_are_found(void)
{
    static const unsigned char md[12] = { 0xfc, 0x4e, 0x2b, 0xa9, 1 };
    static const unsigned char lvm[32] = "LABELONE\1\0\0\0\0\0\0\0\0\0\0\0\x20\0\0\0LVM2 001";

    NEED("");
    put(0, "LUKS\xba\xbe\0\1", 8);
    check_refused(loop, NULL, -EEXIST, "holds crypto_LUKS");
    CHECK_INT(ask(loop, false, loop), 0);
    put(0, "\0\0\0\0\0\0\0", 8);
    put(512, lvm, sizeof lvm);
    check_refused(loop, NULL, -EEXIST, "holds LVM2_member");
    put(512, "\0\0\0\0\0\0\0", 8);
    put(4096, md, sizeof md);
    put(4096 + 0x90, "\x08", 1);                        /* where the superblock says it is */
    check_refused(loop, NULL, -EEXIST, "holds linux_raid_member");
    put(4096, "\0\0\0", 4);
    CHECK_INT(ask(loop, false, NULL), 0);
    detach(loop);
}

static void a_read_only_device_is_refused(void)
{
    NEED("-r");
    check_refused(loop, loop, -EROFS, "read-only");
    detach(loop);
}

static void files_need_leave(void)
{
    struct guard_ask a = { image, false, true, NULL };
    char fifo[128];
    int fd;

    new_image("file");
    CHECK_INT(ask(image, false, NULL), -EPERM);
    CHECK_SAYS("overwrite = true");
    CHECK_SAYS(image);
    CHECK_INT(ask(image, true, NULL), 0);
    fd = open(image, O_RDONLY | O_CLOEXEC);
    CHECK_INT(guard_write(fd, &a, message, sizeof message), 0);
    close(fd);
    CHECK_INT(ask("/dev/null", false, NULL), -EPERM);
    CHECK_INT(ask("/dev/null", true, NULL), 0);
    CHECK_INT(ask(folder, true, NULL), -EISDIR);
    snprintf(fifo, sizeof fifo, "%s/fifo", folder);
    CHECK_INT(mkfifo(fifo, 0600), 0);
    CHECK_INT(ask(fifo, true, NULL), -EINVAL);
    CHECK_SAYS("a pipe");
    unlink(fifo);
}

static void files_of_the_kernel_are_no_target(void)
{
    CHECK_INT(ask("/proc/sys/vm/swappiness", true, NULL), -EPERM);
    CHECK_SAYS("a file that the kernel makes up");
    CHECK_INT(ask("/sys/kernel/mm/transparent_hugepage/enabled", true, NULL), -EPERM);
    if (access("/dev/mem", R_OK) == 0) {
        CHECK_INT(ask("/dev/mem", true, NULL), -EPERM);
        CHECK_SAYS("the machine's memory");
    }
}

static int may_create(const char *path)
{
    return guard_create(path, message, sizeof message);
}

static void no_file_is_made_in_dev(void)
{
    char path[160];

    CHECK_INT(may_create(""), -ENOENT);
    CHECK_INT(may_create("/dev/"), -EISDIR);
    CHECK_INT(may_create("/dev/sdzz"), -ENOENT);
    CHECK_SAYS("open /dev/sdzz: no such device");
    CHECK_INT(may_create("/dev//sdzz"), -ENOENT);
    CHECK_INT(may_create("/tmp/../dev/sdzz"), -ENOENT);
    CHECK_INT(may_create("/dev/shm/x"), 0);
    CHECK_INT(may_create("/x"), 0);
    CHECK_INT(may_create("x"), 0);
    snprintf(path, sizeof path, "%s/link", folder);
    CHECK_INT(symlink("/dev", path), 0);
    snprintf(path, sizeof path, "%s/link/sdzz", folder);
    CHECK_INT(may_create(path), -ENOENT);
    snprintf(path, sizeof path, "%s/no/file", folder);
    CHECK_INT(may_create(path), -ENOENT);
    CHECK_SAYS("No such file");
}

#define ROOT_CASE(fn) do { if (geteuid() == 0) CASE(fn); else CASE(needs_root); } while (0)

static void needs_root(void)
{
    SKIP("loop devices need root");
}

int main(void)
{
    strcpy(folder, "/tmp/iolua-guard-XXXXXX");
    if (!mkdtemp(folder))
        return 1;
    ROOT_CASE(a_free_device_may_be_written_and_is_claimed);
    ROOT_CASE(the_claim_keeps_direct_and_sync);
    ROOT_CASE(a_filesystem_is_lifted_only_by_its_own_name);
    ROOT_CASE(what_is_mounted_stays_refused);
    ROOT_CASE(a_mount_in_another_namespace_is_seen);
    ROOT_CASE(a_mounted_partition_protects_its_disk_and_not_its_neighbour);
    ROOT_CASE(swap_is_in_use);
    ROOT_CASE(a_swap_file_is_in_use);
    ROOT_CASE(a_loop_device_is_known_from_below_and_above);
    ROOT_CASE(other_signatures_are_found);
    ROOT_CASE(a_read_only_device_is_refused);
    CASE(files_need_leave);
    CASE(files_of_the_kernel_are_no_target);
    CASE(no_file_is_made_in_dev);
    sh("rm -r %s", folder);
    return DONE();
}
