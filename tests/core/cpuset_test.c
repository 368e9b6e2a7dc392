/* core/cpuset: the two text forms, and sets of up to 8192 CPUs. */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "check.h"
#include "core/cpuset.h"

static char message[256];

static int parse(struct cpuset *set, const char *text)
{
    message[0] = 0;
    return cpuset_parse(set, text, strlen(text), message, sizeof message);
}

static void lists_name_the_right_cpus(void)
{
    static const struct { const char *text, *want; unsigned count; } rows[] = {
        { "0-3,8-11:2", "0-3,8,10", 6 },
        { "0-23:2,24-47:4", "0,2,4,6,8,10,12,14,16,18,20,22,24,28,32,36,40,44", 18 },
        { "010", "10", 1 },
        { "4-4", "4", 1 },
        { "", "", 0 },
        { "3,1,2", "1-3", 3 },
        { "0-3:9", "0", 1 },
        { "1,1,1-2", "1-2", 2 },
        { "8191", "8191", 1 },
        { "0-8191", "0-8191", 8192 },
        { "63-64", "63-64", 2 },
        { "00000000000000000000000000005", "5", 1 },
    };
    struct cpuset set;
    char text[256];

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CHECK_INT(parse(&set, rows[i].text), 0);
        CHECK_INT(cpuset_format(text, sizeof text, &set), strlen(rows[i].want));
        CHECK_STR(text, rows[i].want);
        CHECK_INT(cpuset_count(&set), rows[i].count);
    }
}

static void wrong_lists_are_errors_that_show_the_place(void)
{
    static const struct { const char *text, *want; } rows[] = {
        { "3-1", "CPU list \"3-1\": a range that runs backwards at \"1\" (character 3)" },
        { "1,2abc,3", "CPU list \"1,2abc,3\": \",\" expected at \"abc,3\" (character 4)" },
        { "0--1", "CPU list \"0--1\": a CPU number expected at \"-1\" (character 3)" },
        { "a", "CPU list \"a\": a CPU number expected at \"a\" (character 1)" },
        { ",", "CPU list \",\": a CPU number expected at \",\" (character 1)" },
        { "0-", "CPU list \"0-\": a CPU number expected at the end (character 3)" },
        { "0-3:0", "CPU list \"0-3:0\": a stride of 0 at \"0\" (character 5)" },
        { "0-18446744073709551615", "CPU list \"0-18446744073709551615\": a CPU above 8191 at "
          "\"18446744073709551615\" (character 3)" },
        { "8192", "CPU list \"8192\": a CPU above 8191 at \"8192\" (character 1)" },
        { "18446744073709551616", "CPU list \"18446744073709551616\": a CPU above 8191 at "
          "\"18446744073709551616\" (character 1)" },
        { "0,", "CPU list \"0,\": a CPU number expected at the end (character 3)" },
        { ",0", "CPU list \",0\": a CPU number expected at \",0\" (character 1)" },
        { "0 1", "CPU list \"0 1\": \",\" expected at \" 1\" (character 2)" },
        { "0\n", "CPU list \"0?\": \",\" expected at \"?\" (character 2)" },
        { "+1", "CPU list \"+1\": a CPU number expected at \"+1\" (character 1)" },
        { "0x3", "CPU list \"0x3\": \",\" expected at \"x3\" (character 2)" },
        { "0-3:", "CPU list \"0-3:\": a stride expected at the end (character 5)" },
        { "4:2", "CPU list \"4:2\": \",\" expected at \":2\" (character 2)" },
        { "0-3-5", "CPU list \"0-3-5\": \",\" expected at \"-5\" (character 4)" },
    };
    struct cpuset set;

    cpuset_zero(&set);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CHECK_INT(parse(&set, rows[i].text), -EINVAL);
        CHECK_STR(message, rows[i].want);
        CHECK_INT(cpuset_count(&set), 0);       /* written only on success */
    }
    CHECK_INT(cpuset_parse(&set, "0\0001", 3, message, sizeof message), -EINVAL);
}

static void a_long_wrong_list_is_refused_at_once_with_a_short_message(void)
{
    size_t n = 1 << 18;
    char *text = malloc(n);
    struct timespec a, b;
    struct cpuset set;

    memset(text, '7', n);
    clock_gettime(CLOCK_MONOTONIC, &a);
    CHECK_INT(cpuset_parse(&set, text, n, message, sizeof message), -EINVAL);
    clock_gettime(CLOCK_MONOTONIC, &b);
    CHECK(b.tv_sec - a.tv_sec + (b.tv_nsec - a.tv_nsec) / 1e9 < 0.1);
    CHECK(strlen(message) < 200);
    free(text);
}

static void a_list_that_does_not_fit_is_cut_and_its_length_told(void)
{
    struct cpuset set;
    char text[8];

    CHECK_INT(parse(&set, "0,2,4,6,8"), 0);
    CHECK_INT(cpuset_format(text, sizeof text, &set), 9);
    CHECK_STR(text, "0,2,4,6");
    CHECK_STR(cpuset_brief(text, sizeof text, &set), "0,2,...");
    CHECK_INT(cpuset_format(NULL, 0, &set), 9);
    cpuset_zero(&set);
    CHECK_STR(cpuset_brief(text, sizeof text, &set), "none");
}

