#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/fill.h"
#include "core/legs.h"
#include "core/mapped.h"
#include "core/place.h"
#include "core/rig.h"
#include "core/ring.h"
#include "core/sim.h"
#include "core/threads.h"
#include "core/volume.h"

#define FIXED_MAX ((size_t)1 << 30)     /* the kernel registers at most 1 GiB at once */

static int fail(char *message, size_t len, const char *what, int err)
{
    snprintf(message, len, "%s: %s", what, strerrordesc_np(-err));
    return err;
}

static int open_ring(struct rig *r, const struct rig_spec *spec, char *message, size_t len)
{
    struct ring_options o = { spec->iodepth, spec->sqpoll, spec->sq_cpu, spec->iopoll, 0 };
    struct ring *ring;
    int err = ring_open(&ring, &o);

    if (err < 0) {
        if (ring_available(message, len) == 0)
            snprintf(message, len, "io_uring with iodepth %u%s%s: %s", spec->iodepth,
                     spec->sqpoll ? ", sqpoll" : "", spec->iopoll ? ", iopoll" : "",
                     strerrordesc_np(-err));
        return err;
    }
    ring->lazy = !spec->iopoll;         /* the loop waits whenever its depth is full */
    r->engine = &ring_engine;
    r->ring = true;
    r->self = ring;
    return 0;
}

static int open_threads(struct rig *r, const struct rig_spec *spec, char *message, size_t len)
{
    unsigned depth = spec->iodepth < THREADS_DEPTH_MAX ? spec->iodepth : THREADS_DEPTH_MAX;
    struct threads *t;
    int err = threads_open(&t, depth);

    if (err < 0)
        return fail(message, len, "threads engine", err);
    r->engine = &threads_engine;
    r->self = r->pool = t;
    r->depth = depth;
    return 0;
}

static int open_sync(struct rig *r, char *message, size_t len)
{
    struct sync *s;
    int err = sync_open(&s);

    if (err < 0)
        return fail(message, len, "sync engine", err);
    r->engine = &sync_engine;
    r->self = s;
    r->depth = 1;
    return 0;
}

static int open_mapped(struct rig *r, const struct rig_spec *spec, char *message, size_t len)
{
    struct mapped *m;
    int err = spec->file ? mapped_open(&m, spec->file) : -ENODEV;

    if (err < 0)
        return fail(message, len, "mmap engine", err);
    r->engine = &mapped_engine;
    r->self = m;
    r->depth = 1;
    return 0;
}

static int open_sim(struct rig *r, const struct rig_spec *spec, char *message, size_t len)
{
    struct sim *s;
    int err = sim_open(&s, spec->world, spec->seed, spec->iodepth);

    if (err < 0)
        return fail(message, len, "simulated device", err);
    r->engine = &sim_engine;
    r->self = r->port = s;
    sim_set_distance(s, spec->sim_distance);
    if (spec->volume)
        return 0;               /* each leg is a device: see wrap */
    r->sim = sim_device(s, spec->sim);
    return r->sim < 0 ? fail(message, len, "simulated device", r->sim) : 0;
}

static bool needs_ring(const struct rig_spec *spec)
{
    return spec->sqpoll || spec->iopoll;
}

/* io_uring where it may be used; where it is forbidden or absent, threads and the reason. */
static int open_auto(struct rig *r, const struct rig_spec *spec, char *message, size_t len)
{
    int err = open_ring(r, spec, message, len);

    if (err == 0 || needs_ring(spec) ||
        (err != -EPERM && err != -EACCES && err != -ENOSYS && err != -ENOMEM))
        return err;
    snprintf(r->note, sizeof r->note, "threads instead of io_uring: %.100s", message);
    return open_threads(r, spec, message, len);
}

static int open_engine(struct rig *r, const struct rig_spec *spec, char *message, size_t len)
{
    switch (spec->engine) {
    case RIG_RING:
        return open_ring(r, spec, message, len);
    case RIG_THREADS:
        return open_threads(r, spec, message, len);
    case RIG_SYNC:
        return open_sync(r, message, len);
    case RIG_MMAP:
        return open_mapped(r, spec, message, len);
    case RIG_SIM:
        return open_sim(r, spec, message, len);
    case RIG_AUTO:
        break;
    }
    return open_auto(r, spec, message, len);
}

static int open_memory(struct rig *r, const struct rig_spec *spec, char *message, size_t len)
{
    size_t align = spec->bs >= 4096 ? 4096 : 512;
    struct rng rng;
    int err;

    r->stride = (spec->bs + align - 1) / align * align;
    err = buf_open(&r->memory, r->stride * r->depth);
    if (err < 0)
        return fail(message, len, "memory of the job", err);
    if (spec->node >= 0)
        err = place_memory(r->memory->mem, r->memory->mapped, (unsigned)spec->node);
    if (err < 0) {
        snprintf(message, len, "memory on node %d: %s", spec->node, strerrordesc_np(-err));
        return err;
    }
    rng_seed(&rng, ~spec->seed, spec->stream);
    fill_random(r->memory->mem, r->memory->len, &rng);
    return 0;
}

