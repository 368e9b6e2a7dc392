/*
 * jobmerge - results of workers into one: counts add up, times span, histograms merge exactly.
 */
#include "core/job.h"

static void merge_count(struct job_count *into, const struct job_count *from)
{
    into->ios += from->ios;
    into->bytes += from->bytes;
    into->short_ios += from->short_ios;
    into->errors += from->errors;
    hist_merge(&into->lat, &from->lat);
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

void job_merge(struct job_result *into, const struct job_result *from)
{
    for (unsigned i = 0; i < JOB_SIDES; i++)
        merge_count(&into->side[i], &from->side[i]);
    into->begin = earlier(into->begin, from->begin);
    into->end = later(into->end, from->end);
    into->first_submit = earlier(into->first_submit, from->first_submit);
    into->last_done = later(into->last_done, from->last_done);
    into->depth_mean += from->depth_mean;
    into->user_ns += from->user_ns;
    into->system_ns += from->system_ns;
    into->end_fsync_ns = later(into->end_fsync_ns, from->end_fsync_ns);
    into->issued += from->issued;
    into->stuck += from->stuck;
    if (from->stuck_age_ns > into->stuck_age_ns) {
        into->stuck_side = from->stuck_side;
        into->stuck_pos = from->stuck_pos;
        into->stuck_age_ns = from->stuck_age_ns;
    }
    if (into->error == 0) {
        into->error = from->error;
        into->error_side = from->error_side;
        into->error_pos = from->error_pos;
    }
}

double job_seconds(const struct job_result *r)
{
    uint64_t ios = 0;

    for (unsigned i = 0; i < JOB_SIDES; i++)
        ios += r->side[i].ios;
    return ios && r->end > r->begin ? (double)(r->end - r->begin) / 1e9 : 0;
}
