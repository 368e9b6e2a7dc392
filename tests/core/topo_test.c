/* core/topo, relation, topoxml: machines that hwloc describes, writes and reads back. */
#include <errno.h>
#include <hwloc.h>
#include <hwloc/distances.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "core/relation.h"
#include "core/topo.h"
#include "core/topoxml.h"

/* hwloc 2.9 leaks an object where it gives up reading a file. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:hwloc_alloc_setup_object";
}

static char message[512];
static char file[] = "/tmp/iolua-topo-XXXXXX";

static struct topo *synthetic(const char *text)
{
    struct topo *t = NULL;

    message[0] = 0;
    if (topo_open(&t, text, NULL, message, sizeof message) < 0)
        printf("%s\n", message);
    return t;
}

/* The same machine written to a file by hwloc and read by us; `keep` drops the other CPUs (a
 * list; NULL keeps all), with their nodes unless `nodes`. */
static struct topo *exported(const char *text, const char *keep, unsigned long flags)
{
    hwloc_topology_t hw;
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    struct topo *t = NULL;

    hwloc_topology_init(&hw);
    hwloc_topology_set_synthetic(hw, text);
    hwloc_topology_load(hw);
    if (keep) {
        hwloc_bitmap_sscanf(set, keep);
        if (hwloc_topology_restrict(hw, set, flags) < 0)
            printf("restrict failed\n");
    }
    hwloc_topology_export_xml(hw, file, 0);
    hwloc_topology_destroy(hw);
    hwloc_bitmap_free(set);
    if (topo_open(&t, NULL, file, message, sizeof message) < 0)
        printf("%s\n", message);
    return t;
}

static const char *listed(const struct cpuset *set)
{
    static char text[256];

    cpuset_format(text, sizeof text, set);
    return text;
}

static const char *of(const struct topo *t, unsigned a, unsigned b)
{
    return relation_name(relation_of(t, a, b));
}

static void two_packages_of_four_cores_with_two_threads(void)
{
    struct topo *t = synthetic("pack:2 core:4 pu:2");
    struct topo_object obj;

    CHECK_INT(topo_count(t, topo_type("package")), 2);
    CHECK_INT(topo_count(t, topo_type("core")), 8);
    CHECK_INT(topo_count(t, topo_type("pu")), 16);
    CHECK_INT(topo_count(t, topo_type("numanode")), 1);
    CHECK_INT(topo_count(t, topo_type("l3cache")), 0);
    CHECK_STR(listed(topo_cpus(t)), "0-15");
    CHECK_INT(topo_object(&obj, t, topo_type("core"), 5), 0);
    CHECK_STR(listed(&obj.cpus), "10-11");
    CHECK_INT(topo_object(&obj, t, topo_type("core"), 8), -ERANGE);
    CHECK_STR(of(t, 3, 3), "same");
    CHECK_STR(of(t, 0, 1), "smt");
    CHECK_STR(of(t, 0, 2), "package");
    CHECK_STR(of(t, 0, 8), "machine");
    CHECK_INT(relation_of(t, 0, 16), -ENODEV);
    CHECK_INT(relation_nearest(t, 2, topo_cpus(t)), 3);
    CHECK_INT(relation_farthest(t, 2, topo_cpus(t)), 8);
    CHECK_INT(relation_farthest(t, 9, topo_cpus(t)), 0);
    CHECK(!topo_here(t));
    topo_close(t);
}

static void caches_and_nodes_are_told_apart(void)
{
    struct topo *t = synthetic("pack:2 node:2 l3:2 core:2 pu:2");

    CHECK_STR(of(t, 0, 1), "smt");
    CHECK_STR(of(t, 0, 2), "cache");
    CHECK_STR(of(t, 0, 4), "node");
    CHECK_STR(of(t, 0, 8), "package");
    CHECK_STR(of(t, 0, 16), "machine");
    topo_close(t);
    t = synthetic("pack:1 core:2 pu:1");        /* node, package and machine are one */
    CHECK_STR(of(t, 0, 1), "node");
    topo_close(t);
    t = synthetic("node:2 pack:2 core:2 pu:1"); /* a node of two packages */
    CHECK_STR(of(t, 0, 1), "package");
    CHECK_STR(of(t, 0, 2), "node");
    CHECK_STR(of(t, 0, 4), "machine");
    topo_close(t);
}

static void os_numbers_are_not_logical_numbers(void)
{
    struct topo *t = synthetic("pack:2 core:2 pu:2(indexes=0,4,2,6,1,5,3,7)");
    struct topo_object obj;

    CHECK_INT(topo_object(&obj, t, topo_type("core"), 1), 0);
    CHECK_STR(listed(&obj.cpus), "2,6");
    CHECK_INT(topo_object(&obj, t, topo_type("pu"), 1), 0);
    CHECK_INT(obj.index, 1);
    CHECK_INT(obj.number, 4);
    CHECK_STR(of(t, 0, 4), "smt");
    CHECK_STR(of(t, 0, 1), "machine");
    CHECK_INT(relation_nearest(t, 3, topo_cpus(t)), 7);
    topo_close(t);
}

