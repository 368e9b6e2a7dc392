#include <errno.h>
#include <hwloc.h>
#include <hwloc/distances.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/synthetic.h"
#include "core/topo.h"
#include "core/topoxml.h"

struct topo {
    hwloc_topology_t hw;
    struct hwloc_distances_s *latency;  /* between nodes, or NULL */
    struct cpuset cpus;
};

static const char *const type_names[HWLOC_OBJ_TYPE_MAX] = {
    [HWLOC_OBJ_MACHINE] = "machine", [HWLOC_OBJ_PACKAGE] = "package", [HWLOC_OBJ_DIE] = "die",
    [HWLOC_OBJ_CORE] = "core", [HWLOC_OBJ_PU] = "pu", [HWLOC_OBJ_GROUP] = "group",
    [HWLOC_OBJ_NUMANODE] = "numanode", [HWLOC_OBJ_MEMCACHE] = "memcache",
    [HWLOC_OBJ_L1CACHE] = "l1cache", [HWLOC_OBJ_L2CACHE] = "l2cache",
    [HWLOC_OBJ_L3CACHE] = "l3cache", [HWLOC_OBJ_L4CACHE] = "l4cache",
    [HWLOC_OBJ_L5CACHE] = "l5cache", [HWLOC_OBJ_L1ICACHE] = "l1icache",
    [HWLOC_OBJ_L2ICACHE] = "l2icache", [HWLOC_OBJ_L3ICACHE] = "l3icache",
    [HWLOC_OBJ_BRIDGE] = "bridge", [HWLOC_OBJ_PCI_DEVICE] = "pcidev",
    [HWLOC_OBJ_OS_DEVICE] = "osdev", [HWLOC_OBJ_MISC] = "misc",
};

const char *topo_type_name(int type)
{
    return type >= 0 && type < HWLOC_OBJ_TYPE_MAX ? type_names[type] : NULL;
}

int topo_type(const char *name)
{
    for (int type = 0; type < HWLOC_OBJ_TYPE_MAX; type++)
        if (strcmp(type_names[type], name) == 0)
            return type;
    return -EINVAL;
}

/* hwloc writes to stderr about machines it finds strange, and is asked not to by the
 * environment only. */
static void hide_errors(void)
{
    setenv("HWLOC_HIDE_ERRORS", "2", 0);
}

static void to_cpuset(struct cpuset *out, hwloc_const_bitmap_t bits)
{
    cpuset_zero(out);
    if (!bits)
        return;
    for (int i = hwloc_bitmap_first(bits); i >= 0 && i < (int)CPUSET_CPUS;
         i = hwloc_bitmap_next(bits, i))
        cpuset_add(out, (unsigned)i);
}

static int use_xml(struct topo *t, const char *path, char *message, size_t len)
{
    char *text;
    size_t size;
    int err = topoxml_read(&text, &size, path, message, len);

    if (err < 0)
        return err;
    if (hwloc_topology_set_xmlbuffer(t->hw, text, (int)size + 1) < 0) {
        err = -EINVAL;
        snprintf(message, len, "topology %s: hwloc cannot read it", path);
    }
    free(text);                         /* hwloc has its copy */
    return err;
}

static int use_synthetic(struct topo *t, const char *text, char *message, size_t len)
{
    if (synthetic_cpus(text) > CPUSET_CPUS)
        snprintf(message, len, "topology \"%.80s\": more than %u CPUs", text, CPUSET_CPUS);
    else if (*text && hwloc_topology_set_synthetic(t->hw, text) == 0)
        return 0;
    else
        snprintf(message, len, "topology \"%.80s\": not a synthetic description such as "
                 "\"pack:2 core:4 pu:2\"", text);
    return -EINVAL;
}

/* What was loaded may still name CPUs that a cpuset cannot hold. */
static int check_cpus(struct topo *t, char *message, size_t len)
{
    hwloc_const_bitmap_t bits = hwloc_topology_get_topology_cpuset(t->hw);

    to_cpuset(&t->cpus, bits);
    if (hwloc_bitmap_last(bits) < (int)CPUSET_CPUS && cpuset_next(&t->cpus, 0) >= 0)
        return 0;
    snprintf(message, len, "topology: its CPUs are not all below %u", CPUSET_CPUS);
    return -ERANGE;
}

static void find_latency(struct topo *t)
{
    unsigned n = 1;

    if (hwloc_distances_get_by_type(t->hw, HWLOC_OBJ_NUMANODE, &n, &t->latency,
                                    HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0) < 0 || n == 0)
        t->latency = NULL;
}

/* What hwloc's users may set for all its programs, taken here so that it is checked too. */
static const char *environment(const char *name)
{
    const char *text = getenv(name);

    return text && *text ? text : NULL;
}

