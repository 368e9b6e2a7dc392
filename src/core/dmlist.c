#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/dmlist.h"

void dm_free_lines(struct dm_line *lines, int n)
{
    for (int i = 0; i < n; i++) {
        free(lines[i].type);
        free(lines[i].params);
    }
    free(lines);
}

int dm_add_line(struct dm_line **list, int n, const struct dm_line *line)
{
    struct dm_line *grown = realloc(*list, ((size_t)n + 1) * sizeof *grown);
    struct dm_line copy = *line;

    copy.type = strdup(line->type);
    copy.params = strdup(line->params ? line->params : "");
    if (grown)
        *list = grown;
    if (!grown || !copy.type || !copy.params) {
        free(copy.type);
        free(copy.params);
        dm_free_lines(*list, n);
        *list = NULL;
        return -ENOMEM;
    }
    grown[n] = copy;
    return n + 1;
}

void dm_free_entries(struct dm_entry *list, int n)
{
    for (int i = 0; i < n; i++)
        free(list[i].name);
    free(list);
}

int dm_add_entry(struct dm_entry **list, int n, struct dm_entry e)
{
    struct dm_entry *grown = realloc(*list, ((size_t)n + 1) * sizeof *grown);

    if (grown)
        *list = grown;
    e.name = strdup(e.name);
    if (!grown || !e.name) {
        free(e.name);
        dm_free_entries(*list, n);
        *list = NULL;
        return -ENOMEM;
    }
    grown[n] = e;
    return n + 1;
}
