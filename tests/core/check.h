/*
 * check - the harness of the core tests: CHECK counts, CASE and TIMED name, DONE reports.
 *
 * A test program is a main() of CASE(function) lines and `return DONE();`. It ends with the
 * line `N passed, N failed, N skipped` that tests/run.sh adds up; its exit status is 0 or 1.
 */
#ifndef IOLUA_TESTS_CHECK_H
#define IOLUA_TESTS_CHECK_H

#include <stdio.h>
#include <string.h>

static unsigned check_passed, check_failed, check_skipped;
static int check_case_ok;
static const char *check_skip_reason;

#define CHECK(cond) \
    ((cond) ? (void)0 : check_fail(__FILE__, __LINE__, #cond))

#define CHECK_INT(got, want) check_int(__FILE__, __LINE__, #got, (long long)(got), (long long)(want))

#define CHECK_STR(got, want) check_str(__FILE__, __LINE__, #got, (got), (want))

/* Leave the case: what it needs is not here. */
#define SKIP(reason) do { check_skip_reason = (reason); return; } while (0)

#define CASE(fn) check_case(#fn, fn, 1)

/* A case whose right value is read off a clock. What else the machine does can disturb one
   attempt; a fault of ours would spoil every one: tried up to five times. */
#define TIMED(fn) check_case(#fn, fn, 5)

static inline void check_fail(const char *file, int line, const char *what)
{
    check_case_ok = 0;
    printf("%s:%d: failed: %s\n", file, line, what);
}

static inline void check_int(const char *file, int line, const char *what, long long got,
                             long long want)
{
    if (got == want)
        return;
    check_case_ok = 0;
    printf("%s:%d: %s is %lld, want %lld\n", file, line, what, got, want);
}

static inline void check_str(const char *file, int line, const char *what, const char *got,
                             const char *want)
{
    if (got && want && strcmp(got, want) == 0)
        return;
    check_case_ok = 0;
    printf("%s:%d: %s is \"%s\", want \"%s\"\n", file, line, what, got ? got : "(null)",
           want ? want : "(null)");
}

static inline void check_case(const char *name, void (*fn)(void), int attempts)
{
    do {
        check_case_ok = 1;
        check_skip_reason = NULL;
        fn();
    } while (!check_case_ok && !check_skip_reason && --attempts > 0);
    if (check_skip_reason) {
        check_skipped++;
        printf("skipped %s: %s\n", name, check_skip_reason);
    } else if (check_case_ok) {
        check_passed++;
    } else {
        check_failed++;
        printf("FAILED %s\n", name);
    }
}

#define DONE() check_done()

static inline int check_done(void)
{
    printf("%u passed, %u failed, %u skipped\n", check_passed, check_failed, check_skipped);
    return check_failed ? 1 : 0;
}

#endif
