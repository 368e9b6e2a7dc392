#include <errno.h>
#include <libdevmapper.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/dm.h"
#include "core/dmlist.h"
#include "core/dmname.h"
#include "core/kmsg.h"

#define UDEV_WAIT_NS  (10 * CLOCK_SECOND)
#define WARNING       4                 /* the library's levels: 2 fatal, 3 error, 4 warning */

/* What the library said first in the call under way. It has one logger for all, so this is the
 * one variable of the core that is not on somebody's stack. */
static _Thread_local char said[400];

__attribute__((format(printf, 5, 6)))
static void capture(int level, const char *file, int line, int error, const char *format, ...)
{
    va_list args;

    (void)file, (void)line, (void)error;
    if ((level & 7) > WARNING || said[0])
        return;
    va_start(args, format);
    vsnprintf(said, sizeof said, format, args);
    va_end(args);
}

static int refuse(int err, char *message, size_t len, const char *what, const char *name,
                  const char *why)
{
    snprintf(message, len, "%s %s: %s", what, name, why);
    return err;
}

/* "reload vol: Invalid argument (device-mapper: table: 253:0: striped: Invalid chunk size)" */
static int explain(int err, struct kmsg *k, char *message, size_t len, const char *what,
                   const char *name)
{
    char kernel[300];
    const char *why = err == -ENXIO ? "no such volume" : strerrordesc_np(-err);

    if (k && kmsg_find(kernel, sizeof kernel, k, "device-mapper: ") > 0)
        snprintf(message, len, "%s %s: %s (%s)", what, name, why, kernel);
    else if (err != -ENXIO && err != -EBUSY && said[0] && !strstr(said, why))
        snprintf(message, len, "%s %s: %s (%s)", what, name, why, said);
    else
        refuse(err, message, len, what, name, why);
    return err;
}

static struct dm_task *begin(int type, const char *name)
{
    struct dm_task *t;

    said[0] = '\0';
    dm_log_with_errno_init(capture);
    dm_set_name_mangling_mode(DM_STRING_MANGLING_HEX);
    t = dm_task_create(type);
    if (t && name && !dm_task_set_name(t, name)) {
        dm_task_destroy(t);
        t = NULL;
    }
    return t;
}

static int run(struct dm_task *t)
{
    if (dm_task_run(t))
        return 0;
    return dm_task_get_errno(t) ? -dm_task_get_errno(t) : -EIO;
}

/* Run a task of which nothing is asked but that it succeeds; t NULL: no memory. Ends t. */
static int run_once(struct dm_task *t, const char *what, const char *name, char *message,
                    size_t len)
{
    struct kmsg k;
    int err;

    if (!t)
        return refuse(-ENOMEM, message, len, what, name, said[0] ? said : "out of memory");
    kmsg_open(&k);
    err = run(t);
    dm_task_destroy(t);
    if (err < 0)
        explain(err, &k, message, len, what, name);
    kmsg_close(&k);
    return err;
}

/* Wait until udevd has handled the event of a cookie, 10 s at most; the cookie goes either way. */
static void wait_udev(uint32_t cookie)
{
    uint64_t deadline = clock_now() + UDEV_WAIT_NS;
    int ready = 0;

    while (dm_udev_wait_immediate(cookie, &ready) && !ready && clock_now() < deadline)
        clock_sleep_until(clock_now() + 1000000);
    if (ready)
        return;
    dm_udev_complete(cookie);           /* in udevd's place */
    dm_udev_wait_immediate(cookie, &ready);
}

/* The same for tasks that make or drop nodes: by udevd where one runs, else by the library. */
static int run_nodes(struct dm_task *t, const char *what, const char *name, char *message,
                     size_t len)
{
    uint32_t cookie = 0;
    bool udev = access("/run/udev/control", F_OK) == 0 && dm_udev_get_sync_support();
    int err;

    udev = t && udev && dm_task_set_cookie(t, &cookie, 0);
    err = run_once(t, what, name, message, len);
    if (udev)
        wait_udev(cookie);
    dm_task_update_nodes();
    return err;
}

int dm_available(char *message, size_t len)
{
    struct dm_task *t;
    int err;

    if (!dmname_in_kernel()) {
        snprintf(message, len, "this kernel has no device-mapper (where it is a module: modprobe "
                 "dm_mod)");
        return -ENODEV;
    }
    if (geteuid() != 0) {
        snprintf(message, len, "device-mapper needs root");
        return -EPERM;
    }
    t = begin(DM_DEVICE_VERSION, NULL);
    err = t ? run(t) : -ENOMEM;
    if (t)
        dm_task_destroy(t);
    if (err < 0)
        snprintf(message, len, "device-mapper cannot be used: %s", said[0] ? said
                 : strerrordesc_np(-err));
    return err;
}

