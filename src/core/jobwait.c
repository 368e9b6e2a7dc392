/*
 * jobwait - how long a round may wait: until something is due, or for a completion alone.
 */
#include "core/jobrich.h"

#define SPIN_NS 30000u          /* a start nearer than this is waited for awake */

static uint64_t until(uint64_t limit, uint64_t at, uint64_t now)
{
    uint64_t ns = at > now ? at - now : 0;

    return ns < limit ? ns : limit;
}

/* When the next operation can start, if there is room for it; UINT64_MAX: nobody knows. With a
 * pace it is due first, and one that thinks has thought. */
static uint64_t next_start(const struct job *j, uint64_t now)
{
    const struct rich *r = j->rich;
    uint64_t ready = now;

    if (r->hooked && r->given_count == 0)
        ready = r->later.count > 0 ? r->later.heap[0].at : UINT64_MAX;
    if (r->thinks && r->think_left == 0)
        ready = UINT64_MAX;
    else if (r->thinks && r->think_until > ready)
        ready = r->think_until;
    return r->paced && r->pace.next > ready ? r->pace.next : ready;
}

bool jobwait_thinks(const struct job *j, uint64_t now)
{
    const struct rich *r = j->rich;

    return r->thinks && (r->think_left == 0 || now < r->think_until);
}

void jobwait_ended(struct job *j, uint64_t now)
{
    struct rich *r = j->rich;

    if (!r->thinks || r->think_left > 0 || j->free_count < j->depth)
        return;
    r->think_left = j->spec->think_blocks;
    r->think_until = now + j->spec->think_ns;
}

uint64_t jobrich_quiet(const struct job *j, uint64_t now)
{
    const struct rich *r = j->rich;
    uint64_t ns = ENGINE_WAIT_NS;
    bool ready = !j->stopping && room(j) > 0 && !r->holds;

    if ((r->paced || r->hooked || r->thinks) && ready)
        ns = until(ns, next_start(j, now), now);
    if (!r->virtual && ns < ENGINE_WAIT_NS)
        ns = ns > SPIN_NS ? ns - SPIN_NS / 2 : 0;
    if (!j->stopping)
        ns = until(ns, j->end, now);
    if (r->series && r->until > now)
        ns = until(ns, r->until, now);
    return ns;
}
