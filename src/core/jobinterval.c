/*
 * jobinterval - the series of a job: intervals closed as their time comes, and the last one.
 */
#include "core/jobrich.h"

/* Append the current interval, which ends at `to`, to the series; the next begins there. */
static int close_interval(struct job *j, uint64_t to)
{
    struct rich *r = j->rich;
    double ns = (double)(to - r->from);
    int err = series_add(r->series, r->from - j->begin, to - j->begin,
                         ns > 0 ? (j->area - r->area_from) / ns : 0, r->count);

    for (unsigned i = 0; i < JOB_SIDES; i++) {
        struct job_count *whole = &j->result->side[i], *part = &r->count[i];

        if (part->ios == 0 && part->errors == 0)
            continue;
        whole->ios += part->ios;
        whole->bytes += part->bytes;
        whole->short_ios += part->short_ios;
        hist_merge(&whole->lat, &part->lat);
        *part = (struct job_count){ 0 };
        hist_reset(&part->lat);
    }
    r->from = to;
    r->area_from = j->area;
    return err;
}

/* The window's end cuts the last interval short; it may come nearer while the job runs. */
static uint64_t interval_end(const struct job *j)
{
    return j->rich->until < j->end ? j->rich->until : j->end;
}

int jobrich_roll(struct job *j, uint64_t now)
{
    struct rich *r = j->rich;
    int err = 0, closed = 0;

    while (r->series && r->from < j->end && now >= interval_end(j) && err == 0) {
        advance(j, interval_end(j));
        err = close_interval(j, interval_end(j));
        r->until += j->spec->interval_ns;
        closed = 1;
    }
    return err < 0 ? err : closed;
}

static bool counted(const struct rich *r)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < JOB_SIDES; i++)
        n += r->count[i].ios + r->count[i].errors;
    return n > 0;
}

/* The last interval ends with the window. What completed at its very end belongs to it. */
void jobrich_finish(struct job *j)
{
    struct rich *r = j->rich;
    uint64_t end = j->result->end;

    if (r->series && (end > r->from || counted(r)))
        close_interval(j, end > r->from ? end : r->from);
    if (r->paced && j->stopping && j->left > 0)
        r->result->backlog_end = pace_backlog(&r->pace, j->stopped_at < j->end ? j->stopped_at
                                                                               : j->end - 1);
}