/* Without DONT_CHANGE_BINDING hwloc would move this thread over all CPUs while it looks. */
static int load(struct topo *t, const char *synthetic, const char *xml, char *message,
                size_t len)
{
    int err = 0;

    if (!xml && !synthetic && !(xml = environment("HWLOC_XMLFILE")))
        synthetic = environment("HWLOC_SYNTHETIC");
    hwloc_topology_set_flags(t->hw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED |
                                    HWLOC_TOPOLOGY_FLAG_DONT_CHANGE_BINDING);
    hwloc_topology_set_io_types_filter(t->hw, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    if (xml)
        err = use_xml(t, xml, message, len);
    else if (synthetic)
        err = use_synthetic(t, synthetic, message, len);
    if (err < 0)
        return err;
    if (hwloc_topology_load(t->hw) < 0) {
        err = errno ? -errno : -EINVAL;
        snprintf(message, len, "topology%s%.200s: hwloc cannot load it: %s", xml || synthetic ?
                 " " : "", xml ? xml : synthetic ? synthetic : "", strerrordesc_np(-err));
        return err;
    }
    return check_cpus(t, message, len);
}

int topo_open(struct topo **out, const char *synthetic, const char *xml, char *message,
              size_t len)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct topo *t = calloc(1, sizeof *t);
    int err;

    pthread_once(&once, hide_errors);
    if (!t || hwloc_topology_init(&t->hw) < 0) {
        free(t);
        snprintf(message, len, "topology: %s", strerrordesc_np(ENOMEM));
        return -ENOMEM;
    }
    err = load(t, synthetic, xml, message, len);
    if (err < 0) {
        topo_close(t);
        return err;
    }
    find_latency(t);
    *out = t;
    return 0;
}

void topo_close(struct topo *t)
{
    if (!t)
        return;
    if (t->latency)
        hwloc_distances_release(t->hw, t->latency);
    hwloc_topology_destroy(t->hw);
    free(t);
}

bool topo_here(const struct topo *t)
{
    return hwloc_topology_is_thissystem(t->hw) > 0;
}

const struct cpuset *topo_cpus(const struct topo *t)
{
    return &t->cpus;
}

/* The index-th object of a type, whose objects may be on several depths (groups). */
static hwloc_obj_t object_at(const struct topo *t, int type, unsigned index)
{
    if (hwloc_get_type_depth(t->hw, (hwloc_obj_type_t)type) != HWLOC_TYPE_DEPTH_MULTIPLE)
        return hwloc_get_obj_by_type(t->hw, (hwloc_obj_type_t)type, index);
    for (int depth = 0; depth < hwloc_topology_get_depth(t->hw); depth++) {
        unsigned n = hwloc_get_nbobjs_by_depth(t->hw, depth);

        if ((int)hwloc_get_depth_type(t->hw, depth) != type)
            continue;
        if (index < n)
            return hwloc_get_obj_by_depth(t->hw, depth, index);
        index -= n;
    }
    return NULL;
}

unsigned topo_count(const struct topo *t, int type)
{
    int n = hwloc_get_nbobjs_by_type(t->hw, (hwloc_obj_type_t)type);
    unsigned count = 0;

    if (n >= 0)
        return (unsigned)n;
    while (object_at(t, type, count))
        count++;
    return count;
}

static uint64_t bytes_of(hwloc_obj_t obj)
{
    if (obj->type == HWLOC_OBJ_NUMANODE)
        return obj->attr->numanode.local_memory;
    return hwloc_obj_type_is_cache(obj->type) || obj->type == HWLOC_OBJ_MEMCACHE
               ? obj->attr->cache.size : 0;
}

static bool is_disk(hwloc_obj_t obj)
{
    return obj->type == HWLOC_OBJ_OS_DEVICE &&
           obj->attr->osdev.type == HWLOC_OBJ_OSDEV_BLOCK;
}

static void describe(struct topo_object *out, const struct topo *t, hwloc_obj_t obj)
{
    bool device = hwloc_obj_type_is_io(obj->type);
    hwloc_obj_t at = device ? hwloc_get_non_io_ancestor_obj(t->hw, obj) : obj;

    out->type = is_disk(obj) ? "disk" : type_names[obj->type];
    out->name = obj->name ? obj->name : obj->subtype;
    out->depth = 0;
    out->index = device || obj->logical_index > 0x7fffffff ? -1 : (int)obj->logical_index;
    out->number = obj->os_index == HWLOC_UNKNOWN_INDEX || device ? -1 : (int)obj->os_index;
    out->bytes = bytes_of(obj);
    to_cpuset(&out->cpus, at ? at->cpuset : NULL);
}

int topo_object(struct topo_object *out, const struct topo *t, int type, unsigned index)
{
    hwloc_obj_t obj = object_at(t, type, index);

    if (!obj)
        return -ERANGE;
    describe(out, t, obj);
    return 0;
}