int dm_make_device(const struct dm_make *m, char *message, size_t len)
{
    struct dm_task *t = begin(DM_DEVICE_CREATE, m->name);
    int err;

    if (t && !dm_task_set_uuid(t, m->uuid)) {
        dm_task_destroy(t);
        t = NULL;
    }
    err = run_once(t, "create", m->name, message, len);
    return err == -EBUSY ? refuse(-EEXIST, message, len, "create", m->name,
                                  "a volume of this name exists") : err;
}

int dm_load(const struct dm_make *m, char *message, size_t len)
{
    struct dm_task *t = begin(DM_DEVICE_RELOAD, m->name);
    bool ok = t != NULL;

    for (unsigned i = 0; ok && i < m->n; i++)
        ok = dm_task_add_target(t, m->lines[i].start, m->lines[i].sectors, m->lines[i].type,
                                m->lines[i].params);
    if (ok && m->read_only)
        ok = dm_task_set_ro(t);
    if (t && !ok) {
        dm_task_destroy(t);
        t = NULL;
    }
    return run_once(t, "load", m->name, message, len);
}

int dm_clear(const char *name, char *message, size_t len)
{
    return run_once(begin(DM_DEVICE_CLEAR, name), "clear", name, message, len);
}

int dm_make_nodes(const char *name, char *message, size_t len)
{
    int err = run_once(begin(DM_DEVICE_MKNODES, name), "make the node of", name, message, len);

    dm_task_update_nodes();
    return err;
}

int dm_drop(const char *name, bool deferred, char *message, size_t len)
{
    struct dm_task *t = begin(DM_DEVICE_REMOVE, name);

    if (t && deferred)
        dm_task_deferred_remove(t);
    return run_nodes(t, "remove", name, message, len);
}

int dm_suspend(const char *name, bool no_flush, bool no_lockfs, char *message, size_t len)
{
    struct dm_task *t = begin(DM_DEVICE_SUSPEND, name);

    if (t && no_flush)
        dm_task_no_flush(t);
    if (t && no_lockfs)
        dm_task_skip_lockfs(t);
    return run_once(t, "suspend", name, message, len);
}

int dm_resume(const char *name, char *message, size_t len)
{
    return run_nodes(begin(DM_DEVICE_RESUME, name), "resume", name, message, len);
}

static void fill(struct dm_state *s, struct dm_task *t, const struct dm_info *i)
{
    *s = (struct dm_state){ makedev(i->major, i->minor), i->suspended, i->read_only,
                            i->live_table, i->inactive_table, i->deferred_remove, i->open_count,
                            i->event_nr, (unsigned)i->target_count, "", "" };
    snprintf(s->name, sizeof s->name, "%s", dm_task_get_name(t) ? dm_task_get_name(t) : "");
    snprintf(s->uuid, sizeof s->uuid, "%s", dm_task_get_uuid(t) ? dm_task_get_uuid(t) : "");
}

int dm_info(struct dm_state *state, const char *name, const char *uuid, char *message, size_t len)
{
    struct dm_task *t = begin(DM_DEVICE_INFO, name);
    struct dm_info info = { 0 };
    int err = t && (name || dm_task_set_uuid(t, uuid)) ? run(t) : -ENOMEM;

    if (err == 0 && !dm_task_get_info(t, &info))
        err = -EIO;
    if (err == 0 && !info.exists)
        err = -ENXIO;
    if (err == 0)
        fill(state, t, &info);
    if (t)
        dm_task_destroy(t);
    return err < 0 ? explain(err, NULL, message, len, "look at", name ? name : uuid) : 0;
}

/* Copy what a status task brought. Number of lines, or -ENOMEM. */
static int copy_lines(struct dm_line **out, struct dm_task *t)
{
    char *type, *params;
    void *next = NULL;
    int n = 0;

    do {
        struct dm_line l = { 0 };

        next = dm_get_next_target(t, next, &l.start, &l.sectors, &type, &params);
        l.type = type;
        l.params = params;
        if (type)                       /* NULL: no table */
            n = dm_add_line(out, n, &l);
    } while (next && n >= 0);
    return n;
}

