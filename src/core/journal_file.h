/*
 * journal_file - the files of journals: made whole and locked, appended to whole or not at all.
 */
#ifndef IOLUA_CORE_JOURNAL_FILE_H
#define IOLUA_CORE_JOURNAL_FILE_H

#include <stddef.h>

/* folder/name; path has PATH_MAX bytes. 0 or -ENAMETOOLONG. */
int journal_path(char *path, const char *folder, const char *name);

/* One process at a time: to compare with others' journals and add to one's own, or to take
 * over a dead one's. Returns a descriptor to close, or -errno. */
int journal_lock_folder(const char *folder);

int journal_sync_folder(const char *folder);

/* Make a file with that text, locked (flock) before it has its name, which is written to name
 * (NAME_MAX + 1 bytes). The folder must be locked. Returns its descriptor or -errno. */
int journal_make(char *name, const char *folder, const char *text, size_t len);

/* Write len bytes at the end and sync; on failure the file is as it was. */
int journal_append(int fd, const char *text, size_t len);

#endif
