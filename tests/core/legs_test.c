/* Volumes in user space over real files: every engine below, every kind of geometry. */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "core/clock.h"
#include "core/crew.h"
#include "core/legs.h"
#include "core/volume.h"
#include "scratch.h"

enum { LEGS = 4, LEG_BYTES = 1 << 20, CHUNK = 16384 };

static char message[256];
static char paths[LEGS][64];

/* Four files of LEG_BYTES, byte i of each being i / 512 mod 251. */
static void make_files(void)
{
    for (unsigned i = 0; i < LEGS; i++)
        close(scratch_file(paths[i], LEG_BYTES));
}

static void drop_files(void)
{
    for (unsigned i = 0; i < LEGS; i++)
        unlink(paths[i]);
}

/* A volume over the first n files; leg `error` (if below n) refuses everything. */
static struct volume *make(enum stripe_kind kind, unsigned n, unsigned error, bool merge)
{
    struct file_options o = { .write = true, .overwrite = true };
    uint64_t offset[LEGS] = { 0, 4096, 8192, 512 }, given[LEGS];
    struct file *files[LEGS] = { NULL };
    struct sim_device *sims[LEGS] = { NULL };
    struct volume *v = NULL;
    struct stripe *map;

    for (unsigned i = 0; i < n; i++) {
        given[i] = LEG_BYTES - 8192 - 512 * i;
        if (i != error)
            CHECK_INT(file_open(&files[i], paths[i], &o, message, sizeof message), 0);
    }
    CHECK_INT(stripe_new(&map, kind, CHUNK, n, offset, given, message, sizeof message), 0);
    CHECK_INT(volume_new(&v, map, files, sims, merge), 0);
    for (unsigned i = 0; i < n; i++)
        file_unref(files[i]);
    return v;
}

static struct legs *told;       /* whose counts are asked for; NULL: it has told them */

static bool open_rig(struct rig *r, struct volume *v, enum rig_engine engine, unsigned depth,
                     uint32_t bs)
{
    struct rig_spec s = { .engine = engine, .volume = v, .iodepth = depth, .bs = bs,
                          .data = true, .node = -1, .sq_cpu = -1, .registered = true };
    int err = rig_open(r, &s, message, sizeof message);

    told = NULL;
    if (err < 0)
        printf("rig: %s\n", message);
    else
        told = r->self;
    return err == 0;
}

static void shut(struct rig *r)
{
    told = NULL;
    rig_close(r, CLOCK_SECOND);
}

/* One request, waited for; its result. */
static int one(struct rig *r, uint8_t kind, uint64_t pos, uint32_t len)
{
    struct io_req q = { .kind = kind, .pos = pos, .len = len,
                        .addr = (uintptr_t)r->memory->mem };
    int err, res = -ENODATA;

    if (r->fixed_memory && (kind == IO_READ || kind == IO_WRITE))
        q.kind = kind == IO_READ ? IO_READ_FIXED : IO_WRITE_FIXED;
    CHECK_INT(r->engine->prepare(r->self, &q, 42), 0);
    for (unsigned i = 0; i < 100 && r->engine->ready(r->self) == 0; i++) {
        err = r->engine->submit(r->self, 1, ENGINE_WAIT_NS);
        CHECK(err == 0 || err == -ETIME || err == -EINTR);
    }
    CHECK_INT(r->engine->ready(r->self), 1);
    if (r->engine->ready(r->self) == 1) {
        CHECK_INT(r->engine->at(r->self, 0).tag, 42);
        res = r->engine->at(r->self, 0).res;
        r->engine->consume(r->self, 1);
    }
    CHECK_INT(r->engine->ready(r->self), 0);
    return res;
}

static uint64_t ios(const struct volume *v, unsigned leg)
{
    if (told)
        legs_tell(told);
    return atomic_load(&v->leg[leg].ios);
}

static const enum rig_engine engines[] = { RIG_RING, RIG_THREADS, RIG_SYNC };