/* Do both CPUs lie in the object? Then its number of CPUs, else 0. */
static unsigned holds(hwloc_obj_t obj, unsigned a, unsigned b)
{
    if (!obj || !hwloc_bitmap_isset(obj->cpuset, a) || !hwloc_bitmap_isset(obj->cpuset, b))
        return 0;
    return (unsigned)hwloc_bitmap_weight(obj->cpuset);
}

/* The smallest node both are in; its CPUs or 0. */
static unsigned shared_node(const struct topo *t, unsigned a, unsigned b)
{
    hwloc_obj_t node = NULL;
    unsigned least = 0;

    while ((node = hwloc_get_next_obj_by_type(t->hw, HWLOC_OBJ_NUMANODE, node))) {
        unsigned n = holds(node, a, b);

        if (n && (least == 0 || n < least))
            least = n;
    }
    return least;
}

/* The first node a CPU lies in, or NULL. */
static hwloc_obj_t node_of(const struct topo *t, unsigned cpu)
{
    hwloc_obj_t node = NULL;

    while ((node = hwloc_get_next_obj_by_type(t->hw, HWLOC_OBJ_NUMANODE, node)))
        if (hwloc_bitmap_isset(node->cpuset, cpu))
            return node;
    return NULL;
}

static uint64_t latency(const struct topo *t, unsigned a, unsigned b)
{
    hwloc_obj_t from = node_of(t, a), to = node_of(t, b);
    hwloc_uint64_t there, back;

    if (!t->latency || !from || !to ||
        hwloc_distances_obj_pair_values(t->latency, from, to, &there, &back) < 0)
        return 0;
    return there;
}

int topo_shared(struct topo_shared *out, const struct topo *t, unsigned a, unsigned b)
{
    hwloc_obj_t obj = hwloc_get_pu_obj_by_os_index(t->hw, a);

    if (!obj || !hwloc_get_pu_obj_by_os_index(t->hw, b))
        return -ENODEV;
    memset(out, 0, sizeof *out);
    for (obj = obj->parent; obj; obj = obj->parent) {
        unsigned n = holds(obj, a, b);

        if (n && !out->least)
            out->least = n;
        if (obj->type == HWLOC_OBJ_CORE)
            out->core = n;
        else if (hwloc_obj_type_is_cache(obj->type) && !out->cache)
            out->cache = n;
        else if (obj->type == HWLOC_OBJ_PACKAGE)
            out->package = n;
    }
    out->node = shared_node(t, a, b);
    out->latency = latency(t, a, b);
    return 0;
}

unsigned topo_kinds(const struct topo *t)
{
    int n = hwloc_cpukinds_get_nr(t->hw, 0);

    return n > 0 ? (unsigned)n : 0;
}

int topo_kind(struct topo_kind *out, const struct topo *t, unsigned index)
{
    hwloc_bitmap_t bits = hwloc_bitmap_alloc();
    struct hwloc_info_s *infos;
    unsigned count = 0;
    int err = 0;

    if (!bits)
        return -ENOMEM;
    if (hwloc_cpukinds_get_info(t->hw, index, bits, &out->efficiency, &count, &infos, 0) < 0)
        err = -ERANGE;
    to_cpuset(&out->cpus, bits);
    hwloc_bitmap_free(bits);
    out->name = NULL;
    for (unsigned i = 0; i < count; i++)
        if (strcmp(infos[i].name, "CoreType") == 0)
            out->name = infos[i].value;
    return err;
}

int topo_device(struct cpuset *out, const struct topo *t, const char *name)
{
    hwloc_obj_t obj = NULL;

    while ((obj = hwloc_get_next_osdev(t->hw, obj)))
        if (obj->name && strcmp(obj->name, name) == 0) {
            to_cpuset(out, hwloc_get_non_io_ancestor_obj(t->hw, obj)->cpuset);
            return 0;
        }
    return -ENOENT;
}

/* The first of obj's children in the order of a walk; each kind is a list of its own. */
static hwloc_obj_t first_child(hwloc_obj_t obj)
{
    return obj->memory_first_child ? obj->memory_first_child
         : obj->first_child ? obj->first_child : obj->io_first_child;
}

static hwloc_obj_t next_sibling(hwloc_obj_t obj)
{
    if (obj->next_sibling || !obj->parent || hwloc_obj_type_is_io(obj->type))
        return obj->next_sibling;
    if (hwloc_obj_type_is_memory(obj->type) && obj->parent->first_child)
        return obj->parent->first_child;
    return obj->parent->io_first_child;
}

bool topo_walk(struct topo_object *out, const struct topo *t, void **cursor)
{
    hwloc_obj_t obj = *cursor, next = obj ? first_child(obj) : hwloc_get_root_obj(t->hw);

    for (; !next && obj; obj = obj->parent)
        next = next_sibling(obj);
    if (!next)
        return false;
    *cursor = next;
    describe(out, t, next);
    for (obj = next->parent; obj; obj = obj->parent)
        out->depth++;
    return true;
}
