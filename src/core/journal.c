#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/attr.h"
#include "core/journal.h"
#include "core/journal_file.h"
#include "core/journal_text.h"

struct journal {
    char folder[PATH_MAX];
    char name[NAME_MAX + 1];
    int fd;                             /* -1 before the first record */
    struct journal_owner owner;
    struct journal_record *records;
    unsigned n, cap;
};

/* This process: pid, user, start time (field 22 of stat, after the name in brackets), boot. */
static void describe_self(struct journal_owner *o)
{
    char text[ATTR_MAX];
    const char *p;

    memset(o, 0, sizeof *o);
    o->pid = getpid();
    o->uid = geteuid();
    if (attr_read(o->boot, sizeof o->boot, "/proc/sys/kernel/random/boot_id") < 0)
        o->boot[0] = '\0';
    if (attr_read(text, sizeof text, "/proc/self/stat") < 0 || !(p = strrchr(text, ')')))
        return;
    for (unsigned field = 2; p && field < 22; field++)
        p = strchr(p + 1, ' ');
    o->start = p ? strtoll(p, NULL, 10) : 0;
}

int journal_new(struct journal **out, const char *folder)
{
    struct journal *j = calloc(1, sizeof *j);

    if (!j)
        return -ENOMEM;
    j->fd = -1;
    if (snprintf(j->folder, sizeof j->folder, "%s", folder) >= (int)sizeof j->folder) {
        free(j);
        return -ENAMETOOLONG;
    }
    describe_self(&j->owner);
    *out = j;
    return 0;
}

static void free_record(struct journal_record *r)
{
    free(r->kind);
    free(r->target);
    free(r->old);
    free(r->now);
}

/* Write text, making the file first if there is none. */
static int write_text(struct journal *j, const struct text *t)
{
    struct text whole = { 0 };
    int err = t->err;

    if (err < 0 || j->fd >= 0)
        return err < 0 ? err : journal_append(j->fd, t->bytes, t->len);
    j->owner.when = (int64_t)time(NULL);
    text_owner(&whole, &j->owner);
    text_append(&whole, t->bytes, t->len);
    err = whole.err < 0 ? whole.err
        : (j->fd = journal_make(j->name, j->folder, whole.bytes, whole.len));
    text_free(&whole);
    return err < 0 ? err : 0;
}

/* Take r's strings over as the next record. */
static int keep(struct journal *j, struct journal_record *r)
{
    if (j->n == j->cap) {
        unsigned cap = j->cap ? 2 * j->cap : 32;
        struct journal_record *grown = realloc(j->records, cap * sizeof *grown);

        if (!grown)
            return -ENOMEM;
        j->records = grown;
        j->cap = cap;
    }
    j->records[j->n++] = *r;
    return 0;
}

static struct journal_record *by_id(const struct journal *j, unsigned id)
{
    for (unsigned i = 0; i < j->n; i++)
        if (j->records[i].id == id)
            return &j->records[i];
    return NULL;
}

/* Apply a note to the records in memory. */
static int apply(struct journal *j, const struct journal_note *note)
{
    struct journal_record *r = by_id(j, note->id);
    char *now = note->now ? strdup(note->now) : NULL;

    if (!r || (note->now && !now)) {
        free(now);
        return r ? -ENOMEM : -ENOENT;
    }
    free(r->now);
    r->now = now;
    r->done = r->done || note->done;
    return 0;
}

/* One line of a file; a bad one ends the reading (false). */
static bool take_line(struct journal *j, char *line, unsigned number)
{
    struct journal_record r = { 0 };
    struct journal_note note = { 0 };

    switch (text_parse(line, &j->owner, &r, &note)) {
    case TEXT_OWNER:
        return number == 0;
    case TEXT_RECORD:
        if (number > 0 && keep(j, &r) == 0)
            return true;
        free_record(&r);
        return false;
    case TEXT_NOTE:
        return number > 0 && apply(j, &note) == 0;
    case TEXT_BAD:
        break;
    }
    return false;
}

/* Read the file; *good is where its last whole line ends. */
static int read_all(struct journal *j, off_t *good)
{
    FILE *f = fdopen(dup(j->fd), "r");
    char *line = NULL;
    size_t cap = 0;
    unsigned number = 0;
    ssize_t n;

    if (!f)
        return -errno;
    rewind(f);
    for (*good = 0; (n = getline(&line, &cap, f)) > 0 && take_line(j, line, number); number++)
        *good += n;
    free(line);
    fclose(f);
    return number > 0 ? 0 : -EBADMSG;
}

/* Free without touching the file: it is somebody else's. */
static void let_go(struct journal *j)
{
    if (j->fd >= 0)
        close(j->fd);
    j->fd = -1;
    journal_close(j);
}

/* Open and read a journal; locked says whether its owner is dead (and now it is ours). */
static int open_file(struct journal **out, const char *folder, const char *name, bool *locked)
{
    struct journal *j;
    char path[PATH_MAX];
    struct stat st;
    off_t good = 0;
    int err = journal_new(&j, folder);

    if (err < 0)
        return err;
    snprintf(j->name, sizeof j->name, "%s", name);
    err = journal_path(path, j->folder, name);
    if (err == 0) {
        j->fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
        err = j->fd < 0 ? -errno : 0;
    }
    if (err == 0) {
        *locked = flock(j->fd, LOCK_EX | LOCK_NB) == 0;
        err = fstat(j->fd, &st) < 0 ? -errno : st.st_nlink == 0 ? -ENOENT : read_all(j, &good);
    }
    if (err == 0 && *locked && good < st.st_size && ftruncate(j->fd, good) < 0)
        err = -errno;                   /* what is added must not stand behind a torn line */
    if (err < 0)
        let_go(j);
    else
        *out = j;
    return err;
}

