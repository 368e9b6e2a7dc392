/* The journal's file: what another run reads after this one was killed at any point. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/journal.h"
#include "check.h"

static char folder[64];

static int add(struct journal *j, const char *target, const char *old)
{
    struct journal_record r = { 0, (char *)"attr", (char *)target, (char *)old, NULL, false };
    pid_t pid = 0;
    unsigned index = 0;
    int err = journal_add(j, &r, 1, &pid, &index);

    return err == -EBUSY ? (pid < 0 ? -1000 : -2000) : err;
}

static int note(struct journal *j, unsigned id, const char *now, bool done)
{
    struct journal_note n = { id, now, done };

    return journal_note(j, &n, 1);
}

static int files(void)
{
    char **names;
    int n = journal_names(&names, folder);

    journal_free_names(names, n);
    return n;
}

/* The only journal's name, for the caller to free. */
static char *only_name(void)
{
    char **names, *name = NULL;
    int n = journal_names(&names, folder);

    if (n == 1)
        name = strdup(names[0]);
    CHECK_INT(n, 1);
    journal_free_names(names, n);
    return name;
}

/* Take over the only journal. */
static struct journal *take(void)
{
    struct journal *j = NULL;
    char *name = only_name();
    pid_t pid;

    CHECK_INT(journal_load(&j, folder, name ? name : "", &pid), 0);
    free(name);
    return j;
}

/* A child that writes a journal and is killed. */
static pid_t killed_run(void (*write)(struct journal *j))
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        struct journal *j;

        if (journal_new(&j, folder) == 0)
            write(j);
        raise(SIGKILL);
    }
    waitpid(child, &status, 0);
    return child;
}

static void nothing_recorded_makes_no_file(void)
{
    struct journal *j;

    CHECK_INT(journal_new(&j, folder), 0);
    CHECK_INT(files(), 0);
    journal_close(j);
    CHECK_INT(files(), 0);
}

static void three_changes(struct journal *j)
{
    add(j, "/sys/a b%", "1");
    add(j, "/sys/b", "");
    add(j, "/sys/c", "none\nx");
    note(j, 1, NULL, false);
    note(j, 1, "2", false);
    note(j, 2, NULL, false);
}

static void a_killed_runs_records_are_read_as_they_were(void)
{
    pid_t child = killed_run(three_changes);
    struct journal *j = take();
    const struct journal_record *r;
    unsigned n;

    if (!j)
        return;
    r = journal_records(j, &n);
    CHECK_INT(n, 3);
    CHECK_INT(journal_owner(j)->pid, child);
    CHECK(journal_current(j));
    CHECK_STR(r[0].kind, "attr");
    CHECK_STR(r[0].target, "/sys/a b%");
    CHECK_STR(r[0].old, "1");
    CHECK_STR(r[0].now, "2");
    CHECK_STR(r[1].old, "");
    CHECK(r[1].now == NULL);
    CHECK_STR(r[2].old, "none\nx");
    CHECK_STR(r[2].now, "none\nx");
    for (unsigned id = 1; id <= 3; id++)
        CHECK_INT(note(j, id, NULL, true), 0);
    journal_close(j);
    CHECK_INT(files(), 0);
}

static void what_failed_stays_for_the_next(void)
{
    struct journal *j;

    killed_run(three_changes);
    j = take();
    CHECK_INT(note(j, 1, NULL, true), 0);
    journal_close(j);
    CHECK_INT(files(), 1);
    j = take();
    CHECK(journal_find(j, "/sys/a b%") == NULL);
    CHECK(journal_find(j, "/sys/b") != NULL);
    note(j, 2, NULL, true);
    note(j, 3, NULL, true);
    journal_close(j);
    CHECK_INT(files(), 0);
}

/* Cut at every byte: a prefix of whole records is read, and what is added then is read too. */
static void a_torn_file_gives_its_whole_records(void)
{
    char path[256], bytes[4096];
    struct journal *j;
    char *name;
    ssize_t len;
    unsigned last = 0, n;
    pid_t pid;
    int fd;

    killed_run(three_changes);
    name = only_name();
    snprintf(path, sizeof path, "%s/%s", folder, name);
    fd = open(path, O_RDWR);
    len = read(fd, bytes, sizeof bytes);
    CHECK(len > 100 && bytes[len - 1] == '\n');
    for (ssize_t cut = 0; cut <= len; cut++) {
        CHECK(ftruncate(fd, 0) == 0 && pwrite(fd, bytes, (size_t)cut, 0) == cut);
        if (journal_load(&j, folder, name, &pid) < 0) {
            CHECK(last == 0);           /* the first line is torn: no journal */
            continue;
        }
        journal_records(j, &n);
        CHECK(n == last || n == last + 1);
        last = n;
        CHECK_INT(add(j, "/sys/new", "x"), 0);
        journal_close(j);
        CHECK_INT(journal_load(&j, folder, name, &pid), 0);
        CHECK(journal_find(j, "/sys/new") != NULL);
        journal_close(j);
    }
    CHECK_INT(last, 3);
    close(fd);
    unlink(path);
    free(name);
}

