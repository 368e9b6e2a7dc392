#include <pthread.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "core/buf.h"
#include "core/fill.h"

static void a_buffer_is_zeroed_aligned_and_counted(void)
{
    struct buf *b = NULL, *huge = NULL;

    CHECK_INT(buf_open(&b, 5000), 0);
    CHECK_INT((uintptr_t)b->mem % 4096, 0);
    CHECK_INT(b->mem[0] | b->mem[4999], 0);
    CHECK_INT(buf_alive(), 1);
    CHECK_INT(buf_open(&huge, (size_t)4 << 20), 0);
    CHECK_INT((uintptr_t)huge->mem % (2 << 20), 0);
    CHECK_INT(buf_bytes(), 8192 + (4 << 20));
    buf_unref(b);
    buf_unref(huge);
    CHECK_INT(buf_alive(), 0);
    CHECK_INT(buf_bytes(), 0);
}

static void it_lives_until_the_last_reference_is_dropped(void)
{
    struct buf *b = NULL;

    CHECK_INT(buf_open(&b, 1), 0);
    buf_ref(b);
    buf_unref(b);
    CHECK_INT(buf_alive(), 1);
    b->mem[0] = 7;
    buf_unref(b);
    CHECK_INT(buf_alive(), 0);
    buf_unref(NULL);
}

static void sizes_out_of_range_are_refused(void)
{
    struct buf *b = NULL;

    CHECK_INT(buf_open(&b, 0), -22);
    CHECK_INT(buf_open(&b, BUF_LEN_MAX + 1), -22);
    CHECK(b == NULL);
    CHECK_INT(buf_alive(), 0);
}

static void *drop(void *arg)
{
    for (int i = 0; i < 100000; i++) {
        buf_ref(arg);
        buf_unref(arg);
    }
    return NULL;
}

static void references_may_be_dropped_on_any_thread(void)
{
    struct buf *b = NULL;
    pthread_t t[2];

    CHECK_INT(buf_open(&b, 4096), 0);
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, drop, b);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    CHECK_INT(buf_alive(), 1);
    buf_unref(b);
    CHECK_INT(buf_alive(), 0);
}

/* Under DMA a copy-on-write page would move: the child must not have it at all. */
static void a_child_does_not_inherit_the_memory(void)
{
    struct buf *b = NULL;
    int status;
    pid_t pid;

    CHECK_INT(buf_open(&b, 4096), 0);
    pid = fork();
    if (pid == 0) {
        char reach[1];
        int fd[2];

        if (pipe(fd) < 0)
            _exit(2);
        _exit(write(fd[1], b->mem, sizeof reach) < 0 ? 0 : 1);  /* EFAULT: not mapped */
    }
    waitpid(pid, &status, 0);
    CHECK_INT(WEXITSTATUS(status), 0);
    buf_unref(b);
}

/* Random bytes: a chi-square of 255 degrees of freedom is below 330.5 in 99.9 % of cases. */
static void random_contents_do_not_compress(void)
{
    static unsigned char mem[1 << 20];
    double chi = 0, expected = sizeof mem / 256.0;
    unsigned counts[256] = { 0 };
    struct rng r;

    rng_seed(&r, 1, 0);
    fill_random(mem, sizeof mem, &r);
    for (size_t i = 0; i < sizeof mem; i++)
        counts[mem[i]]++;
    for (int i = 0; i < 256; i++)
        chi += (counts[i] - expected) * (counts[i] - expected) / expected;
    CHECK(chi < 330.5);
}

static void compressible_contents_have_their_share_of_zeros(void)
{
    static unsigned char mem[1 << 20];
    size_t zeros = 0;
    struct rng r;

    rng_seed(&r, 1, 0);
    fill_compressible(mem, sizeof mem, 75, &r);
    for (size_t i = 0; i < sizeof mem; i++)
        zeros += mem[i] == 0;
    CHECK(zeros >= sizeof mem / 4 * 3 && zeros < sizeof mem / 4 * 3 + sizeof mem / 256);
    fill_compressible(mem, 5000, 100, &r);
    CHECK_INT(mem[0] | mem[4999], 0);
}

int main(void)
{
    CASE(a_buffer_is_zeroed_aligned_and_counted);
    CASE(it_lives_until_the_last_reference_is_dropped);
    CASE(sizes_out_of_range_are_refused);
    CASE(references_may_be_dropped_on_any_thread);
    CASE(a_child_does_not_inherit_the_memory);
    CASE(random_contents_do_not_compress);
    CASE(compressible_contents_have_their_share_of_zeros);
    return DONE();
}
