/*
 * crewself - what the files of the crew share.
 *
 * crew.c starts, stops and joins; crewsim.c runs simulated workers; crewview.c is what others
 * may see and change while workers run.
 */
#ifndef IOLUA_CORE_CREWSELF_H
#define IOLUA_CORE_CREWSELF_H

#include "core/crew.h"

#include <pthread.h>

#define CACHE_LINE 64

struct worker {
    struct crew *crew;
    struct crew_spec spec;
    pthread_t thread;
    bool started;
    struct job *job;            /* NULL until opened */
    struct job *_Atomic shown;  /* the same for other threads, once it has started */
    atomic_bool ended;
    int err;
    char message[CREW_TEXT];
    _Alignas(CACHE_LINE) struct job_live live;
};

struct crew {
    struct worker *workers;
    unsigned n;
    bool simulated, joined;
    struct sim_world *world;    /* of simulated workers */
    int fd;
    pthread_mutex_t lock;
    pthread_cond_t turn;
    unsigned arrived, running;  /* at the start line; not yet ended */
    bool failed;                /* somebody cannot start: nobody does */
    uint64_t start;
    uint64_t seen;              /* intervals that whoever watches has dealt with */
    pthread_cond_t watched;
};

/* Pin, open the job and its hook: the error is the worker's. */
void crew_open_worker(struct worker *w);
void crew_start_job(struct worker *w, uint64_t start);

/* One round, through the hook if there is one. */
int crew_step(struct worker *w);

/* The job has ended, with an error if err < 0. */
void crew_finish(struct worker *w, int err);

/* n workers are done: the last wakes whoever waits for the crew. */
void crew_leave(struct crew *c, unsigned n);
void crew_wake_watcher(struct crew *c);

/* The thread of all simulated workers; arg: the crew. */
void *crew_simulate(void *arg);

#endif