static void one_target_has_one_holder(void)
{
    struct journal *a, *b, *other = NULL;
    pid_t pid = 0;
    char *name;

    journal_new(&a, folder);
    journal_new(&b, folder);
    CHECK_INT(add(a, "/sys/x", "1"), 0);
    CHECK_INT(add(a, "/sys/x", "1"), -EEXIST);
    CHECK_INT(add(b, "/sys/x", "1"), -2000);            /* held by a live run */
    name = only_name();
    CHECK_INT(journal_load(&other, folder, name, &pid), -EBUSY);
    CHECK_INT(pid, getpid());
    free(name);
    CHECK_INT(add(b, "/sys/y", "1"), 0);
    CHECK_INT(files(), 2);
    CHECK_INT(note(a, 1, NULL, true), 0);
    CHECK_INT(add(b, "/sys/x", "1"), 0);
    CHECK_INT(add(a, "/sys/x", "1"), -2000);
    journal_close(a);
    note(b, 1, NULL, true);
    note(b, 2, NULL, true);
    journal_close(b);
    CHECK_INT(files(), 0);
}

static void a_dead_holder_is_told_from_a_live_one(void)
{
    struct journal *j;

    killed_run(three_changes);
    journal_new(&j, folder);
    CHECK_INT(add(j, "/sys/c", "1"), -1000);
    journal_close(j);
    j = take();
    for (unsigned id = 1; id <= 3; id++)
        note(j, id, NULL, true);
    journal_close(j);
}

static void several_records_are_added_together_or_not_at_all(void)
{
    struct journal_record r[2] = {
        { 0, (char *)"attr", (char *)"/sys/p", (char *)"1", NULL, false },
        { 0, (char *)"attr", (char *)"/sys/q", (char *)"1", NULL, false },
    };
    struct journal *a, *b;
    unsigned n, index = 9;
    pid_t pid;

    journal_new(&a, folder);
    journal_new(&b, folder);
    CHECK_INT(add(a, "/sys/q", "1"), 0);
    CHECK_INT(journal_add(b, r, 2, &pid, &index), -EBUSY);
    CHECK_INT(index, 1);
    CHECK_INT(pid, getpid());
    journal_records(b, &n);
    CHECK_INT(n, 0);
    CHECK_INT(note(a, 1, NULL, true), 0);
    CHECK_INT(journal_add(b, r, 2, &pid, &index), 0);
    CHECK_INT(r[0].id, 1);
    CHECK_INT(r[1].id, 2);
    note(b, 1, NULL, true);
    note(b, 2, NULL, true);
    journal_close(a);
    journal_close(b);
}

static void a_folder_of_others_is_refused(void)
{
    char path[200], link[128], made[128];

    snprintf(link, sizeof link, "%s/link", folder);
    CHECK_INT(symlink("/tmp", link), 0);
    CHECK_INT(journal_folder(path, sizeof path, link, NULL), -ENOTDIR);
    unlink(link);
    CHECK_INT(journal_folder(path, sizeof path, "/tmp", NULL), -EPERM);
    snprintf(made, sizeof made, "%s/made", folder);
    CHECK_INT(journal_folder(path, sizeof path, made, NULL), 0);
    CHECK_STR(path, made);
    CHECK_INT(journal_folder(path, sizeof path, made, NULL), 0);
    CHECK_INT(chmod(made, 0722), 0);
    CHECK_INT(journal_folder(path, sizeof path, made, NULL), -EPERM);
    rmdir(made);
}

static void an_earlier_boot_is_recognised(void)
{
    char path[256];
    struct journal *j;
    char *name;
    FILE *f;

    /* Written by hand from the header's description, with its own FNV-1a. */
    const char *line = "iolua-journal 1 1 0 5 6 00000000-0000-0000-0000-000000000000";
    unsigned long long sum = 14695981039346656037ull;

    for (const char *p = line; *p; p++)
        sum = (sum ^ (unsigned char)*p) * 1099511628211ull;
    snprintf(path, sizeof path, "%s/1.0.journal", folder);
    f = fopen(path, "w");
    fprintf(f, "%s %016llx\n", line, sum);
    fclose(f);
    j = take();
    CHECK(!journal_current(j));
    CHECK_INT(journal_owner(j)->when, 6);
    journal_close(j);                   /* holds nothing: removed */
    name = files() ? only_name() : NULL;
    CHECK(!name);
    free(name);
}

int main(void)
{
    strcpy(folder, "/tmp/iolua-journal-XXXXXX");
    if (!mkdtemp(folder))
        return 1;
    CASE(nothing_recorded_makes_no_file);
    CASE(a_killed_runs_records_are_read_as_they_were);
    CASE(what_failed_stays_for_the_next);
    CASE(a_torn_file_gives_its_whole_records);
    CASE(one_target_has_one_holder);
    CASE(a_dead_holder_is_told_from_a_live_one);
    CASE(several_records_are_added_together_or_not_at_all);
    CASE(a_folder_of_others_is_refused);
    CASE(an_earlier_boot_is_recognised);
    rmdir(folder);
    return DONE();
}
