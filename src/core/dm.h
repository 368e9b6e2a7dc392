/*
 * dm - device-mapper through libdevmapper, one ioctl a call: the only file that includes it is
 * dm.c. Volumes are made and removed through core/dmmake.h, which asks the guard.
 *
 * Names are as the user gives them ("vol 1"); in /dev/mapper and in the kernel other characters
 * than letters, digits and "#+-.:=@_" are written \xNN. Lengths are sectors of 512 bytes. What
 * the library says is caught and becomes part of the message. Results are >= 0 or -errno;
 * -ENXIO: no such volume. Not for several threads at once: libdevmapper keeps state.
 */
#ifndef IOLUA_CORE_DM_H
#define IOLUA_CORE_DM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { DM_NAME_MAX = 127, DM_UUID_MAX = 128, DM_LINES_MAX = 4096, DM_DEPS_MAX = 1024 };

struct dm_line {                /* one segment of a table, or its status */
    uint64_t start, sectors;
    char *type, *params;
};

struct dm_entry {               /* a target of the kernel with its version, or a volume */
    char *name;
    dev_t dev;                  /* of a volume */
    unsigned version[3];        /* of a target */
};

struct dm_state {
    dev_t dev;
    bool suspended, read_only, live, inactive, deferred;        /* live: it has a table */
    int open_count;
    unsigned events, segments;
    char name[DM_NAME_MAX + 1], uuid[DM_UUID_MAX + 1];
};

struct dm_make {
    const char *name, *uuid;    /* uuid begins with dm_prefix() */
    const struct dm_line *lines;
    unsigned n;
    bool read_only;
    const char *const *destroy; /* devices whose data the user gave up, NULL-terminated, or NULL */
};

/* The steps of core/dmmake.h, one ioctl each and unguarded: nobody else calls them. */
int dm_make_device(const struct dm_make *m, char *message, size_t len); /* -EEXIST: the name */
int dm_load(const struct dm_make *m, char *message, size_t len);
int dm_clear(const char *name, char *message, size_t len);      /* the table loaded last */
int dm_make_nodes(const char *name, char *message, size_t len);
int dm_drop(const char *name, bool deferred, char *message, size_t len);

/* Is there a device-mapper that this process may use? 0, or -errno with the reason. */
int dm_available(char *message, size_t len);

int dm_suspend(const char *name, bool no_flush, bool no_lockfs, char *message, size_t len);
int dm_resume(const char *name, char *message, size_t len);

/* State of the volume with this name, or with this UUID where name is NULL. */
int dm_info(struct dm_state *state, const char *name, const char *uuid, char *message,
            size_t len);

/* Its table (status false) or status, line by line; see core/dmlist.h. */
int dm_lines(struct dm_line **lines, const char *name, bool status, char *message, size_t len);

/* Send a message to the target at a sector; its answer ("" for none), to be freed. */
int dm_message(char **answer, const char *name, uint64_t sector, const char *text, char *message,
               size_t len);

int dm_rename(const char *name, const char *to, char *message, size_t len);

/* Volumes of the machine, or targets of the kernel; see core/dmlist.h. */
int dm_list(struct dm_entry **list, char *message, size_t len);
int dm_targets(struct dm_entry **list, char *message, size_t len);

/* Devices that its table uses: at most DM_DEPS_MAX. With `inactive`, of the table loaded last. */
int dm_deps(dev_t *devs, const char *name, bool inactive, char *message, size_t len);

#endif
