#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "core/attr.h"
#include "core/dmname.h"

static bool plain(char c)
{
    return isalnum((unsigned char)c) || (c && strchr("#+-.:=@_", c));
}

int dm_check_name(const char *name, char *message, size_t len)
{
    size_t mangled = 0;

    if (!name[0] || strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strchr(name, '/')) {
        snprintf(message, len, "\"%s\" is no name for a volume: not empty, \".\", \"..\" or with "
                 "a slash", name);
        return -EINVAL;
    }
    for (const char *c = name; *c; c++)
        mangled += plain(*c) ? 1 : 4;
    if (mangled <= DM_NAME_MAX)
        return 0;
    snprintf(message, len, "\"%.20s...\" is too long for a volume: %zu characters as the kernel "
             "writes it, %d at most", name, mangled, DM_NAME_MAX);
    return -ENAMETOOLONG;
}

void dm_path(char *path, size_t len, const char *name)
{
    size_t at = (size_t)snprintf(path, len, "/dev/mapper/");

    for (; *name && at + 5 < len; name++)
        at += (size_t)snprintf(path + at, len - at, plain(*name) ? "%c" : "\\x%02x",
                               (unsigned char)*name);
}

/* Bits 8..19 the major, 0..7 and 20..31 the minor. */
dev_t dmname_dev(uint64_t packed)
{
    return makedev((unsigned)(packed >> 8 & 0xfff),
                   (unsigned)((packed & 0xff) | (packed >> 12 & 0xfff00)));
}

bool dmname_in_kernel(void)
{
    char line[80];
    bool found = false;
    FILE *f = fopen("/proc/misc", "re");

    while (f && !found && fgets(line, sizeof line, f))
        found = strstr(line, " device-mapper\n") != NULL;
    if (f)
        fclose(f);
    return found;
}

/* Field 22 of /proc/self/stat; the second, the program's name, may hold anything but ends with
 * the last bracket. */
static unsigned long long start_time(void)
{
    char text[ATTR_MAX], *at;
    unsigned long long start = 0;

    if (attr_read(text, sizeof text, "/proc/self/stat") < 0 || !(at = strrchr(text, ')')))
        return 0;
    for (unsigned field = 2; field < 22 && at; field++)
        at = strchr(at + 1, ' ');
    if (at)
        start = strtoull(at, NULL, 10);
    return start;
}

const char *dm_prefix(void)
{
    static _Thread_local char prefix[64];       /* the same text at every call */

    snprintf(prefix, sizeof prefix, "iolua-%d-%llu-", (int)getpid(), start_time());
    return prefix;
}
