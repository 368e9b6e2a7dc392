/*
 * count - what a job counts of one kind of operation.
 */
#ifndef IOLUA_CORE_COUNT_H
#define IOLUA_CORE_COUNT_H

#include "core/hist.h"

enum job_side { JOB_READ, JOB_WRITE, JOB_SYNC, JOB_SIDES };     /* no-ops count as reads */

struct job_count {
    uint64_t ios, bytes;        /* inside the window, successful */
    uint64_t short_ios;         /* of ios: moved less than asked (the end of a file) */
    uint64_t errors;            /* in the whole run; of an interval: in it */
    struct hist lat;            /* ns */
};

#endif