/* Write at random places, then read each leg's file as the arithmetic says. */
static unsigned mismatches(struct volume *v, struct rig *r)
{
    static unsigned char image[LEGS * LEG_BYTES], byte;
    unsigned wrong = 0;
    struct rng rng;

    rng_seed(&rng, 5, 0);
    for (uint64_t at = 0; at < v->map->size; at += 65536)       /* all of it is known */
        one(r, IO_READ, at, 65536);
    for (uint64_t at = 0; at < v->map->size; at++) {
        struct stripe_place p = stripe_at(v->map, at);

        image[at] = (unsigned char)(p.pos / 512 % 251);
    }
    for (unsigned i = 0; i < 300; i++) {
        uint32_t len = (uint32_t)(512 * (1 + rng_below(&rng, 128)));
        uint64_t pos = 512 * rng_below(&rng, (v->map->size - len) / 512 + 1);

        memset(r->memory->mem, (int)i, len);
        for (uint32_t k = 0; k < len; k += 512)
            r->memory->mem[k] = (unsigned char)(k / 512);
        memcpy(image + pos, r->memory->mem, len);
        wrong += one(r, IO_WRITE, pos, len) != (int)len;
    }
    for (uint64_t at = 0; at < v->map->size; at += 256) {       /* two places a sector */
        struct stripe_place p = stripe_at(v->map, at);

        wrong += pread(v->leg[p.leg].file->fd, &byte, 1, (off_t)p.pos) != 1 || byte != image[at];
    }
    for (uint64_t at = 0; at + 65536 <= v->map->size; at += 65536) {
        wrong += one(r, IO_READ, at, 65536) != 65536;
        wrong += memcmp(r->memory->mem, image + at, 65536) != 0;
    }
    return wrong;
}

static void what_is_written_lies_where_it_should(void)
{
    static const enum stripe_kind kinds[] = { STRIPE_STRIPED, STRIPE_CONCAT, STRIPE_MIRROR };

    for (unsigned k = 0; k < 3 * 3 * 2; k++) {
        struct volume *v;
        struct rig r;

        make_files();
        v = make(kinds[k % 3], 3, LEGS, k / 9);
        if (open_rig(&r, v, engines[k / 3 % 3], 1, 65536)) {
            CHECK_INT(mismatches(v, &r), 0);
            shut(&r);
        }
        volume_unref(v);
        drop_files();
    }
}

/* Two disks, 16 KiB chunks: 64 KiB are four pieces and two requests, at 8 KiB five pieces. */
static void a_request_of_two_rows_completes_once(void)
{
    static const unsigned want[2][2] = { { 2, 2 }, { 1, 1 } }, odd[2][2] = { { 3, 2 }, { 1, 1 } };

    make_files();
    for (unsigned merge = 0; merge < 2; merge++)
        for (unsigned k = 0; k < 3; k++) {
            struct volume *v = make(STRIPE_STRIPED, 2, LEGS, merge);
            struct rig r;

            if (open_rig(&r, v, engines[k], 1, 65536)) {
                CHECK_INT(one(&r, IO_WRITE, 0, 65536), 65536);
                CHECK_INT(ios(v, 0), want[merge][0]);
                CHECK_INT(ios(v, 1), want[merge][1]);
                CHECK_INT(one(&r, IO_READ, 8192, 65536), 65536);
                CHECK_INT(ios(v, 0), want[merge][0] + odd[merge][0]);
                CHECK_INT(ios(v, 1), want[merge][1] + odd[merge][1]);
                CHECK_INT(atomic_load(&v->leg[0].bytes) + atomic_load(&v->leg[1].bytes), 131072);
                CHECK_INT(one(&r, IO_FSYNC, 0, 0), 0);
                shut(&r);
            }
            volume_unref(v);
        }
    drop_files();
}

static void a_mirror_reads_from_all_and_lives_on_one(void)
{
    make_files();
    for (unsigned k = 0; k < 3; k++) {
        struct volume *v = make(STRIPE_MIRROR, 3, LEGS, true);
        struct rig r;

        if (open_rig(&r, v, engines[k], 1, 4096)) {
            for (unsigned i = 0; i < 300; i++)
                CHECK_INT(one(&r, IO_READ, i * 512, 4096), 4096);
            CHECK_INT(ios(v, 0), 100);
            CHECK_INT(ios(v, 1), 100);
            CHECK_INT(ios(v, 2), 100);
            CHECK_INT(one(&r, IO_WRITE, 0, 4096), 4096);
            CHECK_INT(ios(v, 2), 101);
            shut(&r);
        }
        volume_unref(v);
        v = make(STRIPE_MIRROR, 3, 1, true);
        if (open_rig(&r, v, engines[k], 1, 4096)) {
            for (unsigned i = 0; i < 10; i++)
                CHECK_INT(one(&r, IO_READ, 0, 4096), 4096);
            CHECK_INT(one(&r, IO_WRITE, 0, 4096), 4096);
            CHECK_INT(one(&r, IO_FSYNC, 0, 0), 0);
            CHECK(atomic_load(&v->leg[1].failed));
            legs_tell(told);
            CHECK_INT(atomic_load(&v->leg[1].errors), 1);
            CHECK(!atomic_load(&v->leg[0].failed));
            volume_fail(v, 0);
            volume_fail(v, 2);
            CHECK_INT(one(&r, IO_READ, 0, 4096), -EIO);
            CHECK_INT(one(&r, IO_WRITE, 0, 4096), -EIO);
            shut(&r);
        }
        volume_unref(v);
    }
    drop_files();
}

