#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "interrupt.h"

static struct lhost host;       /* a handler has no other way to its state */
static const int caught[] = { SIGINT, SIGTERM, SIGHUP };

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

static void handler(int sig)
{
    set_all(SIG_DFL);
    lhost_signal(&host, sig);
}

struct lhost *interrupt_open(lua_State *L)
{
    host = (struct lhost){ NULL, 0, 0 };
    lhost_set(L, &host);
    set_all(handler);
    return &host;
}

void interrupt_rearm(void)
{
    host.signal = host.raised = 0;
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
