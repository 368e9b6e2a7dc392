#include <errno.h>
#include <stdlib.h>

#include "core/io.h"
#include "core/simdevice.h"
#include "core/volume.h"

static int mixed(unsigned n, struct file *const *files, struct sim_device *const *sims)
{
    bool file = false, sim = false;

    for (unsigned i = 0; i < n; i++) {
        file = file || files[i];
        sim = sim || sims[i];
    }
    return file && sim ? -EINVAL : sim;
}

int volume_new(struct volume **out, struct stripe *map, struct file *const *files,
               struct sim_device *const *sims, bool merge)
{
    int simulated = mixed(map->legs, files, sims);
    struct volume *v;

    if (simulated < 0)
        return simulated;
    v = calloc(1, sizeof *v + map->legs * sizeof v->leg[0]);
    if (!v)
        return -ENOMEM;
    v->simulated = simulated;
    v->refs = 1;
    v->map = map;
    v->merge = merge;
    v->writable = v->direct = true;
    v->block_size = 1;
    for (unsigned i = 0; i < map->legs; i++) {
        struct file *f = files[i];

        v->leg[i].file = f ? file_ref(f) : NULL;
        v->leg[i].sim = sims[i];
        if (sims[i])
            sim_device_ref(sims[i]);
        v->writable = v->writable && (!f || f->writable);
        v->direct = v->direct && (!f || f->direct);
        if (f && f->block_size > v->block_size)
            v->block_size = f->block_size;
    }
    *out = v;
    return 0;
}

struct volume *volume_ref(struct volume *v)
{
    __atomic_add_fetch(&v->refs, 1, __ATOMIC_RELAXED);
    return v;
}

void volume_unref(struct volume *v)
{
    if (!v || __atomic_sub_fetch(&v->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    for (unsigned i = 0; i < v->map->legs; i++) {
        file_unref(v->leg[i].file);
        sim_device_unref(v->leg[i].sim);
    }
    free(v->map);
    free(v);
}

unsigned volume_fail(struct volume *v, unsigned leg)
{
    unsigned left = 0;

    atomic_store_explicit(&v->leg[leg].failed, true, memory_order_relaxed);
    for (unsigned i = 0; i < v->map->legs; i++)
        left += !atomic_load_explicit(&v->leg[i].failed, memory_order_relaxed);
    return left;
}

int volume_sync(struct volume *v)
{
    int first = 0;

    for (unsigned i = 0; i < v->map->legs; i++) {
        struct io_req q = { .kind = IO_FSYNC, .fd = v->leg[i].file ? v->leg[i].file->fd : -1 };
        int err = v->leg[i].file ? io_perform(&q) : 0;

        if (err < 0 && first == 0)
            first = err;
    }
    return first;
}