static void nearest_and_farthest_stay_among_the_given_cpus(void)
{
    struct topo *t = synthetic("pack:2 core:4 pu:2");
    struct cpuset few, none, alone;

    cpuset_parse(&few, "0,4-6,300", 9, message, sizeof message);
    CHECK_INT(relation_farthest(t, 0, &few), 4);
    CHECK_INT(relation_nearest(t, 4, &few), 5);
    CHECK_INT(relation_nearest(t, 15, &few), 0);
    cpuset_zero(&none);
    CHECK_INT(relation_farthest(t, 0, &none), -ENOENT);
    cpuset_parse(&alone, "0", 1, message, sizeof message);
    CHECK_INT(relation_farthest(t, 0, &alone), -ENOENT);
    CHECK_INT(relation_farthest(t, 99, &few), -ENODEV);
    topo_close(t);
}

static void an_xml_machine_is_the_machine_that_was_written(void)
{
    struct topo *t = exported("pack:2 [numa(memory=2GB)] l3:1 core:4 pu:2", NULL, 0);
    struct topo_object obj;

    CHECK(t != NULL && !topo_here(t));
    CHECK_INT(topo_count(t, topo_type("core")), 8);
    CHECK_INT(topo_count(t, topo_type("numanode")), 2);
    CHECK_INT(topo_object(&obj, t, topo_type("numanode"), 1), 0);
    CHECK_STR(listed(&obj.cpus), "8-15");
    CHECK_INT(obj.bytes, 2000000000);
    CHECK_STR(of(t, 0, 2), "cache");
    topo_close(t);
}

static void cpu_0_and_node_0_need_not_exist(void)
{
    struct topo *t = exported("node:2 core:2 pu:1", "0x0000000c", HWLOC_RESTRICT_FLAG_REMOVE_CPULESS);
    struct topo_object obj;

    CHECK_STR(listed(topo_cpus(t)), "2-3");
    CHECK_INT(topo_count(t, topo_type("numanode")), 1);
    CHECK_INT(topo_object(&obj, t, topo_type("numanode"), 0), 0);
    CHECK_INT(obj.number, 1);
    CHECK_INT(relation_nearest(t, 2, topo_cpus(t)), 3);
    CHECK_INT(relation_of(t, 0, 2), -ENODEV);
    topo_close(t);
}

static void a_node_may_have_no_cpu(void)
{
    struct topo *t = exported("node:2 core:2 pu:1", "0x0000000c", 0);
    struct topo_object obj;

    CHECK_INT(topo_count(t, topo_type("numanode")), 2);
    CHECK_INT(topo_object(&obj, t, topo_type("numanode"), 1), 0);       /* after the others */
    CHECK_INT(obj.number, 0);
    CHECK_STR(listed(&obj.cpus), "");
    CHECK_STR(of(t, 2, 3), "node");
    topo_close(t);
}

static void a_node_may_have_no_memory(void)
{
    struct topo *t = exported("pack:2 [numa] core:2 pu:1", NULL, 0);
    struct topo_object obj;

    CHECK_INT(topo_object(&obj, t, topo_type("numanode"), 1), 0);
    CHECK_INT(obj.bytes, 0);
    CHECK_STR(listed(&obj.cpus), "2-3");
    CHECK_STR(of(t, 0, 2), "machine");
    topo_close(t);
}

/* Four nodes in a ring: 0 is next to 1 and 3, two steps from 2. */
static void export_ring(void)
{
    hwloc_topology_t hw;
    hwloc_obj_t node[4];
    hwloc_uint64_t value[16];
    hwloc_distances_add_handle_t h;

    hwloc_topology_init(&hw);
    hwloc_topology_set_synthetic(hw, "node:4 core:2 pu:2");
    hwloc_topology_load(hw);
    for (unsigned i = 0; i < 4; i++) {
        node[i] = hwloc_get_obj_by_type(hw, HWLOC_OBJ_NUMANODE, i);
        for (unsigned j = 0; j < 4; j++)
            value[i * 4 + j] = i == j ? 10 : (i + j) % 2 ? 16 : 22;
    }
    h = hwloc_distances_add_create(hw, "NUMALatency", HWLOC_DISTANCES_KIND_FROM_USER |
                                   HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0);
    hwloc_distances_add_values(hw, h, 4, node, value, 0);
    hwloc_distances_add_commit(hw, h, 0);
    hwloc_topology_export_xml(hw, file, 0);
    hwloc_topology_destroy(hw);
}