int journal_load(struct journal **out, const char *folder, const char *name, pid_t *pid)
{
    struct journal *j = NULL;
    bool locked = false;
    int lock = journal_lock_folder(folder);
    int err = lock < 0 ? lock : open_file(&j, folder, name, &locked);

    *out = NULL;
    if (lock >= 0)
        close(lock);
    if (err < 0)
        return err;
    if (!locked) {
        *pid = j->owner.pid;
        let_go(j);
        return -EBUSY;
    }
    *out = j;
    return 0;
}

/* Does the journal called name hold one of the records' targets? */
static int holds(const struct journal *j, const char *name, const struct journal_record *records,
                 unsigned n, pid_t *pid, unsigned *index)
{
    struct journal *other = NULL;
    bool locked = false;
    int err = open_file(&other, j->folder, name, &locked);

    if (err < 0)                        /* gone or no journal: it holds nothing */
        return err == -ENOMEM ? err : 0;
    for (unsigned i = 0; err == 0 && journal_current(other) && i < n; i++)
        if (journal_find(other, records[i].target)) {
            *pid = locked ? -other->owner.pid : other->owner.pid;
            *index = i;
            err = -EBUSY;
        }
    let_go(other);
    return err;
}

static int held_elsewhere(const struct journal *j, const struct journal_record *records,
                          unsigned n, pid_t *pid, unsigned *index)
{
    char **names;
    int count = journal_names(&names, j->folder), err = count < 0 ? count : 0;

    for (int i = 0; err == 0 && i < count; i++)
        if (j->fd < 0 || strcmp(names[i], j->name) != 0)
            err = holds(j, names[i], records, n, pid, index);
    if (count >= 0)
        journal_free_names(names, count);
    return err;
}

/* Copies of the caller's strings, with ids. */
static int copy_records(struct journal *j, const struct journal_record *records, unsigned n)
{
    unsigned before = j->n;
    int err = 0;

    for (unsigned i = 0; err == 0 && i < n; i++) {
        struct journal_record r = { .id = records[i].id };

        r.kind = strdup(records[i].kind);
        r.target = strdup(records[i].target);
        r.old = strdup(records[i].old);
        r.now = strdup(records[i].old);
        err = r.kind && r.target && r.old && r.now ? keep(j, &r) : -ENOMEM;
        if (err < 0)
            free_record(&r);
    }
    while (err < 0 && j->n > before)
        free_record(&j->records[--j->n]);
    return err;
}

int journal_add(struct journal *j, struct journal_record *records, unsigned n, pid_t *pid,
                unsigned *index)
{
    struct text t = { 0 };
    unsigned before = j->n;
    int err = 0, lock = journal_lock_folder(j->folder);

    if (lock < 0)
        return lock;
    for (unsigned i = 0; i < n; i++) {
        records[i].id = j->n ? j->records[j->n - 1].id + 1 + i : i + 1;
        text_record(&t, &records[i]);
        if (journal_find(j, records[i].target))
            err = -EEXIST;
    }
    if (err == 0)
        err = held_elsewhere(j, records, n, pid, index);
    if (err == 0)
        err = copy_records(j, records, n);
    if (err == 0 && (err = write_text(j, &t)) < 0)
        while (j->n > before)
            free_record(&j->records[--j->n]);
    text_free(&t);
    close(lock);
    return err;
}

int journal_note(struct journal *j, const struct journal_note *notes, unsigned n)
{
    struct text t = { 0 };
    int err = 0;

    for (unsigned i = 0; i < n; i++) {
        text_note(&t, &notes[i]);
        if (!by_id(j, notes[i].id))
            err = -ENOENT;
    }
    if (err == 0)
        err = write_text(j, &t);
    for (unsigned i = 0; err == 0 && i < n; i++)
        err = apply(j, &notes[i]);
    text_free(&t);
    return err;
}

const struct journal_record *journal_records(const struct journal *j, unsigned *n)
{
    *n = j->n;
    return j->records;
}

const struct journal_record *journal_find(const struct journal *j, const char *target)
{
    for (unsigned i = 0; i < j->n; i++)
        if (!j->records[i].done && strcmp(j->records[i].target, target) == 0)
            return &j->records[i];
    return NULL;
}

const struct journal_owner *journal_owner(const struct journal *j)
{
    return &j->owner;
}

bool journal_current(const struct journal *j)
{
    struct journal_owner self;

    describe_self(&self);
    return strcmp(self.boot, j->owner.boot) == 0;
}

void journal_close(struct journal *j)
{
    char path[PATH_MAX];
    bool left = false;

    if (!j)
        return;
    for (unsigned i = 0; i < j->n; i++) {
        left = left || !j->records[i].done;
        free_record(&j->records[i]);
    }
    if (j->fd >= 0 && !left && journal_path(path, j->folder, j->name) == 0) {
        unlink(path);                   /* still locked: nobody takes it over in between */
        journal_sync_folder(j->folder);
    }
    if (j->fd >= 0)
        close(j->fd);
    free(j->records);
    free(j);
}
