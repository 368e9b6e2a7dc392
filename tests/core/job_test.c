/* Jobs and crews, on simulated devices (closed forms) and on real files. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "core/clock.h"
#include "core/crew.h"
#include "core/simdevice.h"
#include "scratch.h"

#define MS 1000000ull

static char message[CREW_TEXT];

/* A device of 1 GiB, of which the jobs of one case share the description. */
static struct sim_device *device(unsigned channels, uint64_t service_ns)
{
    struct sim_device_spec spec = { .size = 1 << 30, .channels = channels,
                                    .service = { SIM_FIXED, service_ns, 0 } };
    struct sim_device *d = NULL;

    CHECK_INT(sim_device_new(&d, &spec, NULL), 0);
    return d;
}

static struct crew_spec sim_worker(struct sim_device *sim, unsigned iodepth)
{
    struct crew_spec s = { 0 };

    s.job.rig = (struct rig_spec){ .engine = RIG_SIM, .sim = sim, .iodepth = iodepth, .bs = 4096,
                                   .data = true, .node = -1, .sq_cpu = -1 };
    s.job.load = (struct load_spec){ .read_percent = 100, .size = 1 << 30, .bs = 4096, .seed = 1 };
    s.job.number_ios = UINT64_MAX;
    return s;
}

/* Run n workers; the merged result, to be freed. */
static struct job_result *run(const struct crew_spec *specs, unsigned n, int *err)
{
    struct job_result *sum = NULL;
    struct crew *c;

    message[0] = 0;
    *err = crew_start(&c, specs, n);
    if (*err < 0)
        return NULL;
    *err = crew_join(c, message, sizeof message);
    for (unsigned i = 0; i < n; i++) {
        const struct job_result *r = crew_result(c, i);

        if (r && !sum) {
            sum = malloc(sizeof *sum);
            *sum = *r;
        } else if (r) {
            job_merge(sum, r);
        }
    }
    crew_close(c);
    return sum;
}

/* One channel of 0.25 ms: in the second after a ramp of 1 s the completions at 1.00000,
 * 1.00025 .. 1.99975 s: 4000. In a first second the one at 1 s is outside: 3999. */
static void the_window_is_closed_at_its_start_and_open_at_its_end(void)
{
    static const unsigned depths[] = { 1, 7, 128 };
    struct sim_device *sim = device(1, 250000);

    for (unsigned i = 0; i < 3; i++) {
        for (unsigned ramp = 0; ramp < 2; ramp++) {
            struct crew_spec s = sim_worker(sim, depths[i]);
            struct job_result *r;
            int err;

            s.job.ramp_ns = ramp * CLOCK_SECOND;
            s.job.runtime_ns = CLOCK_SECOND;
            r = run(&s, 1, &err);
            CHECK_INT(err, 0);
            CHECK_INT(r->side[JOB_READ].ios, ramp ? 4000 : 3999);
            CHECK_INT(r->side[JOB_READ].bytes, (ramp ? 4000 : 3999) * 4096);
            CHECK(job_seconds(r) == 1.0);
            free(r);
        }
    }
    sim_device_unref(sim);
}

/* A closed queue of 4 channels of 1 ms at depth 32: 4000 a second; by Little's law latency is
 * depth / rate = 8 ms, exactly, once the first round is over. */
static void a_closed_queue_obeys_littles_law(void)
{
    struct sim_device *sim = device(4, MS);
    struct crew_spec s = sim_worker(sim, 32);
    struct job_result *r;
    double mean;
    int err;

    s.job.ramp_ns = 100 * MS;
    s.job.runtime_ns = 10 * CLOCK_SECOND;
    r = run(&s, 1, &err);
    CHECK_INT(r->side[JOB_READ].ios, 40000);
    CHECK(hist_mean(&mean, &r->side[JOB_READ].lat));
    CHECK_INT(r->side[JOB_READ].lat.min, 8 * MS);
    CHECK_INT(r->side[JOB_READ].lat.max, 8 * MS);
    CHECK(fabs(mean - 8e6) < 1);
    CHECK(fabs(r->depth_mean - 32) < 1e-9);
    free(r);
    sim_device_unref(sim);
}

/* No window: from the first submission to the last completion, over all workers. */
static void without_a_window_rates_span_first_submission_to_last_completion(void)
{
    struct sim_device *slow = device(1, 2 * MS), *fast = device(1, MS);
    struct crew_spec s[2] = { sim_worker(slow, 1), sim_worker(fast, 1) };
    struct job_result *r;
    int err;

    s[0].job.number_ios = s[1].job.number_ios = 1000;
    r = run(s, 2, &err);
    CHECK_INT(r->side[JOB_READ].ios, 2000);
    CHECK(job_seconds(r) == 2.0);
    free(r);
    sim_device_unref(slow);
    sim_device_unref(fast);
}