int dm_lines(struct dm_line **lines, const char *name, bool status, char *message, size_t len)
{
    struct dm_task *t = begin(status ? DM_DEVICE_STATUS : DM_DEVICE_TABLE, name);
    struct dm_info info = { 0 };
    int n = t ? run(t) : -ENOMEM;

    *lines = NULL;
    if (n == 0 && dm_task_get_info(t, &info) && !info.exists)
        n = -ENXIO;
    if (n == 0)
        n = copy_lines(lines, t);
    if (t)
        dm_task_destroy(t);
    return n < 0 ? explain(n, NULL, message, len, status ? "status of" : "table of", name) : n;
}

int dm_message(char **answer, const char *name, uint64_t sector, const char *text, char *message,
               size_t len)
{
    struct dm_task *t = begin(DM_DEVICE_TARGET_MSG, name);
    struct kmsg k;
    const char *got;
    int err = t && dm_task_set_sector(t, sector) && dm_task_set_message(t, text) ? 0 : -ENOMEM;

    kmsg_open(&k);
    if (err == 0)
        err = run(t);
    if (err == 0) {
        got = dm_task_get_message_response(t);
        *answer = strdup(got ? got : "");
        err = *answer ? 0 : -ENOMEM;
    }
    if (t)
        dm_task_destroy(t);
    if (err < 0)
        explain(err, &k, message, len, "message to", name);
    kmsg_close(&k);
    return err;
}

int dm_rename(const char *name, const char *to, char *message, size_t len)
{
    struct dm_task *t;
    int err = dm_check_name(to, message, len);

    if (err < 0)
        return err;
    t = begin(DM_DEVICE_RENAME, name);
    if (t && !dm_task_set_newname(t, to)) {
        dm_task_destroy(t);
        t = NULL;
    }
    err = run_nodes(t, "rename", name, message, len);
    return err == -EBUSY ? refuse(-EEXIST, message, len, "rename", name,
                                  "a volume of the new name exists") : err;
}

/* Both answers are chains of entries, each with the distance to the next, 0 at the end. */
static int copy_volumes(struct dm_entry **list, struct dm_task *t)
{
    struct dm_names *at = dm_task_get_names(t);
    int n = 0;

    if (!at || !at->dev)
        return 0;
    for (;; at = (struct dm_names *)((char *)at + at->next)) {
        n = dm_add_entry(list, n, (struct dm_entry){ at->name, dmname_dev(at->dev), { 0 } });
        if (n < 0 || !at->next)
            return n;
    }
}

static int copy_targets(struct dm_entry **list, struct dm_task *t)
{
    struct dm_versions *at = dm_task_get_versions(t);
    int n = 0;

    for (; at; at = (struct dm_versions *)((char *)at + at->next)) {
        n = dm_add_entry(list, n, (struct dm_entry){ at->name, 0, { at->version[0],
                                                     at->version[1], at->version[2] } });
        if (n < 0 || !at->next)
            return n;
    }
    return n;
}

static int listed(struct dm_entry **list, int type, const char *what,
                  int (*copy)(struct dm_entry **, struct dm_task *), char *message, size_t len)
{
    struct dm_task *t = begin(type, NULL);
    int n = t ? run(t) : -ENOMEM;

    *list = NULL;
    if (n == 0)
        n = copy(list, t);
    if (t)
        dm_task_destroy(t);
    return n < 0 ? explain(n, NULL, message, len, "list", what) : n;
}

int dm_list(struct dm_entry **list, char *message, size_t len)
{
    return listed(list, DM_DEVICE_LIST, "volumes", copy_volumes, message, len);
}

int dm_targets(struct dm_entry **list, char *message, size_t len)
{
    return listed(list, DM_DEVICE_LIST_VERSIONS, "targets", copy_targets, message, len);
}

int dm_deps(dev_t *devs, const char *name, bool inactive, char *message, size_t len)
{
    struct dm_task *t = begin(DM_DEVICE_DEPS, name);
    struct dm_deps *deps = NULL;
    int n = t && (!inactive || dm_task_query_inactive_table(t)) ? run(t) : -ENOMEM;

    if (n == 0)
        deps = dm_task_get_deps(t);
    if (deps && deps->count > DM_DEPS_MAX)
        n = -E2BIG;
    for (; deps && n >= 0 && (unsigned)n < deps->count; n++)
        devs[n] = dmname_dev(deps->device[n]);
    if (t)
        dm_task_destroy(t);
    return n < 0 ? explain(n, NULL, message, len, "devices of", name) : n;
}
