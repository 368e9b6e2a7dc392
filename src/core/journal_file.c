#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/journal.h"
#include "core/journal_file.h"

#define SUFFIX ".journal"

/* Ours, a real folder, closed to others' writing. */
static int check_folder(const char *path)
{
    struct stat st;

    if (lstat(path, &st) < 0)
        return -errno;
    if (!S_ISDIR(st.st_mode))
        return -ENOTDIR;
    return st.st_uid != geteuid() || st.st_mode & 022 ? -EPERM : 0;
}

static int name_folder(char *path, size_t len, const char *chosen, const char *xdg)
{
    int n;

    if (chosen)
        n = snprintf(path, len, "%s", chosen);
    else if (geteuid() == 0)
        n = snprintf(path, len, "/run/iolua");
    else if (xdg && xdg[0] == '/')
        n = snprintf(path, len, "%s/iolua", xdg);
    else
        n = snprintf(path, len, "/tmp/iolua-%u", (unsigned)geteuid());
    return n < 0 || (size_t)n >= len ? -ENAMETOOLONG : 0;
}

int journal_folder(char *path, size_t len, const char *chosen, const char *xdg)
{
    int err = name_folder(path, len, chosen, xdg);

    if (err < 0)
        return err;
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return -errno;
    return check_folder(path);
}

int journal_path(char *path, const char *folder, const char *name)
{
    return snprintf(path, PATH_MAX, "%s/%s", folder, name) >= PATH_MAX ? -ENAMETOOLONG : 0;
}

int journal_sync_folder(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), err = 0;

    if (fd < 0)
        return -errno;
    if (fsync(fd) < 0 && errno != EINVAL)
        err = -errno;
    close(fd);
    return err;
}

int journal_lock_folder(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    while (flock(fd, LOCK_EX) < 0)
        if (errno != EINTR) {
            int err = -errno;

            close(fd);
            return err;
        }
    return fd;
}

int journal_append(int fd, const char *text, size_t len)
{
    off_t end = lseek(fd, 0, SEEK_END);
    ssize_t n = end < 0 ? -1 : write(fd, text, len);
    int err = n < 0 ? -errno : (size_t)n < len ? -ENOSPC : 0;

    if (err == 0 && fdatasync(fd) < 0)
        err = -errno;
    if (err < 0 && end >= 0 && ftruncate(fd, end) < 0)
        return err;                     /* the torn line's checksum keeps it out */
    return err;
}

/* Remove what a run that was killed while it made its file has left. */
static void sweep(const char *folder)
{
    char path[PATH_MAX];
    DIR *d = opendir(folder);
    struct dirent *e;

    while (d && (e = readdir(d)))
        if (e->d_name[0] == '.' && strstr(e->d_name, ".new")
            && journal_path(path, folder, e->d_name) == 0)
            unlink(path);
    if (d)
        closedir(d);
}

/* Give the file at temp the first free name of this process. */
static int name_file(char *name, const char *folder, const char *temp)
{
    char path[PATH_MAX];

    for (unsigned i = 0;; i++) {
        int err;

        snprintf(name, NAME_MAX + 1, "%d.%u" SUFFIX, (int)getpid(), i);
        err = journal_path(path, folder, name);
        if (err < 0)
            return err;
        if (renameat2(AT_FDCWD, temp, AT_FDCWD, path, RENAME_NOREPLACE) == 0)
            return 0;
        if (errno != EEXIST)
            return -errno;
    }
}

int journal_make(char *name, const char *folder, const char *text, size_t len)
{
    char temp[PATH_MAX];
    int err, fd;

    sweep(folder);
    err = journal_path(temp, folder, ".journal.new");
    if (err < 0)
        return err;
    fd = open(temp, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    err = flock(fd, LOCK_EX | LOCK_NB) < 0 ? -errno : journal_append(fd, text, len);
    if (err == 0)
        err = name_file(name, folder, temp);
    if (err < 0)
        unlink(temp);
    else
        err = journal_sync_folder(folder);
    if (err < 0)
        close(fd);
    return err < 0 ? err : fd;
}

static int named(const struct dirent *e)
{
    size_t len = strlen(e->d_name);

    return e->d_name[0] != '.' && len > sizeof SUFFIX - 1
        && strcmp(e->d_name + len - (sizeof SUFFIX - 1), SUFFIX) == 0;
}

int journal_names(char ***names, const char *folder)
{
    struct dirent **entries;
    int n = scandir(folder, &entries, named, alphasort), kept = 0;
    char **list;

    if (n < 0)
        return -errno;
    list = calloc((size_t)n + 1, sizeof *list);
    for (int i = 0; i < n; i++) {
        if (list && (list[kept] = strdup(entries[i]->d_name)))
            kept++;
        free(entries[i]);
    }
    free(entries);
    if (!list || kept < n) {
        journal_free_names(list, kept);
        return -ENOMEM;
    }
    *names = list;
    return n;
}

void journal_free_names(char **names, int n)
{
    for (int i = 0; names && i < n; i++)
        free(names[i]);
    free(names);
}

bool journal_pending(const char *chosen, const char *xdg)
{
    char path[PATH_MAX];
    char **names;
    int n;

    if (name_folder(path, sizeof path, chosen, xdg) < 0 || check_folder(path) < 0)
        return false;
    n = journal_names(&names, path);
    if (n < 0)
        return false;
    journal_free_names(names, n);
    return n > 0;
}