static void a_simulated_job_is_the_same_each_time(void)
{
    struct sim_device *sim = device(3, 777777);
    struct crew_spec s = sim_worker(sim, 17);
    struct job_result *a, *b;
    int err;

    s.job.load.order = LOAD_RANDOM;
    s.job.load.read_percent = 70;
    s.job.number_ios = 10000;
    a = run(&s, 1, &err);
    b = run(&s, 1, &err);
    CHECK_INT(memcmp(a->side, b->side, sizeof a->side), 0);
    CHECK(a->side[JOB_READ].ios > 6800 && a->side[JOB_READ].ios < 7200);   /* 4 sigma: 183 */
    free(a);
    free(b);
    sim_device_unref(sim);
}

static void an_fsync_follows_every_nth_write(void)
{
    struct sim_device *sim = device(1, MS);
    struct crew_spec s = sim_worker(sim, 1);
    struct job_result *r;
    int err;

    s.job.load.read_percent = 0;
    s.job.number_ios = 100;
    s.job.fsync_every = 10;
    r = run(&s, 1, &err);
    CHECK_INT(r->side[JOB_WRITE].ios, 100);
    CHECK_INT(r->side[JOB_SYNC].ios, 9);        /* after 10, 20 .. 90; the job ends at 100 */
    CHECK_INT(r->side[JOB_SYNC].bytes, 0);
    free(r);
    sim_device_unref(sim);
}

static struct file *scratch(struct file_options o, size_t bytes, char *path)
{
    struct file *f = NULL;
    int fd = scratch_file(path, bytes);

    if (fd < 0 || file_open(&f, path, &o, message, sizeof message) < 0)
        printf("%s\n", message);
    close(fd);
    return f;
}

static struct crew_spec file_worker(enum rig_engine engine, struct file *f, uint64_t size)
{
    struct crew_spec s = { 0 };

    s.job.rig = (struct rig_spec){ .engine = engine, .file = f, .iodepth = 1, .bs = 8192,
                                   .data = true, .node = -1, .sq_cpu = -1, .registered = true };
    s.job.load = (struct load_spec){ .read_percent = 100, .size = size, .bs = 8192, .seed = 1 };
    s.job.number_ios = size / 8192;
    return s;
}

static const enum rig_engine engines[] = { RIG_AUTO, RIG_THREADS, RIG_SYNC };

/* 10 000 bytes read at 8192: the second read brings 1808 bytes. */
static void short_reads_count_the_bytes_that_came(void)
{
    char path[64];
    struct file *f = scratch((struct file_options){ 0 }, 10000, path);

    for (unsigned i = 0; i < 3; i++) {
        struct crew_spec s = file_worker(engines[i], f, 16384);
        struct job_result *r;
        int err;

        r = run(&s, 1, &err);
        CHECK_INT(err, 0);
        CHECK_INT(r->side[JOB_READ].ios, 2);
        CHECK_INT(r->side[JOB_READ].bytes, 10000);
        CHECK_INT(r->side[JOB_READ].short_ios, 1);
        free(r);
    }
    unlink(path);
    file_unref(f);
}

/* /dev/full fails every write with ENOSPC. */
static void an_error_stops_the_run_unless_it_may_go_on(void)
{
    struct file_options o = { .write = true, .overwrite = true };
    struct file *f = NULL;

    CHECK_INT(file_open(&f, "/dev/full", &o, message, sizeof message), 0);
    for (unsigned i = 0; f && i < 3; i++) {
        for (unsigned go_on = 0; go_on < 2; go_on++) {
            struct crew_spec s = file_worker(engines[i], f, 10 * 8192);
            struct job_result *r;
            int err;

            s.job.load.read_percent = 0;
            s.job.continue_on_error = go_on;
            r = run(&s, 1, &err);
            CHECK_INT(r->side[JOB_WRITE].errors, go_on ? 10 : 1);
            CHECK_INT(r->side[JOB_WRITE].ios, 0);
            CHECK_INT(r->side[JOB_WRITE].lat.count, 0);
            CHECK_INT(r->error, -ENOSPC);
            CHECK_INT(r->error_pos, 0);
            CHECK_INT(r->error_side, JOB_WRITE);
            CHECK(job_seconds(r) == 0);
            free(r);
        }
    }
    file_unref(f);
}

