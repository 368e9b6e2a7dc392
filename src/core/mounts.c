#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "core/mounts.h"

static bool octal(const char *s)
{
    return s[0] >= '0' && s[0] <= '3' && s[1] >= '0' && s[1] <= '7' && s[2] >= '0' && s[2] <= '7';
}

char *mounts_unescape(char *text)
{
    char *to = text;

    for (const char *from = text; *from;) {
        if (*from == '\\' && octal(from + 1)) {
            *to++ = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + from[3] - '0');
            from += 4;
        } else {
            *to++ = *from++;
        }
    }
    *to = '\0';
    return text;
}

/* "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw": see proc(5). */
static bool parse(struct mount *row, char *line)
{
    char *field[6], *save = NULL, *word;
    unsigned maj, min;
    unsigned n = 0;

    line[strcspn(line, "\n")] = '\0';
    for (word = strtok_r(line, " ", &save); word && n < 6; word = strtok_r(NULL, " ", &save))
        field[n++] = word;
    while (word && strcmp(word, "-") != 0)
        word = strtok_r(NULL, " ", &save);
    if (n < 6 || !word || sscanf(field[2], "%u:%u", &maj, &min) != 2)
        return false;
    row->type = strtok_r(NULL, " ", &save);
    word = strtok_r(NULL, " ", &save);
    if (!row->type)
        return false;
    row->source = word ? mounts_unescape(word) : "";
    row->id = atoi(field[0]);
    row->dev = makedev(maj, min);
    row->point = mounts_unescape(field[4]);
    return true;
}

/* Remember namespace ns; false when it is known already. Out of memory reads it twice. */
static bool first_time(struct mounts *m, unsigned long ns)
{
    for (unsigned i = 0; i < m->seen_n; i++)
        if (m->seen[i] == ns)
            return false;
    if (m->seen_n == m->seen_cap) {
        unsigned cap = m->seen_cap ? 2 * m->seen_cap : 16;
        unsigned long *grown = realloc(m->seen, cap * sizeof *grown);

        if (!grown)
            return true;
        m->seen = grown;
        m->seen_cap = cap;
    }
    m->seen[m->seen_n++] = ns;
    return true;
}

/* Go to the namespace of the process called name ("self" or a number). */
static int enter(struct mounts *m, const char *name)
{
    char path[PATH_MAX];
    struct stat st;

    snprintf(path, sizeof path, "%s/proc/%.32s/ns/mnt", m->root, name);
    if (stat(path, &st) == 0 && !first_time(m, st.st_ino))
        return -EALREADY;
    snprintf(path, sizeof path, "%s/proc/%.32s/mountinfo", m->root, name);
    m->file = fopen(path, "re");
    m->pid = atoi(name);
    return m->file ? 0 : -errno;
}

int mounts_open(struct mounts *m, const char *root, bool own)
{
    int err;

    memset(m, 0, sizeof *m);
    m->root = root;
    m->own = own;
    err = enter(m, "self");
    if (err < 0)
        mounts_close(m);
    return err;
}

/* The next process whose namespace was not read yet. */
static bool next_namespace(struct mounts *m)
{
    char path[PATH_MAX];
    struct dirent *e;

    if (m->own)
        return false;
    if (!m->proc) {
        snprintf(path, sizeof path, "%s/proc", m->root);
        m->proc = opendir(path);
    }
    while (m->proc && (e = readdir(m->proc)))
        if (isdigit((unsigned char)e->d_name[0]) && enter(m, e->d_name) == 0)
            return true;
    return false;
}

bool mounts_next(struct mounts *m, struct mount *row)
{
    for (;;) {
        while (m->file && getline(&m->line, &m->line_cap, m->file) > 0)
            if (parse(row, m->line)) {
                row->pid = m->pid;
                return true;
            }
        if (m->file)
            fclose(m->file);
        m->file = NULL;
        if (!next_namespace(m))
            return false;
    }
}

void mounts_close(struct mounts *m)
{
    if (m->file)
        fclose(m->file);
    if (m->proc)
        closedir(m->proc);
    free(m->seen);
    free(m->line);
    memset(m, 0, sizeof *m);
}
