#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "core/jobself.h"
#include "core/sim.h"
#include "core/volume.h"

static struct cpu_time cpu_time(struct job *j)
{
    struct cpu_time t = { 0, 0 };
    struct rusage u;

    if (j->rig.pool)
        threads_cpu(&t.user, &t.system, j->rig.pool);
    getrusage(RUSAGE_THREAD, &u);
    t.user += (uint64_t)u.ru_utime.tv_sec * CLOCK_SECOND + (uint64_t)u.ru_utime.tv_usec * 1000;
    t.system += (uint64_t)u.ru_stime.tv_sec * CLOCK_SECOND + (uint64_t)u.ru_stime.tv_usec * 1000;
    return t;
}

void job_begin_window(struct job *j)
{
    j->began = true;
    j->cpu_begin = cpu_time(j);
}

void job_end_window(struct job *j)
{
    if (j->ended)
        return;
    j->ended = true;
    j->cpu_end = cpu_time(j);
}

void job_stop_issuing(struct job *j, uint64_t now)
{
    if (j->stopping)
        return;
    j->stopping = true;
    j->stopped_at = now;
    if (j->spec->runtime_ns && now < j->end)
        j->end = now;
}

void job_run_dry(struct job *j, uint64_t now)
{
    if (j->stopping)
        return;
    j->dry = now < j->end;
    j->stopping = true;
    j->stopped_at = now;
}

void job_note_error(struct job *j, uint64_t tag, int res, uint64_t now)
{
    const struct slot *s = &j->slots[tag & SLOT_MASK];
    struct job_result *r = j->result;

    if (r->error == 0) {
        r->error = res;
        r->error_side = s->side;
        r->error_pos = s->pos;
    }
    r->side[s->side].errors++;
    if (!j->spec->continue_on_error)
        job_stop_issuing(j, now);
}

void job_publish(struct job *j, struct job_live *live)
{
    atomic_store_explicit(&live->ios, j->done_ios, memory_order_relaxed);
    atomic_store_explicit(&live->bytes, j->done_bytes, memory_order_relaxed);
    atomic_store_explicit(&live->now, j->area_at, memory_order_relaxed);
}

/* The request that is out for longest, and for longer than it may: NULL when there is none. An
 * fsync may write all that the page cache holds. */
static const struct slot *overdue(struct job *j, uint64_t grace, uint64_t now)
{
    uint32_t here = (uint32_t)((now - j->start) >> SINCE_SHIFT);
    const struct slot *oldest = NULL;
    uint64_t most = 0;

    for (unsigned i = 0; i < j->free_count; i++)
        j->slots[j->free[i]].side = JOB_SIDES;          /* idle */
    for (unsigned i = 0; i < j->depth; i++) {
        const struct slot *s = &j->slots[i];
        uint64_t age = (uint64_t)((here - s->since) & SINCE_MASK) << SINCE_SHIFT;
        uint64_t limit = s->side == JOB_SYNC ? grace * JOB_GRACE_SYNC : grace;

        if (s->side != JOB_SIDES && age > limit && age > most) {
            oldest = s;
            most = age;
        }
    }
    j->result->stuck_age_ns = most;
    return oldest;
}

int job_overdue(struct job *j, uint64_t now)
{
    uint64_t grace = j->spec->grace_ns;
    const struct slot *s;

    if (now - j->heard <= grace || j->free_count == j->depth || j->nop)
        return 1;
    s = overdue(j, grace, now);
    if (!s)
        return 1;
    j->result->stuck = j->depth - j->free_count;
    j->result->stuck_side = s->side;
    j->result->stuck_pos = s->pos;
    if (!j->stopping)
        job_stop_issuing(j, now);
    return -ETIME;
}

int job_draining(struct job *j, uint64_t now)
{
    return j->free_count == j->depth ? 0 : job_overdue(j, now);
}

int job_step(struct job *j, struct job_live *live)
{
    return j->step(j, live);
}

static void set_requests(struct job *j)
{
    bool fixed = j->rig.fixed_memory;

    j->nop = j->spec->load.nop;
    j->memory = j->rig.memory ? (uintptr_t)j->rig.memory->mem : 0;
    j->stride = j->rig.memory ? j->rig.stride : 0;
    j->base.fd = j->rig.fixed_file ? 0 : j->spec->rig.file ? j->spec->rig.file->fd : -1;
    if (j->rig.engine == &sim_engine)
        j->base.fd = j->rig.sim;
    j->base.req_flags = j->rig.fixed_file ? IO_FIXED_FILE : 0;
    if (j->nop) {
        j->base = (struct io_req){ .fd = -1 };
        return;
    }
    j->base.len = j->spec->load.bs;
    j->kind[JOB_READ] = fixed ? IO_READ_FIXED : IO_READ;
    j->kind[JOB_WRITE] = fixed ? IO_WRITE_FIXED : IO_WRITE;
    if (j->spec->trim)
        j->kind[JOB_WRITE] = IO_DISCARD;
    j->kind[JOB_SYNC] = IO_FSYNC;
    j->expect[JOB_READ] = j->expect[JOB_WRITE] = (int)j->spec->load.bs;
}