static void nothing_beyond_the_last_whole_block_is_touched(void)
{
    unsigned char tail[928], block[4096];
    char path[64];
    struct file_options o = { .write = true, .overwrite = true };
    struct file *f = scratch(o, 9120, path);
    struct crew_spec s = file_worker(RIG_AUTO, f, 9120);
    struct job_result *r;
    int err, fd;

    s.job.rig.bs = s.job.load.bs = 4096;
    s.job.load.read_percent = 0;
    s.job.number_ios = 64;
    r = run(&s, 1, &err);
    CHECK_INT(r->side[JOB_WRITE].bytes, 64 * 4096);
    fd = open(path, O_RDONLY);
    CHECK_INT(pread(fd, block, 4096, 4096), 4096);
    CHECK(memcmp(block, block + 512, 512) != 0);        /* random now, not the pattern */
    CHECK_INT(pread(fd, tail, 928, 8192), 928);
    for (unsigned i = 0; i < 928; i++)
        if (tail[i] != (8192 + i) / 512 % 251)
            CHECK_INT(tail[i], (8192 + i) / 512 % 251);
    CHECK_INT(lseek(fd, 0, SEEK_END), 9120);
    close(fd);
    unlink(path);
    free(r);
    file_unref(f);
}

static void a_region_below_one_block_is_refused(void)
{
    struct sim_device *sim = device(1, MS);
    struct crew_spec s = sim_worker(sim, 1);
    struct job_result *r;
    int err;

    s.job.load.size = 4095;
    r = run(&s, 1, &err);
    CHECK(r == NULL);
    CHECK_INT(err, -ERANGE);
    CHECK(strstr(message, "4095") != NULL);
    sim_device_unref(sim);
}

/* If one worker cannot start, none does. */
static void workers_start_together_or_not_at_all(void)
{
    char path[64];
    struct file *f = scratch((struct file_options){ 0 }, 65536, path);
    struct crew_spec s[3] = { file_worker(RIG_AUTO, f, 65536), file_worker(RIG_AUTO, f, 100),
                              file_worker(RIG_AUTO, f, 65536) };
    struct job_result *r;
    int err;

    r = run(s, 3, &err);
    CHECK(r == NULL);
    CHECK_INT(err, -ERANGE);
    unlink(path);
    file_unref(f);
}

static void a_crew_can_be_stopped(void)
{
    char path[64];
    struct file *f = scratch((struct file_options){ 0 }, 65536, path);
    struct crew_spec s[2] = { file_worker(RIG_AUTO, f, 65536), file_worker(RIG_THREADS, f, 65536) };
    uint64_t ios = 0, bytes = 0;
    struct crew *c;

    for (unsigned i = 0; i < 2; i++) {
        s[i].job.runtime_ns = 3600 * CLOCK_SECOND;
        s[i].job.number_ios = UINT64_MAX;
    }
    CHECK_INT(crew_start(&c, s, 2), 0);
    while (ios == 0)
        crew_progress(&ios, &bytes, c);
    crew_stop(c);
    CHECK_INT(crew_join(c, message, sizeof message), 0);
    CHECK(crew_result(c, 0)->side[JOB_READ].ios + crew_result(c, 1)->side[JOB_READ].ios > 0);
    CHECK(job_seconds(crew_result(c, 0)) < 60);
    crew_close(c);
    unlink(path);
    file_unref(f);
}

static void a_worker_runs_where_it_is_pinned(void)
{
    struct crew_spec s = file_worker(RIG_SYNC, NULL, 8192);
    struct job_result *r;
    int err;

    s.job.load.nop = true;
    s.job.rig.data = false;
    s.job.number_ios = 1;
    s.pinned = true;
    cpuset_zero(&s.cpus);
    cpuset_add(&s.cpus, 8000);
    r = run(&s, 1, &err);
    CHECK(r == NULL && err < 0);
    CHECK(strstr(message, "8000") != NULL);
}

int main(void)
{
    CASE(the_window_is_closed_at_its_start_and_open_at_its_end);
    CASE(a_closed_queue_obeys_littles_law);
    CASE(without_a_window_rates_span_first_submission_to_last_completion);
    CASE(a_simulated_job_is_the_same_each_time);
    CASE(an_fsync_follows_every_nth_write);
    CASE(short_reads_count_the_bytes_that_came);
    CASE(an_error_stops_the_run_unless_it_may_go_on);
    CASE(nothing_beyond_the_last_whole_block_is_touched);
    CASE(a_region_below_one_block_is_refused);
    CASE(workers_start_together_or_not_at_all);
    CASE(a_crew_can_be_stopped);
    CASE(a_worker_runs_where_it_is_pinned);
    return DONE();
}
