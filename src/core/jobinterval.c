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


int jobrich_roll(struct job *j, uint64_t now)
{
    struct rich *r = j->rich;
    int err = 0;

    while (r->series && now >= r->until && err == 0) {
        advance(j, r->until);
        err = close_interval(j, r->until);
        r->until += j->spec->interval_ns;
        if (r->from >= j->end)
            r->until = UINT64_MAX;
        else if (r->until > j->end)
            r->until = j->end;
    }
    return err;
}

/* The last interval ends with the window. */
void jobrich_finish(struct job *j)
{
    struct rich *r = j->rich;
    uint64_t end = j->result->end;

    if (r->series && end > r->from)
        close_interval(j, end);
    if (r->paced && j->stopping && j->left > 0)
        r->result->backlog_end = pace_backlog(&r->pace, j->stopped_at < j->end ? j->stopped_at
                                                                               : j->end - 1);
}
