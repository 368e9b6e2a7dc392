/* core/place: refusals that name the CPU, and pinning as the kernel sees it. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "core/place.h"

static char message[256];

static struct cpuset list(const char *text)
{
    struct cpuset set;

    if (cpuset_parse(&set, text, strlen(text), message, sizeof message) < 0)
        cpuset_zero(&set);
    return set;
}

static void a_refusal_names_the_cpu_and_the_valid_ones(void)
{
    struct place_cpus cpus = { list("0-3,8-11"), list("0-2,8-11"), list("8-11") };
    struct cpuset set = list("5-7,9");

    CHECK_INT(place_check(&set, &cpus, message, sizeof message), -ENODEV);
    CHECK_STR(message, "CPU 5-7: absent; this machine has 0-3,8-11");
    set = list("3,9");
    CHECK_INT(place_check(&set, &cpus, message, sizeof message), -ENODEV);
    CHECK_STR(message, "CPU 3: offline; online: 0-2,8-11");
    set = list("1");
    CHECK_INT(place_check(&set, &cpus, message, sizeof message), -EPERM);
    CHECK_STR(message, "CPU 1: not allowed here (taskset or cgroup); allowed: 8-11");
    set = list("");
    CHECK_INT(place_check(&set, &cpus, message, sizeof message), -EINVAL);
    CHECK_STR(message, "no CPU to run on; allowed here: 8-11");
    set = list("8,11");
    CHECK_INT(place_check(&set, &cpus, message, sizeof message), 0);
}

/* In a thread of its own, so that the other cases are not pinned. */
static void *pin_each_in_turn(void *result)
{
    struct place_cpus cpus;
    struct cpuset one, now;
    unsigned here;

    if (place_cpus(&cpus) < 0)
        return result;
    for (int c = cpuset_next(&cpus.allowed, 0); c >= 0;
         c = cpuset_next(&cpus.allowed, (unsigned)c + 1)) {
        cpuset_zero(&one);
        cpuset_add(&one, (unsigned)c);
        if (place_pin(&one, message, sizeof message) < 0 || place_pinned(&now) < 0 ||
            !cpuset_equal(&one, &now) || getcpu(&here, NULL) < 0 || here != (unsigned)c)
            return result;
    }
    return NULL;
}

static void a_pinned_thread_runs_there_and_can_be_pinned_elsewhere(void)
{
    pthread_t thread;
    void *failed;

    CHECK_INT(pthread_create(&thread, NULL, pin_each_in_turn, message), 0);
    CHECK_INT(pthread_join(thread, &failed), 0);
    CHECK(failed == NULL);
}

static void an_absent_cpu_is_refused_and_nothing_changes(void)
{
    struct cpuset set = list("8191"), before, after;

    CHECK_INT(place_pinned(&before), 0);
    CHECK_INT(place_pin(&set, message, sizeof message), -ENODEV);
    CHECK(strstr(message, "CPU 8191: absent; this machine has ") == message);
    CHECK_INT(place_pinned(&after), 0);
    CHECK(cpuset_equal(&before, &after));
}

static void memory_is_bound_to_the_node_of_this_cpu(void)
{
    unsigned node;
    size_t len = 1 << 16;
    char *mem = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int mode = -1, err;

    CHECK(mem != MAP_FAILED);
    memset(mem, 1, len);                /* pages that exist are moved too */
    CHECK_INT(getcpu(NULL, &node), 0);
    err = place_memory(mem, len, node);
    if (err == 0 && syscall(SYS_get_mempolicy, &mode, NULL, 0, mem, 2 /* MPOL_F_ADDR */) == 0)
        CHECK_INT(mode, 2 /* MPOL_BIND */);
    if (err != -EPERM && err != -ENOSYS)
        CHECK_INT(err, 0);
    if (err == 0)
        CHECK_INT(place_memory(mem, len, 1000), -ENODEV);
    CHECK_INT(place_memory(mem, len, 4096), -ENODEV);
    if (err == 0)
        CHECK_INT(place_memory(mem + 1, len - 1, node), -EINVAL);
    munmap(mem, len);
}

int main(void)
{
    CASE(a_refusal_names_the_cpu_and_the_valid_ones);
    CASE(a_pinned_thread_runs_there_and_can_be_pinned_elsewhere);
    CASE(an_absent_cpu_is_refused_and_nothing_changes);
    CASE(memory_is_bound_to_the_node_of_this_cpu);
    return DONE();
}
