#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/cpuset.h"
#include "core/topoxml.h"
#include "core/xml.h"

#define FILE_MAX ((off_t)256 << 20)

/* The sets of an element that is open. */
struct level {
    bool sets;                  /* an object with CPUs and nodes */
    struct cpuset cpus, nodes;  /* its complete sets: children lie inside */
};

struct reader {
    struct xml xml;
    unsigned outermost;         /* objects directly in the topology */
    struct level level[XML_DEPTH];
};

/* A decimal number of at most nine digits, or -1. */
static long small_number(struct xml_piece p)
{
    long v = 0;

    if (p.n == 0 || p.n > 9)
        return -1;
    for (size_t i = 0; i < p.n; i++) {
        if (p.at[i] < '0' || p.at[i] > '9')
            return -1;
        v = v * 10 + (p.at[i] - '0');
    }
    return v;
}

/* The set in hwloc's form: groups of 32, the highest first, each "0x" and digits or, for
 * nothing, empty. Infinite sets ("0xf...f") are refused. */
static bool read_set(struct cpuset *out, struct xml_piece p)
{
    char mask[CPUSET_CPUS / 32 * 9 + 1], message[8];
    size_t used = 0;

    for (size_t i = 0; i < p.n && used + 2 < sizeof mask; i++) {
        bool first = i == 0 || p.at[i - 1] == ',';

        if (first && (p.at[i] == ',' || i + 2 >= p.n || p.at[i] != '0' || p.at[i + 1] != 'x')) {
            if (p.at[i] != ',')
                return false;
            mask[used++] = '0';         /* an empty group */
        } else if (first) {
            i++;                        /* over "0x" */
            continue;
        }
        mask[used++] = p.at[i];
    }
    return used + 2 < sizeof mask &&
           cpuset_parse_mask(out, mask, used, message, sizeof message) == 0;
}

static int take_set(struct xml *x, const char *name, struct cpuset *out)
{
    struct xml_piece a = xml_attribute(x, name);

    if (!a.at)
        return xml_wrong(x, "an object without %s", name);
    if (!read_set(out, a))
        return xml_wrong(x, "%s=\"%.*s\" is not a set of CPUs or nodes below %u", name,
                     xml_shown(a), a.at, CPUSET_CPUS);
    return 0;
}

/* The four sets of an object, and that they lie in its parent's. */
static int check_sets(struct xml *x, struct level *level, const struct level *parent)
{
    struct cpuset cpus, nodes;
    int err = take_set(x, "cpuset", &cpus);

    if (err == 0)
        err = take_set(x, "complete_cpuset", &level->cpus);
    if (err == 0)
        err = take_set(x, "nodeset", &nodes);
    if (err == 0)
        err = take_set(x, "complete_nodeset", &level->nodes);
    if (err < 0)
        return err;
    level->sets = true;
    if (!cpuset_subset(&cpus, &level->cpus) || !cpuset_subset(&nodes, &level->nodes))
        return xml_wrong(x, "a set that is larger than the complete one");
    if (parent && !parent->sets)
        return xml_wrong(x, "an object with CPUs inside a device");
    if (parent && (!cpuset_subset(&level->cpus, &parent->cpus) ||
                   !cpuset_subset(&level->nodes, &parent->nodes)))
        return xml_wrong(x, "an object that is larger than its parent");
    return 0;
}

/* A PU is one CPU and a NUMA node one node: that of its OS number. */
static int check_number(struct xml *x, const struct cpuset *set, const char *what)
{
    struct xml_piece a = xml_attribute(x, "os_index");
    long number = a.at ? small_number(a) : -1;

    if (number < 0 || number >= (long)CPUSET_CPUS)
        return xml_wrong(x, "a %s without an OS number below %u", what, CPUSET_CPUS);
    if (cpuset_count(set) != 1 || !cpuset_has(set, (unsigned)number))
        return xml_wrong(x, "a %s whose set is not its number %ld", what, number);
    return 0;
}

