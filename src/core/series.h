/*
 * series - what a job did in each interval of its window, kept small.
 *
 * A point holds counts and a histogram for each side, of which only the buckets in use are
 * kept, so that points add up exactly to the whole. One thread appends; others may read the
 * points that are there already: they never change or move.
 */
#ifndef IOLUA_CORE_SERIES_H
#define IOLUA_CORE_SERIES_H

#include "core/count.h"

#include <stdatomic.h>

struct series_side;

struct series_point {
    uint64_t begin, end;        /* ns since the window began; the last may be cut short */
    double depth_mean;
    struct series_side *side[JOB_SIDES];     /* NULL: nothing happened */
};

struct series;

/* 0 or -ENOMEM. */
int series_open(struct series **out);
void series_close(struct series *s);

/* Append a point made of counts. 0 or -ENOMEM. */
int series_add(struct series *s, uint64_t begin, uint64_t end, double depth_mean,
               const struct job_count *counts);

/* Points there are, and point i below that. */
uint64_t series_count(const struct series *s);
const struct series_point *series_at(const struct series *s, uint64_t i);

/* into += one side of a point. */
void series_take(struct job_count *into, const struct series_point *p, unsigned side);

#endif