static int allocate(struct job *j)
{
    j->depth = j->free_count = j->rig.depth;
    j->slots = calloc(j->depth, sizeof *j->slots);
    j->free = calloc(j->depth, sizeof *j->free);
    j->retry = calloc(j->depth, sizeof *j->retry);
    j->result = calloc(1, sizeof *j->result);
    if (!j->slots || !j->free || !j->retry || !j->result)
        return -ENOMEM;
    for (unsigned i = 0; i < j->depth; i++)
        j->free[i] = (uint16_t)(j->depth - 1 - i);
    for (unsigned i = 0; i < JOB_SIDES; i++)
        hist_reset(&j->result->side[i].lat);
    return 0;
}

int job_open(struct job **out, const struct job_spec *spec, char *message, size_t len)
{
    struct job *j = calloc(1, sizeof *j);
    int err;

    if (!j)
        return -ENOMEM;
    j->copy = *spec;
    if (spec->grace_ns == 0)
        j->copy.grace_ns = JOB_GRACE_NS;
    j->spec = &j->copy;
    err = load_init(&j->load, &spec->load, message, len);
    if (err == 0)
        err = rig_open(&j->rig, &spec->rig, message, len);
    if (err == 0 && (err = allocate(j)) < 0)
        snprintf(message, len, "memory of the job: %s", strerrordesc_np(-err));
    if (err == 0)
        set_requests(j);
    if (err == 0 && spec->ledger && !j->nop && !j->memory) {
        snprintf(message, len, "verify needs a target that keeps data");
        err = -EINVAL;
    }
    if (err == 0 && jobrich_needed(spec) && (err = jobrich_open(j)) < 0)
        snprintf(message, len, "pace of the job: %s", strerrordesc_np(-err));
    if (err < 0) {
        job_close(j);
        return err;
    }
    j->step = j->rich ? jobrich_step(j) : jobplain_step(j);
    *out = j;
    return 0;
}

const struct rig *job_rig(const struct job *j) { return &j->rig; }
uint64_t job_now(struct job *j) { return j->rig.engine->now(j->rig.self); }

void job_start(struct job *j, uint64_t start)
{
    j->start = j->area_at = j->heard = start;
    j->begin = start + j->spec->ramp_ns;
    j->end = j->spec->runtime_ns ? j->begin + j->spec->runtime_ns : UINT64_MAX;
    j->left = j->spec->number_ios;
    j->submit_max = j->spec->batch ? j->spec->batch : j->depth;
    j->wait_min = j->spec->batch ? j->spec->batch : 1;
    j->result->first_submit = start;
    j->result->windowed = j->spec->ramp_ns || j->spec->runtime_ns;
    if (!j->spec->ramp_ns)
        job_begin_window(j);
    if (j->rich)
        jobrich_start(j);
}

static void sync_at_end(struct job *j)
{
    const struct rig_spec *target = &j->spec->rig;
    struct io_req q = { .kind = IO_FSYNC, .fd = target->file ? target->file->fd : -1 };
    uint64_t from = job_now(j);
    int err = target->volume ? volume_sync(target->volume) : target->file ? io_perform(&q) : 0;

    j->result->end_fsync_ns = job_now(j) - from;
    if (err < 0 && j->result->error == 0) {
        j->result->error = err;
        j->result->error_side = JOB_SYNC;
        j->result->side[JOB_SYNC].errors++;
    }
}

/* The window ends where it was to end, or where the job stopped before that. */
static void close_window(struct job *j)
{
    struct job_result *r = j->result;
    uint64_t stop = j->spec->runtime_ns && !j->dry ? j->stopped_at : r->last_done;
    uint64_t seen = j->area_at < j->end ? j->area_at : j->end;  /* failed operations too */

    r->begin = r->windowed ? j->begin : r->first_submit;
    r->end = r->windowed ? (stop < j->end ? stop : j->end) : r->last_done;
    if (seen > r->begin)
        r->depth_mean = j->area / (double)(seen - r->begin);
    r->user_ns = j->cpu_end.user - j->cpu_begin.user;
    r->system_ns = j->cpu_end.system - j->cpu_begin.system;
}

const struct job_result *job_result(struct job *j)
{
    if (j->closed)
        return j->result;
    j->closed = true;
    job_end_window(j);
    if (j->spec->end_fsync && j->result->error == 0)
        sync_at_end(j);
    close_window(j);
    if (j->rich)
        jobrich_finish(j);
    rig_close(&j->rig, CLOCK_SECOND);
    return j->result;
}

void job_close(struct job *j)
{
    rig_close(&j->rig, CLOCK_SECOND);
    jobrich_close(j);
    free(j->slots);
    free(j->free);
    free(j->retry);
    free(j->result);
    free(j);
}