static int check_object(struct xml *x, struct level *level, const struct level *parent)
{
    static const char *const devices[] = { "Bridge", "PCIDev", "OSDev", "Misc", NULL };
    static const char *const types[] = {
        "Machine", "Package", "Die", "Core", "PU", "Group", "NUMANode", "MemCache", "L1Cache",
        "L2Cache", "L3Cache", "L4Cache", "L5Cache", "L1iCache", "L2iCache", "L3iCache", NULL
    };
    struct xml_piece type = xml_attribute(x, "type");
    int err;

    if (!type.at)
        return xml_wrong(x, "an object without a type");
    if ((parent == NULL) != xml_is(type, "Machine"))
        return xml_wrong(x, "the outermost object, and no other, is a Machine");
    if (xml_in(type, devices))
        return 0;
    if (!xml_in(type, types))
        return xml_wrong(x, "unknown type of object \"%.*s\"", xml_shown(type), type.at);
    err = check_sets(x, level, parent);
    if (err == 0 && xml_is(type, "PU"))
        err = check_number(x, &level->cpus, "PU");
    if (err == 0 && xml_is(type, "NUMANode"))
        err = check_number(x, &level->nodes, "NUMANode");
    return err;
}

static int check_version(struct xml *x)
{
    struct xml_piece a = xml_attribute(x, "version");

    if (!a.at)
        return xml_wrong(x, "a file of hwloc 1; write it again with hwloc 2");
    if (a.n < 3 || memcmp(a.at, "2.", 2) != 0)
        return xml_wrong(x, "format version \"%.*s\"; only 2 can be read (lstopo of hwloc 2, "
                     "or of hwloc 3 with --export-xml-flags v2)", xml_shown(a), a.at);
    return 0;
}

/* What hwloc 2 writes besides objects; their values are its own business. */
static const char *const others[] = {
    "info", "page_type", "userdata", "distances2", "distances2hetero", "indexes", "u64values",
    "cpukind", "memattr", "memattr_value", "support", NULL
};

/* The element whose tag was just read. */
static int check_element(struct reader *r)
{
    struct xml *x = &r->xml;
    unsigned depth = x->depth;
    struct level *level = &r->level[depth];
    struct xml_piece name = x->names[depth];

    level->sets = false;
    if (depth == 0)
        return xml_is(name, "topology") ? check_version(x)
                                        : xml_wrong(x, "this is not a topology of hwloc 2");
    if (!xml_is(name, "object")) {
        if (xml_in(name, others))
            return 0;
        return xml_wrong(x, "unknown element <%.*s>", xml_shown(name), name.at);
    }
    if (depth == 1 && r->outermost++)
        return xml_wrong(x, "a second outermost object");
    if (depth > 1 && !xml_is(x->names[depth - 1], "object"))
        return xml_wrong(x, "an object inside another kind of element");
    return check_object(x, level, depth == 1 ? NULL : level - 1);
}

int topoxml_check(const char *text, size_t n, char *message, size_t len)
{
    struct reader *r = calloc(1, sizeof *r);
    int event;

    if (!r)
        return -ENOMEM;
    xml_open(&r->xml, text, n, message, len);
    while ((event = xml_next(&r->xml)) > 0 && event != XML_END)
        if (event == XML_OPEN && (event = check_element(r)) < 0)
            break;
    if (event == XML_END && r->outermost == 0)
        event = xml_wrong(&r->xml, "a topology without objects");
    free(r);
    return event < 0 ? event : 0;
}

/* Room for the text of an open regular file. Its size or -errno. */
static off_t make_room(char **out, int fd)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode))
        return -EINVAL;
    if (st.st_size > FILE_MAX)
        return -EFBIG;
    *out = calloc(1, (size_t)st.st_size + 1);
    return *out ? st.st_size : -ENOMEM;
}

/* The text of a file with a NUL after it. Its length or -errno. */
static ssize_t read_file(char **out, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char *text = NULL;
    off_t size, used = 0;
    ssize_t n = 1;

    if (fd < 0)
        return -errno;
    size = make_room(&text, fd);
    while (used < size && (n = read(fd, text + used, (size_t)(size - used))) > 0)
        used += n;
    if (n < 0)
        size = -errno;
    close(fd);
    if (size < 0) {
        free(text);
        return size;
    }
    *out = text;
    return used;
}

int topoxml_read(char **out, size_t *size, const char *path, char *message, size_t len)
{
    char *text = NULL, reason[256];
    ssize_t n = read_file(&text, path);
    int err;

    if (n < 0) {
        snprintf(message, len, "topology %s: %s", path, strerrordesc_np((int)-n));
        return (int)n;
    }
    err = topoxml_check(text, (size_t)n, reason, sizeof reason);
    if (err < 0) {
        snprintf(message, len, "topology %s: %s", path, reason);
        free(text);
        return err;
    }
    *out = text;
    *size = (size_t)n;
    return 0;
}
