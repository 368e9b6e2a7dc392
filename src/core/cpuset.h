/*
 * cpuset - a finite set of CPUs by their OS numbers, 0 .. CPUSET_CPUS - 1.
 *
 * A plain value without pointers: copied by assignment, compared by cpuset_equal. The text
 * forms are those of Linux: the list of sysfs and taskset ("0-3,8-11:2") and the mask of
 * /proc/irq ("00000000,08000000"). Both parsers are strict: what is not wholly understood is an
 * error that shows the place, never a smaller or larger set.
 */
#ifndef IOLUA_CORE_CPUSET_H
#define IOLUA_CORE_CPUSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CPUSET_CPUS 8192u       /* the most a Linux kernel can be built for */

struct cpuset {
    uint64_t bits[CPUSET_CPUS / 64];
};

void cpuset_zero(struct cpuset *set);

/* Members outside 0 .. CPUSET_CPUS - 1 are never in a set: add is then -ERANGE. */
int cpuset_add(struct cpuset *set, unsigned cpu);
void cpuset_remove(struct cpuset *set, unsigned cpu);
bool cpuset_has(const struct cpuset *set, unsigned cpu);

/* out may be a or b. */
void cpuset_or(struct cpuset *out, const struct cpuset *a, const struct cpuset *b);
void cpuset_and(struct cpuset *out, const struct cpuset *a, const struct cpuset *b);
void cpuset_minus(struct cpuset *out, const struct cpuset *a, const struct cpuset *b);

bool cpuset_equal(const struct cpuset *a, const struct cpuset *b);
bool cpuset_subset(const struct cpuset *part, const struct cpuset *whole);
unsigned cpuset_count(const struct cpuset *set);

/* The smallest member >= from, or -1. A walk: for (c = cpuset_next(s, 0); c >= 0; c =
 * cpuset_next(s, c + 1)). */
int cpuset_next(const struct cpuset *set, unsigned from);

/*
 * The set named by the n bytes at text: numbers and ranges joined by commas, a range may have a
 * stride: "0-3,8-11:2" is {0,1,2,3,8,10}. Numbers are decimal also with leading zeros. Empty
 * text is the empty set; blanks are not allowed. 0, or -EINVAL with a sentence in message.
 */
int cpuset_parse(struct cpuset *out, const char *text, size_t n, char *message, size_t len);

/* The list form, smallest first, without strides. Returns its length as snprintf does: what
 * does not fit in len bytes is cut, with a NUL at the end. */
size_t cpuset_format(char *text, size_t len, const struct cpuset *set);

/* For a sentence: the list form, its end replaced by "..." where it does not fit; "none" for
 * the empty set. Returns text. */
const char *cpuset_brief(char *text, size_t len, const struct cpuset *set);

/* The set named by a mask of hexadecimal groups of 32 CPUs, the highest first, as in
 * /proc/irq/N/smp_affinity. 0, or -EINVAL with a sentence in message. */
int cpuset_parse_mask(struct cpuset *out, const char *text, size_t n, char *message, size_t len);

/* The mask form: groups of eight digits for at least `cpus` CPUs (and for every member).
 * Returns its length as snprintf does. */
size_t cpuset_format_mask(char *text, size_t len, const struct cpuset *set, unsigned cpus);

#endif
