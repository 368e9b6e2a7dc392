#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/clock.h"
#include "core/dmguard.h"
#include "core/dmmake.h"
#include "core/dmname.h"

static int refuse(int err, char *message, size_t len, const char *what, const char *name,
                  const char *why)
{
    snprintf(message, len, "%s %s: %s", what, name, why);
    return err;
}

static int check_deps(const struct dm_make *m, const struct dmguard *g, char *message, size_t len)
{
    dev_t *devs = calloc(DM_DEPS_MAX, sizeof *devs);
    int n = devs ? dm_deps(devs, m->name, true, message, len) : -ENOMEM;

    if (n > 0)
        n = dmguard_covers(g, devs, (unsigned)n, message, len);
    free(devs);
    return n < 0 ? n : 0;
}

/* Every device of the table, before the kernel sees it. */
static int guard(struct dmguard *g, const struct dm_make *m, char *message, size_t len)
{
    int err = dm_check_name(m->name, message, len);

    if (err == 0 && strncmp(m->uuid, dm_prefix(), strlen(dm_prefix())) != 0)
        err = refuse(-EINVAL, message, len, "create", m->name, "the UUID is not of this run");
    for (unsigned i = 0; err == 0 && i < m->n; i++)
        err = dmguard_params(g, m->lines[i].params, m->destroy, message, len);
    return err;
}

static int verify_node(const char *name, char *message, size_t len)
{
    char path[DM_NAME_MAX + 16];
    struct dm_state state;
    struct stat st;
    int err = dm_info(&state, name, NULL, message, len);

    if (err < 0)
        return err;
    dm_path(path, sizeof path, name);
    if (stat(path, &st) == 0 && S_ISBLK(st.st_mode) && st.st_rdev == state.dev)
        return 0;
    dm_make_nodes(name, message, len);
    if (stat(path, &st) == 0 && S_ISBLK(st.st_mode) && st.st_rdev == state.dev)
        return 0;
    return refuse(-ENODEV, message, len, "create", name, "its node in /dev/mapper did not appear");
}

int dm_create(const struct dm_make *m, char *message, size_t len)
{
    struct dmguard *g = calloc(1, sizeof *g);
    char dropped[200];
    int err;

    if (!g)
        return refuse(-ENOMEM, message, len, "create", m->name, "out of memory");
    err = guard(g, m, message, len);
    if (err == 0)
        err = dm_make_device(m, message, len);
    if (err < 0) {
        free(g);
        return err;
    }
    err = dm_load(m, message, len);
    if (err == 0)
        err = check_deps(m, g, message, len);
    if (err == 0)
        err = dm_resume(m->name, message, len);
    if (err == 0)
        err = verify_node(m->name, message, len);
    if (err < 0)
        dm_remove(m->name, false, CLOCK_SECOND, dropped, sizeof dropped);
    free(g);
    return err;
}

int dm_reload(const struct dm_make *m, char *message, size_t len)
{
    struct dmguard *g = calloc(1, sizeof *g);
    char dropped[200];
    int err;

    if (!g)
        return refuse(-ENOMEM, message, len, "reload", m->name, "out of memory");
    err = guard(g, m, message, len);
    if (err == 0)
        err = dm_load(m, message, len);
    if (err == 0 && (err = check_deps(m, g, message, len)) < 0)
        dm_clear(m->name, dropped, sizeof dropped);
    if (err == 0)
        err = dm_suspend(m->name, false, false, message, len);
    if (err == 0 && (err = dm_resume(m->name, message, len)) < 0) {
        /* Never leave it suspended: the old table goes on. */
        dm_clear(m->name, dropped, sizeof dropped);
        dm_resume(m->name, dropped, sizeof dropped);
    }
    free(g);
    return err;
}

/* "remove vol: in use: open 2 times, by cp (process 812)" */
static int explain_busy(const char *name, char *message, size_t len)
{
    char who[200], dropped[200];
    struct dm_state s;

    if (dm_info(&s, name, NULL, dropped, sizeof dropped) < 0 || s.open_count == 0)
        return refuse(-EBUSY, message, len, "remove", name, strerrordesc_np(EBUSY));
    if (dmguard_holder(who, sizeof who, s.dev) < 0)
        strcpy(who, "nobody that can be seen from here");
    snprintf(message, len, "remove %s: in use: open count %d, held by %s", name, s.open_count,
             who);
    return -EBUSY;
}

int dm_remove(const char *name, bool deferred, uint64_t retry_ns, char *message, size_t len)
{
    uint64_t deadline = clock_now() + retry_ns;
    int err;

    while ((err = dm_drop(name, deferred, message, len)) == -EBUSY && clock_now() < deadline)
        clock_sleep_until(clock_now() + 20000000);
    return err == -EBUSY ? explain_busy(name, message, len) : err;
}