static void among_equal_relations_the_firmwares_latency_decides(void)
{
    struct topo *t = NULL;
    struct cpuset others;

    export_ring();
    CHECK_INT(topo_open(&t, NULL, file, message, sizeof message), 0);
    CHECK_INT(relation_farthest(t, 0, topo_cpus(t)), 8);        /* node 2, not 1 */
    CHECK_INT(relation_farthest(t, 5, topo_cpus(t)), 12);       /* node 3 from node 1 */
    cpuset_parse(&others, "8-15", 4, message, sizeof message);
    CHECK_INT(relation_nearest(t, 0, &others), 12);             /* node 3, not 2 */
    topo_close(t);
}

static void four_thousand_cpus_work(void)
{
    struct topo *t = synthetic("node:16 core:128 pu:2");
    struct topo_object obj;
    void *cursor = NULL;
    unsigned n = 0;

    CHECK_INT(topo_count(t, topo_type("pu")), 4096);
    CHECK_INT(cpuset_count(topo_cpus(t)), 4096);
    CHECK_INT(relation_farthest(t, 0, topo_cpus(t)), 256);
    CHECK_INT(relation_farthest(t, 4095, topo_cpus(t)), 0);
    while (topo_walk(&obj, t, &cursor))
        n++;
    CHECK_INT(n, 1 + 16 + 16 * 128 + 4096 + 16);        /* a group over each node's cores */
    topo_close(t);
}

static void a_walk_goes_down_before_it_goes_on(void)
{
    static const char *const want[] = {
        "0 machine 0-3", "1 package 0-1", "2 numanode 0-1", "2 core 0-1", "3 pu 0", "3 pu 1",
        "1 package 2-3", "2 numanode 2-3", "2 core 2-3", "3 pu 2", "3 pu 3",
    };
    struct topo *t = synthetic("pack:2 [numa] core:1 pu:2");
    struct topo_object obj;
    void *cursor = NULL;
    char line[300];
    unsigned n = 0;

    for (; topo_walk(&obj, t, &cursor); n++) {
        snprintf(line, sizeof line, "%u %s %s", obj.depth, obj.type, listed(&obj.cpus));
        CHECK_STR(line, n < 11 ? want[n] : "");
    }
    CHECK_INT(n, 11);
    topo_close(t);
}

static void wrong_descriptions_are_errors(void)
{
    static const char *const rows[] = {
        "", "pack:2 core:4", "foo:3", "0", "-1", "pu:0", "pu:99999999999", "pack:2 core:0 pu:2",
        "core:4294967297 pu:1", "group:2(", "pu:2(memory=", "node:1000 core:1000 pu:2", "pu:9000",
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct topo *t = NULL;

        CHECK_INT(topo_open(&t, rows[i], NULL, message, sizeof message), -EINVAL);
        CHECK(t == NULL && strncmp(message, "topology \"", 10) == 0);
    }
}

static void write_text(const char *text, size_t n)
{
    FILE *out = fopen(file, "w");

    CHECK(out && fwrite(text, 1, n, out) == n && fclose(out) == 0);
}

static void wrong_files_are_errors_that_say_why(void)
{
    static const struct { const char *text, *want; } rows[] = {
        { "", "line 1: this is not XML" },
        { "hello", "line 1: this is not XML" },
        { "<html><body/></html>", "line 1: this is not a topology of hwloc 2" },
        { "<?xml version=\"1.0\"?>\n<topology version=\"3.0\"></topology>",
          "line 2: format version \"3.0\"; only 2 can be read (lstopo of hwloc 2, or of hwloc 3 "
          "with --export-xml-flags v2)" },
        { "<topology><object type=\"Machine\"/></topology>",
          "line 1: a file of hwloc 1; write it again with hwloc 2" },
        { "<topology version=\"2.0\"></topology>", "line 1: a topology without objects" },
        { "<topology version=\"2.0\">\n<object type=\"Machine\"/></topology>",
          "line 2: an object without cpuset" },
        { "<topology version=\"2.0\"><object", "line 1: a blank between attributes expected" },
        { "<topology version=\"2.0\"><planet/></topology>", "line 1: unknown element <planet>" },
    };
    char want[600];

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct topo *t = NULL;

        write_text(rows[i].text, strlen(rows[i].text));
        CHECK_INT(topo_open(&t, NULL, file, message, sizeof message), -EINVAL);
        snprintf(want, sizeof want, "topology %s: %s", file, rows[i].want);
        CHECK_STR(message, want);
    }
}

