/* Punts counted by the kernel against a known number of requests that io_uring must punt. */
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "core/events.h"

/* n reads with IOSQE_ASYNC: each one is handed to a worker, by definition. */
static void punt(unsigned n, unsigned flags)
{
    struct io_uring ring;
    char byte;
    int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);

    if (io_uring_queue_init(8, &ring, 0) < 0)
        abort();
    for (unsigned i = 0; i < n; i++) {
        struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);
        struct io_uring_cqe *cqe;

        io_uring_prep_read(sqe, fd, &byte, 1, 0);
        sqe->flags |= flags;
        io_uring_submit(&ring);
        io_uring_wait_cqe(&ring, &cqe);
        io_uring_cqe_seen(&ring, cqe);
    }
    io_uring_queue_exit(&ring);
    close(fd);
}

static void *thread(void *arg)
{
    punt(*(unsigned *)arg, IOSQE_ASYNC);
    return NULL;
}

static struct events_punts *p;

static int opened(void)
{
    char why[256] = "";
    int err = events_punts_open(&p, why, sizeof why);

    if (err == -EACCES || err == -ENOENT) {
        CHECK(why[0] != '\0');
        return 0;
    }
    CHECK_INT(err, 0);
    return err == 0;
}

static void each_forced_punt_is_counted_once(void)
{
    if (!opened())
        SKIP("needs root and io_uring's tracepoints");
    CHECK_INT(events_punts_read(p), 0);
    punt(37, IOSQE_ASYNC);
    CHECK_INT(events_punts_read(p), 37);
    events_punts_close(p);
}

static void a_request_that_does_not_wait_is_none(void)
{
    struct io_uring ring;
    struct io_uring_cqe *cqe;

    if (!opened())
        SKIP("needs root and io_uring's tracepoints");
    if (io_uring_queue_init(8, &ring, 0) < 0)
        abort();
    for (unsigned i = 0; i < 5; i++) {
        io_uring_prep_nop(io_uring_get_sqe(&ring));
        io_uring_submit(&ring);
        io_uring_wait_cqe(&ring, &cqe);
        io_uring_cqe_seen(&ring, cqe);
    }
    io_uring_queue_exit(&ring);
    CHECK_INT(events_punts_read(p), 0);
    events_punts_close(p);
}

static void threads_started_later_are_counted_also_when_they_have_ended(void)
{
    unsigned each[3] = { 5, 11, 20 };
    pthread_t t;

    if (!opened())
        SKIP("needs root and io_uring's tracepoints");
    for (unsigned i = 0; i < 3; i++) {  /* one by one: TSan cannot see rings being unmapped */
        pthread_create(&t, NULL, thread, &each[i]);
        pthread_join(t, NULL);
    }
    CHECK_INT(events_punts_read(p), 36);
    events_punts_close(p);
}

static pthread_barrier_t gate;

static void *waiting(void *arg)
{
    pthread_barrier_wait(&gate);
    pthread_barrier_wait(&gate);
    return thread(arg);
}

static void threads_that_exist_already_are_counted(void)
{
    unsigned n = 9;
    pthread_t t;
    int ok;

    pthread_barrier_init(&gate, NULL, 2);
    pthread_create(&t, NULL, waiting, &n);
    pthread_barrier_wait(&gate);
    ok = opened();
    pthread_barrier_wait(&gate);
    pthread_join(t, NULL);
    if (!ok)
        SKIP("needs root and io_uring's tracepoints");
    CHECK_INT(events_punts_read(p), 9);
    events_punts_close(p);
}

static void an_ordinary_user_is_told_why(void)
{
    char why[256] = "";
    int status = 0;
    pid_t pid;

    if (geteuid() != 0)
        SKIP("needs root");
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        int err = setuid(65534) ? 0 : events_punts_open(&p, why, sizeof why);

        _exit(err == -EACCES && strstr(why, "tracefs: only root") ? 0 : 1);
    }
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

int main(void)
{
    CASE(each_forced_punt_is_counted_once);
    CASE(a_request_that_does_not_wait_is_none);
    CASE(threads_started_later_are_counted_also_when_they_have_ended);
    CASE(threads_that_exist_already_are_counted);
    CASE(an_ordinary_user_is_told_why);
    return DONE();
}
