#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "interrupt.h"

static struct lhost host;       /* a handler has no other way to its state */
static const int caught[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE };

static void set_all(void (*handler)(int))
{
    struct sigaction action, old;

    memset(&action, 0, sizeof action);
    action.sa_handler = handler;                /* no SA_RESTART: a wait ends with EINTR */
    sigemptyset(&action.sa_mask);
    for (unsigned i = 0; i < sizeof caught / sizeof caught[0]; i++) {
        sigaction(caught[i], NULL, &old);
        if (old.sa_handler != SIG_IGN)          /* nohup */
            sigaction(caught[i], &action, NULL);
    }
}

/* One ^C can come twice: timeout(1) signals its child and then its group. What follows the
 * first within this time is the same. */
#define SAME_MS 50

static volatile long first_at;          /* when the first came, ms; 0 before */

static long now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000 + 1;
}

/* After the first, a second one ends the process, but for a pipe that nobody reads any more:
 * what closers print must not end them. */
static void handler(int sig)
{
    long now = now_ms();

    if (first_at == 0) {
        first_at = now;
        lhost_signal(&host, sig);
    } else if (sig != SIGPIPE && now - first_at > SAME_MS) {
        signal(sig, SIG_DFL);           /* meant: taken when the handler returns */
        raise(sig);
    }
}

/* A file beyond its limit: the write fails with EFBIG. No SIG_IGN, which programs inherit. */
static void too_large(int sig)
{
    (void)sig;
}

static void catch_limit(void)
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_handler = too_large;
    action.sa_flags = SA_RESTART;
    sigaction(SIGXFSZ, &action, NULL);
}

struct lhost *interrupt_open(lua_State *L)
{
    host = (struct lhost){ NULL, 0, 0, false };
    lhost_set(L, &host);
    catch_limit();
    set_all(handler);
    return &host;
}

void interrupt_rearm(void)
{
    host.signal = host.raised = 0;
    first_at = 0;
    set_all(handler);
}

void interrupt_die(int sig)
{
    sigset_t set;

    fflush(NULL);               /* what was measured until then is printed */
    signal(sig, SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, sig);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    raise(sig);
}
