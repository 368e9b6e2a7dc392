/*
 * lloop - one round after another: resume what is ready, submit, wait, take completions.
 */
#include <stdlib.h>
#include <string.h>

#include "bind/bind.h"
#include "bind/lend.h"
#include "bind/lfiber.h"
#include "bind/lloop.h"
#include "bind/lwait.h"
#include "core/hist.h"

/* The request of i has come back: nothing it used is needed any more. */
static inline void give_back(struct slot *s)
{
    if (s->buf)
        lend_return_buf(s->buf);
    if (s->file)
        lend_return_file(s->file);
    if (__builtin_expect(s->memory != NULL, 0))
        lend_return_memory(s->memory);
    s->buf = NULL;
    s->file = NULL;
    s->out = s->given_up = false;
}

int lloop_request(struct lloop *p, uint32_t i, const struct io_req *q)
{
    struct slot *s = lloop_slot(p, i);
    int err = p->room.head ? -EBUSY : lengine_push(p, i, q);

    s->stamp = p->now;
    if (err == 0) {
        s->out = true;
        return 0;
    }
    if (err == -EBUSY) {
        s->room = malloc(sizeof *s->room);
        err = s->room ? 0 : -ENOMEM;
    }
    if (err < 0) {
        give_back(s);
        return err;
    }
    *s->room = *q;
    lslot_append(&p->slots, &p->room, i);
    return 0;
}

unsigned lloop_credit(struct lloop *p)
{
    struct ring *r = p->ring;

    p->credit = 0;
    if (!r || p->room.head || (p->host && p->host->signal))
        return 0;
    if (ring_full(r))
        ring_enter(r, 0, 0);
    p->credit = r->limit - ring_in_flight(r);
    if (p->credit > r->uring.sq.ring_entries - ring_unsubmitted(r))
        p->credit = r->uring.sq.ring_entries - ring_unsubmitted(r);
    return p->credit;
}

/* Requests that waited for room go to the engine as far as there is some now. */
static void fill_room(struct lloop *p)
{
    while (p->room.head) {
        uint32_t i = p->room.head;
        struct slot *s = lloop_slot(p, i);
        int err = lengine_push(p, i, s->room);

        if (err == -EBUSY)
            return;
        lslot_unlink(&p->slots, i);
        free(s->room);
        s->room = NULL;
        s->out = err == 0;
        if (err < 0) {
            give_back(s);
            lloop_wake(p, i, err);
        }
    }
}

void lloop_wake(struct lloop *p, uint32_t i, int res)
{
    struct slot *s = lloop_slot(p, i);

    s->from = s->list == &p->room ? NULL : s->list;
    lslot_unlink(&p->slots, i);
    lslot_clear_deadline(&p->slots, i);
    s->late = s->quick = false;
    s->res = res;
    s->state = SLOT_READY;
    s->round = p->round;
    if (s->co)
        lslot_append(&p->slots, &p->ready, i);
    else
        p->caller_ready = true;
}

void lloop_give_up(struct lloop *p, uint32_t i)
{
    struct slot *s = lloop_slot(p, i);

    s->quick = false;
    if (s->state != SLOT_WAITING)
        return;                 /* it will see what it is to raise at its next wait */
    if (s->room) {
        free(s->room);
        s->room = NULL;
        give_back(s);
    }
    if (!s->out) {
        lloop_wake(p, i, s->late ? -ETIME : -ECANCELED);
    } else if (!s->given_up) {
        s->given_up = true;
        lengine_cancel(p, i);
        lslot_set_deadline(&p->slots, i, clock_now() + LLOOP_GRACE_NS);
    }
}

/* The request of i does not come back, though it was cancelled: its fiber goes on without it
 * in another slot. Without memory for one it goes on waiting. A caller outside fibers sees by
 * `out` that it must leave its slot behind. */
static void abandon(struct lloop *p, uint32_t i)
{
    int res = lloop_slot(p, i)->late ? -ETIME : -ECANCELED;
    uint32_t fresh;

    if (!lloop_slot(p, i)->co) {
        lloop_wake(p, i, res);
        return;
    }
    fresh = lslot_new(&p->slots);
    if (!fresh) {
        lslot_set_deadline(&p->slots, i, clock_now() + LLOOP_GRACE_NS);
        return;
    }
    lfiber_move(p, i, fresh);
    lloop_slot(p, i)->state = SLOT_ORPHAN;
    lloop_wake(p, fresh, res);
}

/* Deadlines that had passed when this round had waited: a plain wait ends with -ETIME, a request
 * is given up first. */
static void expire(struct lloop *p)
{
    uint32_t i;

    while ((i = lslot_first(&p->slots)) && lloop_slot(p, i)->deadline <= p->now) {
        struct slot *s = lloop_slot(p, i);

        lslot_clear_deadline(&p->slots, i);
        if (s->out && s->given_up)
            abandon(p, i);
        else if (s->out || s->room)
            s->late = true, lloop_give_up(p, i);
        else
            lloop_wake(p, i, -ETIME);
    }
}

/* Every fiber that is ready goes on; those that become so meanwhile come next round. */
static void resume_ready(lua_State *L, struct lloop *p)
{
    uint32_t i;

    p->round++;
    while ((i = p->ready.head) && lloop_slot(p, i)->round != p->round && !p->leaving) {
        lslot_unlink(&p->slots, i);
        lfiber_resume(L, p, i, lloop_slot(p, i)->res);
    }
}

/* A transfer that was made in the round at `since` is done. */
static inline void record(struct lloop *p, uint64_t since)
{
    hist_record(p->latency, p->now > since ? p->now - since : 0, 1);
}

