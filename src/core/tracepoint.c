#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/tracepoint.h"

#define FORMAT_MAX 8192         /* a format file has at most a page or two */

__attribute__((format(printf, 4, 5)))
static int fail(int err, char *why, size_t len, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    vsnprintf(why, len, format, ap);
    va_end(ap);
    return err;
}

/* A mount that is attached nowhere: only its descriptor leads to it. */
static int private_mount(int *dir)
{
    int fs = fsopen("tracefs", FSOPEN_CLOEXEC), fd, err;

    if (fs < 0)
        return -errno;
    fd = fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0
         ? -1 : fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_RDONLY);
    err = -errno;
    close(fs);
    if (fd < 0)
        return err;
    *dir = fd;
    return 0;
}

int tracepoint_dir(int *dir, char *why, size_t len)
{
    static const char *const mounted[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };
    int err = 0;

    for (unsigned i = 0; i < sizeof mounted / sizeof *mounted; i++) {
        int fd = open(mounted[i], O_PATH | O_DIRECTORY | O_CLOEXEC);

        if (fd < 0)
            continue;
        if (faccessat(fd, "events/block", R_OK | X_OK, 0) == 0) {
            *dir = fd;
            return 0;
        }
        err = errno == EACCES ? -EACCES : err;
        close(fd);
    }
    if (err == 0)
        err = private_mount(dir);
    if (err == 0)
        return 0;
    if (err == -EACCES || err == -EPERM)
        return fail(-EACCES, why, len, "tracefs: only root may read it here");
    if (err == -ENODEV)
        return fail(err, why, len, "tracefs: this kernel has none");
    return fail(err, why, len, "tracefs: not mounted on /sys/kernel/tracing, and a private "
                "mount failed: %s", strerrordesc_np(-err));
}

/* The text of events/EVENT/FILE in out, terminated. */
static int read_text(char *out, size_t size, int dir, const char *event, const char *file,
                     char *why, size_t len)
{
    char path[256];
    size_t used = 0;
    ssize_t n;
    int fd;

    snprintf(path, sizeof path, "events/%s/%s", event, file);
    fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return fail(-ENOENT, why, len, "tracepoint %s: this kernel has none", event);
    if (fd < 0)
        return fail(-errno, why, len, "tracepoint %s: %s", event, strerrordesc_np(errno));
    while (used < size - 1 && (n = read(fd, out + used, size - 1 - used)) > 0)
        used += (size_t)n;
    close(fd);
    out[used] = '\0';
    return 0;
}

int tracepoint_id(uint64_t *id, int dir, const char *event, char *why, size_t len)
{
    char text[32], *end;
    int err = read_text(text, sizeof text, dir, event, "id", why, len);
    unsigned long long value;

    if (err < 0)
        return err;
    value = strtoull(text, &end, 10);
    if (end == text)
        return fail(-EPROTO, why, len, "tracepoint %s: its id is not a number", event);
    *id = value;
    return 0;
}

int tracepoint_field(struct tracepoint_field *out, int dir, const char *event, const char *field,
                     char *why, size_t len)
{
    char text[FORMAT_MAX], *rest = text, *line;
    size_t name = strlen(field);
    int err = read_text(text, sizeof text, dir, event, "format", why, len);

    if (err < 0)
        return err;
    /* A line is "field:TYPE NAME[N];  offset:8;  size:4;  signed:0;" */
    while ((line = strsep(&rest, "\n"))) {
        char *semi = strchr(line, ';'), *at = semi ? strstr(semi, "offset:") : NULL;
        char *word = semi;

        if (!at || !strstr(line, "field:"))
            continue;
        while (word > line && word[-1] != ' ')
            word--;
        if (strncmp(word, field, name) || (word[name] != ';' && word[name] != '['))
            continue;
        if (sscanf(at, "offset:%u; size:%u", &out->offset, &out->size) == 2)
            return 0;
    }
    return fail(-ENOENT, why, len, "tracepoint %s: it has no field %s here", event, field);
}

static int open_failed(int err, const char *event, char *why, size_t len)
{
    if (err == -EACCES || err == -EPERM)
        return fail(err, why, len, "count %s: needs root or CAP_PERFMON", event);
    if (err == -EMFILE)
        return fail(err, why, len, "count %s: too few file descriptors: raise ulimit -n", event);
    if (err == -ENOSYS)
        return fail(err, why, len, "count %s: this kernel has no perf events", event);
    return fail(err, why, len, "count %s: %s", event, strerrordesc_np(-err));
}

int tracepoint_open(struct perf_event_attr *attr, pid_t tid, int cpu, const char *filter,
                    const char *event, char *why, size_t len)
{
    int fd, err;

    attr->type = PERF_TYPE_TRACEPOINT;
    attr->size = sizeof *attr;
    fd = (int)syscall(SYS_perf_event_open, attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0)
        return open_failed(-errno, event, why, len);
    if (filter && ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter) < 0) {
        err = -errno;
        close(fd);
        return fail(err, why, len, "count %s: the kernel refused the filter \"%.80s\": %s",
                    event, filter, strerrordesc_np(-err));
    }
    return fd;
}