static void files_that_cannot_be_read_are_errors(void)
{
    struct topo *t = NULL;

    CHECK_INT(topo_open(&t, NULL, "/nonexistent/x", message, sizeof message), -ENOENT);
    CHECK_STR(message, "topology /nonexistent/x: No such file or directory");
    CHECK_INT(topo_open(&t, NULL, "/tmp", message, sizeof message), -EINVAL);
    CHECK_INT(topo_open(&t, NULL, "/dev/null", message, sizeof message), -EINVAL);
}

static unsigned long seed = 1;

static size_t draw(size_t n)
{
    seed = seed * 6364136223846793005ul + 1442695040888963407ul;
    return (size_t)(seed >> 33) % n;
}

/* One fault of an editor: a byte changed, the end lost, a line lost or an attribute lost. */
static size_t damage(char *text, size_t n)
{
    size_t at = draw(n);
    char *from = text + at, *to;

    switch (draw(4)) {
    case 0:
        text[at] = (char)(' ' + draw(95));
        return n;
    case 1:
        return at;
    case 2:
        to = memchr(from, '\n', n - at);
        break;
    default:
        from = memchr(from, ' ', n - at);
        to = from ? memchr(from + 1, ' ', (size_t)(text + n - from) - 1) : NULL;
    }
    if (!from || !to)
        return n;
    memmove(from, to, (size_t)(text + n - to));
    return n - (size_t)(to - from);
}

/* hwloc 2.9 alone ends with a signal on one in fifteen of these. */
static void damaged_files_never_end_the_process(void)
{
    char *text, *copy;
    size_t size;
    unsigned refused = 0;

    export_ring();
    CHECK_INT(topoxml_read(&text, &size, file, message, sizeof message), 0);
    copy = malloc(size + 1);
    for (unsigned i = 0; i < 600; i++) {
        struct topo *t = NULL;
        size_t n;

        memcpy(copy, text, size + 1);
        n = damage(copy, size);
        write_text(copy, n);
        refused += topo_open(&t, NULL, file, message, sizeof message) < 0;
        topo_close(t);
    }
    CHECK(refused > 300 && refused < 600);
    free(copy);
    free(text);
}

static void this_machine_is_here(void)
{
    struct topo *t = synthetic(NULL);
    struct cpuset online;
    char text[256];
    FILE *in = fopen("/sys/devices/system/cpu/online", "r");

    CHECK(t && topo_here(t));
    CHECK(in && fgets(text, sizeof text, in));
    fclose(in);
    CHECK_INT(cpuset_parse(&online, text, strcspn(text, "\n"), message, sizeof message), 0);
    CHECK(cpuset_equal(&online, topo_cpus(t)));
    topo_close(t);
}

static void hwlocs_environment_is_checked_like_an_argument(void)
{
    struct topo *t = NULL;

    write_text("<topology version=\"3.0\"></topology>", 33);
    setenv("HWLOC_XMLFILE", file, 1);
    CHECK_INT(topo_open(&t, NULL, NULL, message, sizeof message), -EINVAL);
    unsetenv("HWLOC_XMLFILE");
    setenv("HWLOC_SYNTHETIC", "core:3 pu:2", 1);
    CHECK_INT(topo_open(&t, NULL, NULL, message, sizeof message), 0);
    unsetenv("HWLOC_SYNTHETIC");
    CHECK_STR(listed(topo_cpus(t)), "0-5");
    CHECK(!topo_here(t));
    topo_close(t);
}

static void type_names_are_known_both_ways(void)
{
    for (int type = 0; topo_type_name(type); type++)
        CHECK_INT(topo_type(topo_type_name(type)), type);
    CHECK_INT(topo_type("Core"), -EINVAL);
    CHECK_INT(topo_type("cores"), -EINVAL);
}

int main(void)
{
    int fd = mkstemp(file);

    close(fd);
    CASE(two_packages_of_four_cores_with_two_threads);
    CASE(caches_and_nodes_are_told_apart);
    CASE(os_numbers_are_not_logical_numbers);
    CASE(nearest_and_farthest_stay_among_the_given_cpus);
    CASE(an_xml_machine_is_the_machine_that_was_written);
    CASE(cpu_0_and_node_0_need_not_exist);
    CASE(a_node_may_have_no_cpu);
    CASE(a_node_may_have_no_memory);
    CASE(among_equal_relations_the_firmwares_latency_decides);
    CASE(four_thousand_cpus_work);
    CASE(a_walk_goes_down_before_it_goes_on);
    CASE(wrong_descriptions_are_errors);
    CASE(wrong_files_are_errors_that_say_why);
    CASE(files_that_cannot_be_read_are_errors);
    CASE(damaged_files_never_end_the_process);
    CASE(this_machine_is_here);
    CASE(hwlocs_environment_is_checked_like_an_argument);
    CASE(type_names_are_known_both_ways);
    unlink(file);
    return DONE();
}
