/*
 * jobrichopen - the rich loop's state: made, started, freed; its doors for hooks and live control.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "core/jobrich.h"
#include "core/sim.h"

bool jobrich_needed(const struct job_spec *spec)
{
    return spec->pace.kind != PACE_NONE || spec->load.sizes.count > 0 || spec->interval_ns ||
           spec->hooked || spec->told || spec->ledger || spec->think_ns ||
           spec->trim;
}

static int open_pace(struct job *j)
{
    struct rich *r = j->rich;

    r->due = calloc(j->depth, sizeof *r->due);
    r->result = pace_result_new(&j->spec->pace);
    if (!r->due || !r->result)
        return -ENOMEM;
    return pace_init(&r->pace, &j->spec->pace, j->spec->load.seed, j->spec->load.stream);
}

static int open_series(struct rich *r)
{
    r->count = calloc(JOB_SIDES, sizeof *r->count);
    if (!r->count)
        return -ENOMEM;
    for (unsigned i = 0; i < JOB_SIDES; i++)
        hist_reset(&r->count[i].lat);
    return series_open(&r->series);
}

static int open_hook(struct job *j)
{
    struct rich *r = j->rich;

    r->given = calloc(j->depth, sizeof *r->given);
    r->later.heap = calloc(j->depth, sizeof *r->later.heap);
    return r->given && r->later.heap ? 0 : -ENOMEM;
}

int jobrich_open(struct job *j)
{
    struct rich *r = j->rich = calloc(1, sizeof *r);
    int err = 0;

    if (!r)
        return -ENOMEM;
    r->sized = j->spec->load.sizes.count > 0;
    r->paced = j->spec->pace.kind != PACE_NONE;
    r->hooked = j->spec->hooked;
    r->virtual = j->rig.port != NULL;
    r->limit = j->depth;
    r->thinks = j->spec->think_ns > 0;
    r->think_left = j->spec->think_blocks;
    r->ledger = j->nop ? NULL : j->spec->ledger;
    r->read_back = r->ledger && r->ledger->number && j->spec->read_back;
    r->bytes_left = j->spec->number_bytes ? j->spec->number_bytes : UINT64_MAX;
    /* Wake-ups of this thread are not to be late by the 50 us that are usual. */
    if (r->paced || r->thinks)
        prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    if (r->paced)
        err = open_pace(j);
    if (err == 0 && r->hooked)
        err = open_hook(j);
    if (err == 0 && j->spec->told && !(r->told = calloc(j->depth, sizeof *r->told)))
        err = -ENOMEM;
    if (err == 0 && j->spec->interval_ns)
        err = open_series(r);
    return err;
}

void jobrich_start(struct job *j)
{
    struct rich *r = j->rich;

    if (!r->series)
        r->count = j->result->side;
    r->from = j->begin;
    r->until = j->begin + j->spec->interval_ns;
    if (r->paced)
        pace_start(&r->pace, j->start, j->spec->load.bs);
}

void jobrich_close(struct job *j)
{
    struct rich *r = j->rich;

    if (!r)
        return;
    if (r->series)
        free(r->count);
    series_close(r->series);
    free(r->due);
    free(r->result);
    free(r->given);
    free(r->later.heap);
    free(r->told);
    free(r);
}

void jobrich_control(struct job *j, struct job_live *live, uint64_t now)
{
    struct rich *r = j->rich;
    unsigned changes = atomic_load_explicit(&live->changes, memory_order_acquire);
    double rate = atomic_load_explicit(&live->rate, memory_order_relaxed);
    unsigned depth = atomic_load_explicit(&live->depth, memory_order_relaxed);
    int percent = atomic_load_explicit(&live->read_percent, memory_order_relaxed);

    r->changes = changes;
    if (depth > 0)
        r->limit = depth < j->depth ? depth : j->depth;
    if (percent >= 0)
        load_set_mix(&j->load, (unsigned)percent);
    if (rate > 0 && r->paced) {
        pace_set_rate(&r->pace, rate, now);
        r->result->rate = r->pace.spec.rate;
    }
}

/* As many as there are slots for; when operations wait for their moment, those count too. */
unsigned job_wants(struct job *j)
{
    struct rich *r = j->rich;
    unsigned flying = j->depth - j->free_count, waiting = r->given_count + r->later.count;
    uint64_t now = job_now(j);
    unsigned n;

    if (j->stopping || r->no_more || now >= j->end || flying + waiting >= r->limit)
        return 0;
    n = r->limit - flying - waiting;
    n = n < j->submit_max ? n : j->submit_max;
    if (r->paced) {                     /* not far ahead of when they are due */
        uint64_t due = pace_backlog(&r->pace, now) + 1;

        n = waiting >= due ? 0 : due - waiting < n ? (unsigned)(due - waiting) : n;
    }
    return j->left - waiting < n ? (unsigned)(j->left - waiting) : n;
}

struct job_op *job_room(struct job *j)
{
    struct rich *r = j->rich;

    if (r->given_first > 0)
        memmove(r->given, r->given + r->given_first, r->given_count * sizeof *r->given);
    r->given_first = 0;
    return r->given + r->given_count;
}

void job_given(struct job *j, unsigned n)
{
    j->rich->given_count += n;
}

void job_give(struct job *j, const struct job_op *op)
{
    *job_room(j) = *op;
    job_given(j, 1);
    j->rich->pauses = j->rich->pauses || op->think_ns > 0 || op->side == JOB_SYNC;
}

void job_end(struct job *j)
{
    j->rich->no_more = true;
}

const struct job_told *job_told(const struct job *j, unsigned *n)
{
    *n = j->rich->told_count;
    return j->rich->told;
}

const struct pace_result *job_paced(const struct job *j)
{
    return j->rich ? j->rich->result : NULL;
}

const struct series *job_series(const struct job *j)
{
    return j->rich ? j->rich->series : NULL;
}