static void note_unregistered(struct rig *r, int err)
{
    struct rlimit limit;

    if (err == -ENOMEM && getrlimit(RLIMIT_MEMLOCK, &limit) == 0)
        snprintf(r->note, sizeof r->note, "buffers not registered: %llu KiB of locked memory "
                 "allowed, %zu KiB needed", (unsigned long long)limit.rlim_cur / 1024,
                 r->memory->mapped / 1024);
    else
        snprintf(r->note, sizeof r->note, "buffers not registered: %s", strerrordesc_np(-err));
}

static void register_legs(struct rig *r, const struct volume *v)
{
    r->fixed_file = ring_open_files(r->self, v->map->legs) == 0;
    for (unsigned i = 0; r->fixed_file && i < v->map->legs; i++)
        if (v->leg[i].file)
            r->fixed_file = ring_set_file(r->self, i, v->leg[i].file->fd) >= 0;
}

/* Registration is a gain, never a need: what is refused is noted. A character device pins no
 * pages, so registered memory would only be looked up for nothing. */
static void register_all(struct rig *r, const struct rig_spec *spec)
{
    int err;

    if (spec->file)
        r->fixed_file = ring_register_file(r->self, spec->file->fd) == 0;
    if (spec->volume)
        register_legs(r, spec->volume);
    if (!spec->data || (spec->file && spec->file->type == FILE_CHAR))
        return;
    err = r->memory->mapped <= FIXED_MAX
        ? ring_register_buffer(r->self, r->memory->mem, r->memory->mapped) : -E2BIG;
    r->fixed_memory = err == 0;
    r->fixed_vectors = r->fixed_memory && ring_supports(r->self, IO_READV_FIXED);
    if (err < 0)
        note_unregistered(r, err);
}

/* The engine of a volume's legs, as deep as its requests have parts. */
static int open_inner(struct rig *r, const struct rig_spec *spec, char *message, size_t len)
{
    unsigned parts = legs_parts(spec->volume, spec->bs);
    struct rig_spec inner = *spec;
    int err;

    if (parts > RING_ENTRIES_MAX / spec->iodepth) {
        snprintf(message, len, "iodepth %u with up to %u leg requests each is over %u at once",
                 spec->iodepth, parts, RING_ENTRIES_MAX);
        return -E2BIG;
    }
    inner.iodepth = r->depth = spec->iodepth * parts;
    err = open_engine(r, &inner, message, len);
    if (err == 0 && r->engine != &sync_engine && r->depth < parts) {
        snprintf(message, len, "%u leg requests each are too many for the %s engine", parts,
                 r->engine->name);
        err = -E2BIG;
    }
    r->depth = r->engine == &sync_engine ? 1 : r->depth / parts;
    return err;
}

/* What the inner engine calls leg i, -1 for an error leg. */
static int leg_of(const struct rig *r, const struct volume *v, unsigned i)
{
    const struct volume_leg *leg = &v->leg[i];

    if (r->port)
        return leg->sim ? sim_device(r->port, leg->sim) : -1;
    if (!leg->file)
        return -1;
    return r->fixed_file ? (int)i : leg->file->fd;
}

/* Put the volume in front of what was opened and registered for its legs. */
static int wrap(struct rig *r, const struct rig_spec *spec, char *message, size_t len)
{
    const struct volume *v = spec->volume;
    int fds[STRIPE_LEGS_MAX];
    struct legs_spec s = { spec->volume, r->engine, r->self, r->depth, spec->bs, fds,
                           r->fixed_file, r->fixed_vectors, r->port != NULL };
    struct legs *legs;
    int err;

    for (unsigned i = 0; i < v->map->legs; i++)
        fds[i] = leg_of(r, v, i);
    err = legs_open(&legs, &s);
    if (err < 0)
        return fail(message, len, "memory of the volume's requests", err);
    r->engine = legs_engine(r->engine);
    r->self = legs;
    r->ring = false;
    return 0;
}

/* Does a simulated target hold data, so that requests need memory? */
static bool keeps_data(const struct rig_spec *spec)
{
    if (spec->sim)
        return spec->sim->data != NULL;
    for (unsigned i = 0; spec->volume && i < spec->volume->map->legs; i++)
        if (spec->volume->leg[i].sim && spec->volume->leg[i].sim->data)
            return true;
    return false;
}

int rig_open(struct rig *r, const struct rig_spec *spec, char *message, size_t len)
{
    int err;

    *r = (struct rig){ .depth = spec->iodepth };
    err = spec->volume ? open_inner(r, spec, message, len)
                       : open_engine(r, spec, message, len);
    if (err == 0 && spec->data && (spec->engine != RIG_SIM || keeps_data(spec)))
        err = open_memory(r, spec, message, len);
    if (err < 0) {
        rig_close(r, 0);
        return err;
    }
    if (r->ring && spec->registered)
        register_all(r, spec);
    if (spec->volume && (err = wrap(r, spec, message, len)) < 0)
        rig_close(r, 0);
    return err;
}

int rig_close(struct rig *r, uint64_t grace_ns)
{
    int err = r->self ? r->engine->close(r->self, grace_ns) : 0;

    if (err != -ETIME)
        buf_unref(r->memory);
    r->self = NULL;
    r->memory = NULL;
    return err;
}