static void masks_are_those_of_proc_irq(void)
{
    static const struct { const char *mask, *list; unsigned cpus; const char *printed; } rows[] = {
        { "00000000,08000000", "27", 64, "00000000,08000000" },
        { "3", "0-1", 2, "00000003" },
        { "0", "", 0, "00000000" },
        { "1,00000000,00000000", "64", 0, "00000001,00000000,00000000" },
        { "FFffffff", "0-31", 1, "ffffffff" },
        { "80000000,00000001", "0,63", 33, "80000000,00000001" },
        { "00000001", "0", 96, "00000000,00000000,00000001" },
    };
    struct cpuset set;
    char text[256];

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CHECK_INT(cpuset_parse_mask(&set, rows[i].mask, strlen(rows[i].mask), message,
                                    sizeof message), 0);
        cpuset_format(text, sizeof text, &set);
        CHECK_STR(text, rows[i].list);
        CHECK_INT(cpuset_format_mask(text, sizeof text, &set, rows[i].cpus),
                  strlen(rows[i].printed));
        CHECK_STR(text, rows[i].printed);
    }
}

static void the_widest_mask_holds_cpu_8191_and_no_more(void)
{
    char text[256 * 9 + 16];
    struct cpuset set, back;

    CHECK_INT(parse(&set, "8191"), 0);
    CHECK_INT(cpuset_format_mask(text, sizeof text, &set, 0), 256 * 9 - 1);
    CHECK_INT(cpuset_parse_mask(&back, text, strlen(text), message, sizeof message), 0);
    CHECK(cpuset_equal(&set, &back));
    strcat(text, ",00000000");
    CHECK_INT(cpuset_parse_mask(&back, text, strlen(text), message, sizeof message), -EINVAL);
}

static void wrong_masks_are_errors(void)
{
    static const char *rows[] = { "", ",", "1,", ",1", "g", "0x3", "123456789", "1 ", "-1" };
    struct cpuset set;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK_INT(cpuset_parse_mask(&set, rows[i], strlen(rows[i]), message, sizeof message),
                  -EINVAL);
    cpuset_parse_mask(&set, "1,g", 3, message, sizeof message);
    CHECK_STR(message,
              "CPU mask \"1,g\": a hexadecimal digit expected at \"g\" (character 3)");
}

static void set_operations_agree_with_arithmetic_on_each_cpu(void)
{
    struct cpuset a, b, both, either, only;

    CHECK_INT(parse(&a, "0-8191:3"), 0);
    CHECK_INT(parse(&b, "0-8191:5"), 0);
    cpuset_and(&both, &a, &b);
    cpuset_or(&either, &a, &b);
    cpuset_minus(&only, &a, &b);
    for (unsigned cpu = 0; cpu < CPUSET_CPUS; cpu++) {
        CHECK(cpuset_has(&both, cpu) == (cpu % 15 == 0));
        CHECK(cpuset_has(&either, cpu) == (cpu % 3 == 0 || cpu % 5 == 0));
        CHECK(cpuset_has(&only, cpu) == (cpu % 3 == 0 && cpu % 5 != 0));
    }
    CHECK(cpuset_subset(&both, &a) && !cpuset_subset(&a, &both));
    CHECK(!cpuset_has(&either, 8192) && !cpuset_has(&either, 1u << 31));
    CHECK_INT(cpuset_add(&a, 8192), -ERANGE);
}

static void a_walk_visits_each_member_once(void)
{
    struct cpuset set;
    unsigned n = 0, sum = 0;

    CHECK_INT(parse(&set, "0,63,64,127,8191"), 0);
    for (int c = cpuset_next(&set, 0); c >= 0; c = cpuset_next(&set, (unsigned)c + 1)) {
        n++;
        sum += (unsigned)c;
    }
    CHECK_INT(n, 5);
    CHECK_INT(sum, 63 + 64 + 127 + 8191);
    cpuset_remove(&set, 0);
    CHECK_INT(cpuset_next(&set, 0), 63);
    CHECK_INT(cpuset_next(&set, 8192), -1);
}

int main(void)
{
    CASE(lists_name_the_right_cpus);
    CASE(wrong_lists_are_errors_that_show_the_place);
    CASE(a_long_wrong_list_is_refused_at_once_with_a_short_message);
    CASE(a_list_that_does_not_fit_is_cut_and_its_length_told);
    CASE(masks_are_those_of_proc_irq);
    CASE(the_widest_mask_holds_cpu_8191_and_no_more);
    CASE(wrong_masks_are_errors);
    CASE(set_operations_agree_with_arithmetic_on_each_cpu);
    CASE(a_walk_visits_each_member_once);
    return DONE();
}
