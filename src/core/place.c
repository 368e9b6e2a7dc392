#include <errno.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/place.h"

#define NODES 1024u             /* the most a Linux kernel can be built for */

/* What the process could use when it first asked; constant after that. Affinity is narrowed by
 * our own pinning, so it cannot be asked for again later. */
static struct cpuset given;
static int given_result;
static pthread_once_t given_once = PTHREAD_ONCE_INIT;

/* The start of a small file as a string. Its length or -errno. */
static int read_text(const char *path, char *text, size_t len)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC), err = 0;
    size_t used = 0;
    ssize_t n;

    if (fd < 0)
        return -errno;
    while (used < len - 1 && (n = read(fd, text + used, len - 1 - used)) != 0) {
        if (n < 0) {
            err = -errno;
            break;
        }
        used += (size_t)n;
    }
    close(fd);
    text[used] = 0;
    return err < 0 ? err : (int)used;
}

/* The CPU list in a file of one line. */
static int read_list(const char *path, struct cpuset *out)
{
    char text[32768], message[8];
    int n = read_text(path, text, sizeof text);

    if (n < 0)
        return n;
    return cpuset_parse(out, text, strcspn(text, "\n"), message, sizeof message);
}

/* The thread's mask as the kernel keeps it, with CPUs that are offline just now, which
 * sched_getaffinity leaves out. */
static int read_given(struct cpuset *out)
{
    static const char key[] = "\nCpus_allowed_list:\t";
    char text[32768], message[8];
    int n = read_text("/proc/thread-self/status", text, sizeof text);
    char *at = n < 0 ? NULL : strstr(text, key);

    if (!at)
        return place_pinned(out);
    at += sizeof key - 1;
    return cpuset_parse(out, at, strcspn(at, "\n"), message, sizeof message);
}

static void read_given_once(void)
{
    given_result = read_given(&given);
}

int place_pinned(struct cpuset *out)
{
    struct cpuset set;

    cpuset_zero(&set);
    if (sched_getaffinity(0, sizeof set, (cpu_set_t *)(void *)&set) < 0)
        return -errno;
    *out = set;
    return 0;
}

int place_cpus(struct place_cpus *out)
{
    pthread_once(&given_once, read_given_once);
    if (given_result < 0)
        return given_result;
    if (read_list("/sys/devices/system/cpu/online", &out->online) < 0)
        out->online = given;
    if (read_list("/sys/devices/system/cpu/present", &out->present) < 0)
        out->present = out->online;
    cpuset_and(&out->allowed, &given, &out->online);
    return 0;
}

/* The sentence for the members of set outside `valid`; err when there are any, else 0. */
static int outside(const struct cpuset *set, const struct cpuset *valid, int err,
                   const char *what, const char *group, char *message, size_t len)
{
    struct cpuset bad;
    char names[64], all[128];

    if (cpuset_subset(set, valid))
        return 0;
    cpuset_minus(&bad, set, valid);
    snprintf(message, len, "CPU %s: %s; %s %s", cpuset_brief(names, sizeof names, &bad), what,
             group, cpuset_brief(all, sizeof all, valid));
    return err;
}

int place_check(const struct cpuset *set, const struct place_cpus *cpus, char *message,
                size_t len)
{
    char all[128];
    int err;

    if (cpuset_next(set, 0) < 0) {
        snprintf(message, len, "no CPU to run on; allowed here: %s",
                 cpuset_brief(all, sizeof all, &cpus->allowed));
        return -EINVAL;
    }
    err = outside(set, &cpus->present, -ENODEV, "absent", "this machine has", message, len);
    if (err == 0)
        err = outside(set, &cpus->online, -ENODEV, "offline", "online:", message, len);
    if (err == 0)
        err = outside(set, &cpus->allowed, -EPERM, "not allowed here (taskset or cgroup)",
                      "allowed:", message, len);
    return err;
}

int place_pin(const struct cpuset *set, char *message, size_t len)
{
    struct place_cpus cpus;
    struct cpuset now;
    char names[128];
    int err = place_cpus(&cpus);

    if (err < 0) {
        snprintf(message, len, "read the CPUs of this machine: %s", strerrordesc_np(-err));
        return err;
    }
    err = place_check(set, &cpus, message, len);
    if (err < 0)
        return err;
    if (sched_setaffinity(0, sizeof *set, (const cpu_set_t *)(const void *)set) < 0)
        err = -errno;
    else if ((err = place_pinned(&now)) == 0 && !cpuset_equal(set, &now))
        err = -EBUSY;           /* a cgroup narrowed it, or a CPU went away */
    if (err < 0)
        snprintf(message, len, "pin to CPU %s: %s", cpuset_brief(names, sizeof names, set),
                 err == -EBUSY ? "the kernel granted only a part" : strerrordesc_np(-err));
    return err;
}

int place_memory(void *mem, size_t len, unsigned node)
{
    unsigned long mask[NODES / (8 * sizeof(long))] = { 0 };
    char path[64];

    if (node >= NODES)
        return -ENODEV;
    mask[node / (8 * sizeof(long))] |= 1ul << node % (8 * sizeof(long));
    /* The kernel takes one bit less than maxnode says. */
    if (syscall(SYS_mbind, mem, len, MPOL_BIND, mask, (unsigned long)NODES + 1,
                MPOL_MF_STRICT | MPOL_MF_MOVE) == 0)
        return 0;
    if (errno == EINVAL && (uintptr_t)mem % (uintptr_t)sysconf(_SC_PAGESIZE) == 0)
        return -ENODEV;
    if (errno != ENOSYS || node != 0)
        return -errno;
    snprintf(path, sizeof path, "/sys/devices/system/node/node%u", node);
    return access(path, F_OK) < 0 ? 0 : -ENOSYS;        /* no nodes: all memory is node 0 */
}