/* A completion came, of a request on the short way whose fiber still waits for it. Inline, as
 * all on this way: a fiber yields by longjmp, after which the CPU predicts no return well. */
static inline __attribute__((always_inline)) void complete_quick(lua_State *L, struct lloop *p,
                                                                 uint32_t i, struct slot *s,
                                                                 int res)
{
    if (p->latency && res >= 0)
        record(p, s->stamp);
    if (s->left && res > 0 && lprepared_next(p, i, (uint32_t)res))
        return;
    lend_return_buf(s->buf);
    lend_return_file(s->file);
    s->buf = NULL;
    s->file = NULL;
    s->out = s->quick = false;
    p->running = res >= 0 ? s->co : NULL;
    lfiber_resume(L, p, i, res);
    p->running = NULL;
}

/* A completion came. */
static __attribute__((noinline)) void complete(lua_State *L, struct lloop *p, struct io_done d)
{
    uint32_t i = (uint32_t)d.tag;
    struct slot *s = lloop_slot(p, i);

    if (p->latency && s->buf && d.res >= 0)
        record(p, s->stamp);
    give_back(s);
    if (__builtin_expect(s->heap != 0, 0))
        lslot_clear_deadline(&p->slots, i);
    if (__builtin_expect(s->late, 0)) {
        d.res = d.res == -ECANCELED ? -ETIME : d.res;
        s->late = false;
    }
    if (__builtin_expect(s->state == SLOT_ORPHAN, 0)) {
        s->res = d.res;
        lwait_drop_result(s);
        lslot_free(&p->slots, i);
    } else if (__builtin_expect(p->quiet || !s->co || p->leaving, 0)) {
        lloop_wake(p, i, d.res);
    } else {
        lfiber_resume(L, p, i, d.res);
    }
}

/* The completions that are there now, and not those that come of what fibers ask for meanwhile:
 * a round ends. First those of the ring, up to one that is not a fiber's. */
static void take(lua_State *L, struct lloop *p)
{
    unsigned left = lengine_ready(p);
    struct io_done d;

    for (; left && p->ring && ring_ready(p->ring) && !p->leaving; left--) {
        struct slot *s;

        d = ring_at(p->ring, 0);
        if (d.tag > LSLOT_MAX)
            break;
        ring_consume(p->ring, 1);
        s = lloop_slot(p, (uint32_t)d.tag);
        if (__builtin_expect(s->quick && !p->quiet, 1))
            complete_quick(L, p, (uint32_t)d.tag, s, d.res);
        else
            complete(L, p, d);
    }
    for (; left && !p->leaving && lengine_next(p, &d); left--)
        complete(L, p, d);
}

/* How long a wait may last: to the first deadline, 100 ms, or not at all. While the deadline is
 * far away the clock is not read: what fibers did since the last reading does not matter then. */
static uint64_t wait_time(struct lloop *p, uint64_t until)
{
    uint32_t first = lslot_first(&p->slots);
    uint64_t now = p->now, end = until;

    if (until == 0 || p->caller_ready || (p->ready.head && !p->quiet))
        return 0;
    if (first && lloop_slot(p, first)->deadline < end)
        end = lloop_slot(p, first)->deadline;
    if (end < now + 3 * ENGINE_WAIT_NS)
        now = clock_now();
    if (end <= now)
        return 0;
    return end - now < ENGINE_WAIT_NS ? end - now : ENGINE_WAIT_NS;
}

/* A signal asked to stop while the main fiber waits: wake it. */
static void notice_signal(struct lloop *p)
{
    struct slot *s = lloop_slot(p, p->main);

    if (!p->host || !p->host->signal || !p->main || s->state != SLOT_WAITING)
        return;
    s->raise = RAISE_INTERRUPT;
    lloop_give_up(p, p->main);
}

/* Is there anything that could make somebody ready? */
static bool hopeful(struct lloop *p)
{
    return lengine_busy(p) || lslot_first(&p->slots) || p->room.head || p->caller_ready ||
           (p->ready.head && !p->quiet);
}

bool lloop_round(lua_State *L, struct lloop *p, uint64_t until)
{
    p->caller_ready = false;
    if (!p->quiet)
        resume_ready(L, p);
    if (p->leaving)
        return true;
    if (!hopeful(p))
        return false;
    lengine_submit(p, wait_time(p, until));
    p->now = clock_now();               /* the one reading of this round */
    notice_signal(p);
    lloop_credit(p);
    take(L, p);
    expire(p);
    fill_room(p);
    if (__builtin_expect(p->collector.own, 0) && !p->quiet)
        lcollect_step(L, p);
    return true;
}

/* Nothing can wake i any more: say so where it waits. */
static void deadlock(struct lloop *p, uint32_t i)
{
    lloop_slot(p, i)->raise = p->failed ? RAISE_FAILED : RAISE_DEADLOCK;
    lloop_wake(p, i, -EDEADLK);
}

void lloop_drive(lua_State *L, struct lloop *p, uint32_t i)
{
    p->depth++;
    p->now = clock_now();
    while (lloop_slot(p, i)->state != SLOT_READY && !p->leaving) {
        bool more = lloop_round(L, p, UINT64_MAX);

        if (lloop_slot(p, i)->state != SLOT_READY && !more)
            deadlock(p, i);
        if (p->host && p->host->signal)
            lloop_give_up(p, i);
    }
    p->depth--;
}

void lloop_drive_main(lua_State *L, struct lloop *p)
{
    p->depth++;
    p->now = clock_now();
    while (p->main && !p->leaving && !(p->host && p->host->leave))
        if (!lloop_round(L, p, UINT64_MAX) && p->main)
            deadlock(p, p->main);
    p->depth--;
}
