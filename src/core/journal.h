/*
 * journal - a durable list of what must be undone, one file a run.
 *
 * A record is on disk before the change it can undo is made. A file is made whole (written,
 * synced, then renamed into place), records are appended in one write with a checksum and
 * synced; a torn tail is a change that was not made, and is dropped when read. Its owner holds
 * a lock (flock) on the file, so that a file that can be locked belongs to a dead run. A record
 * ends by a line that says so, the file by being removed when none is left.
 *
 * Not for several threads at once.
 */
#ifndef IOLUA_CORE_JOURNAL_H
#define IOLUA_CORE_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct journal;

struct journal_record {
    unsigned id;                /* from 1, in the order they were added */
    char *kind;                 /* "attr", "irq", "dm", ...: who can undo it */
    char *target;               /* what is changed: a path, a device's name */
    char *old;                  /* its value before */
    char *now;                  /* value it was last given, NULL while a change is under way */
    bool done;                  /* undone or dropped: nothing is left to do */
};

/* Who wrote a journal. */
struct journal_owner {
    pid_t pid;
    uid_t uid;
    int64_t start;              /* of the process, clock ticks since boot */
    int64_t when;               /* Unix time of the first record, s */
    char boot[40];              /* boot id */
};

/*
 * The folder of this user's journals, made if missing: `chosen` if not NULL, else /run/iolua
 * for root, xdg/iolua, or /tmp/iolua-UID where xdg is NULL or empty. -EPERM when it is a link,
 * belongs to somebody else or lets others write.
 */
int journal_folder(char *path, size_t len, const char *chosen, const char *xdg);

/* Is there any journal in that folder? Makes nothing. */
bool journal_pending(const char *chosen, const char *xdg);

/* Begin a journal of this process in folder; no file is made before the first record. */
int journal_new(struct journal **out, const char *folder);

/* Take over the file called name: -EBUSY when its owner lives (*out is then NULL and *pid the
 * owner's), -EBADMSG when it is no journal, -ENOENT when it has gone meanwhile. */
int journal_load(struct journal **out, const char *folder, const char *name, pid_t *pid);

/* Names of the journals in folder, sorted, to be freed with journal_free_names. Returns their
 * number. */
int journal_names(char ***names, const char *folder);
void journal_free_names(char **names, int n);

/*
 * Add n records of which kind, target and old are given, all or none; ids are filled in, and
 * `now` starts as old. -EBUSY when another journal holds one of the targets: *pid is its
 * owner's (negative when that is dead and has left it), *index which record. What this journal
 * holds already may not be added again: -EEXIST.
 */
int journal_add(struct journal *j, struct journal_record *records, unsigned n, pid_t *pid,
                unsigned *index);

/* What happened to record id: see journal_record. */
struct journal_note {
    unsigned id;
    const char *now;            /* NULL: a change is under way */
    bool done;
};

/* Write n notes, all or none. */
int journal_note(struct journal *j, const struct journal_note *notes, unsigned n);

/* The records, valid until the next call that changes the journal. */
const struct journal_record *journal_records(const struct journal *j, unsigned *n);

/* The record of target that is not done, or NULL. */
const struct journal_record *journal_find(const struct journal *j, const char *target);

const struct journal_owner *journal_owner(const struct journal *j);

/* Is it of this boot of the machine? */
bool journal_current(const struct journal *j);

/* Unlock and free; the file is removed when every record is done. NULL allowed. */
void journal_close(struct journal *j);

#endif