static void an_error_leg_fails_what_touches_it_only(void)
{
    make_files();
    for (unsigned k = 0; k < 3; k++) {
        struct volume *v = make(STRIPE_STRIPED, 3, 1, true);
        struct rig r;

        if (open_rig(&r, v, engines[k], 1, 65536)) {
            CHECK_INT(one(&r, IO_READ, 0, 16384), 16384);
            CHECK_INT(one(&r, IO_READ, 16384, 512), -EIO);
            CHECK_INT(one(&r, IO_READ, 0, 65536), -EIO);
            CHECK_INT(one(&r, IO_READ, 32768, 32768), 32768);
            legs_tell(told);
            CHECK_INT(atomic_load(&v->leg[1].errors), 2);
            CHECK_INT(one(&r, IO_FSYNC, 0, 0), -EIO);
            shut(&r);
        }
        volume_unref(v);
    }
    drop_files();
}

/* A leg that was cut: what moved up to the first gap, although later pieces moved too. */
static void a_short_leg_ends_the_transfer_at_its_gap(void)
{
    make_files();
    for (unsigned k = 0; k < 3; k++) {
        struct volume *v = make(STRIPE_STRIPED, 2, LEGS, true);
        struct rig r;

        if (open_rig(&r, v, engines[k], 1, 65536)) {
            CHECK_INT(ftruncate(v->leg[1].file->fd, 4096 + 16384 + 1000), 0);
            CHECK_INT(one(&r, IO_READ, 0, 65536), 49152 + 1000);
            CHECK_INT(one(&r, IO_READ, v->map->size - 512, 4096), 0);   /* on the cut leg */
            CHECK_INT(one(&r, IO_READ, v->map->size, 4096), 0);
            CHECK_INT(one(&r, IO_READ, 0, 65536 + 512), -EINVAL);       /* over the rig's bs */
            shut(&r);
        }
        volume_unref(v);
        CHECK_INT(truncate(paths[1], LEG_BYTES), 0);
    }
    drop_files();
}

/* 20 000 operations at depth 32, each once: the job's own counts and the legs' agree. */
static void a_job_runs_on_a_volume(void)
{
    make_files();
    for (unsigned k = 0; k < 6; k++) {
        struct volume *v = make(STRIPE_STRIPED, 4, LEGS, k % 2);
        struct crew_spec s = { 0 };
        const struct job_result *r;
        struct crew *c;

        s.job.rig = (struct rig_spec){ .engine = engines[k / 2], .volume = v, .bs = 40960,
                                       .iodepth = k / 2 == 2 ? 1 : 32, .data = true, .node = -1,
                                       .sq_cpu = -1, .registered = true };
        s.job.load = (struct load_spec){ .order = LOAD_RANDOM, .read_percent = 60, .bs = 40960,
                                         .size = v->map->size, .seed = 1 };
        s.job.number_ios = 2000;
        s.job.end_fsync = true;
        CHECK_INT(crew_start(&c, &s, 1), 0);
        CHECK_INT(crew_join(c, message, sizeof message), 0);
        r = crew_result(c, 0);
        CHECK(r && r->side[JOB_READ].ios + r->side[JOB_WRITE].ios == 2000);
        CHECK(r && r->error == 0 && r->side[JOB_READ].errors == 0);
        CHECK(ios(v, 0) + ios(v, 1) + ios(v, 2) + ios(v, 3) >= 4000);
        CHECK_INT(atomic_load(&v->leg[0].bytes) + atomic_load(&v->leg[1].bytes) +
                  atomic_load(&v->leg[2].bytes) + atomic_load(&v->leg[3].bytes), 2000 * 40960);
        crew_close(c);
        CHECK_INT(v->refs, 1);
        volume_unref(v);
    }
    drop_files();
}

int main(void)
{
    CASE(what_is_written_lies_where_it_should);
    CASE(a_request_of_two_rows_completes_once);
    CASE(a_mirror_reads_from_all_and_lives_on_one);
    CASE(an_error_leg_fails_what_touches_it_only);
    CASE(a_short_leg_ends_the_transfer_at_its_gap);
    CASE(a_job_runs_on_a_volume);
    return DONE();
}
