#!/bin/sh
# run.sh BUILD-FOLDER [PATTERN]: runs every test program of one build, TEST_JOBS (2) at once, and
# adds up their counts.
# A program that does not end with its count line, or runs over its time, is one failure. With
# AGAIN set, one that fails beside others is run again alone, and that run counts: what it said
# the first time stays in the output, under "disturbed". A sanitizer's finding is never excused.
O=$1; pattern=$2
cd "$(dirname "$0")/.." || exit 2
export IOLUA_STATE="$PWD/$O/state" IOLUA="$PWD/$O/iolua" IOLUA_BUILD="$PWD/$O" LC_ALL=C
export LUA_PATH="$PWD/tests/?.lua;$PWD/lua/?.lua;$PWD/lua/?/init.lua;;" LUA_CPATH="$PWD/$O/lua/?.so;;"
export LSAN_OPTIONS="suppressions=$PWD/tests/lsan.supp:print_suppressions=0"
export ASAN_OPTIONS="exitcode=99:detect_leaks=1:${ASAN_OPTIONS:-}" TSAN_OPTIONS="exitcode=66:${TSAN_OPTIONS:-}"
limit=${TEST_TIMEOUT:-300}
[ -z "${FULL:-}" ] || limit=$((limit * 10))     # long campaigns

# What runs threads of its own: the tests that TSan is for.
threaded() { # NAME
    case "$1" in
        core/*) grep -q pthread_create "$O/tests/${1#core/}" || grep -qE 'crew|threads' tests/"$1".c;;
        lua/job_test | lua/sim*_test | lua/hook*_test) ;;
        *) false;;
    esac
}

wanted() { # NAME
    case "$1" in *"$pattern"*) ;; *) return 1;; esac
    [ "$TEST_ONLY" != threaded ] || threaded "$1"
}

# Lines "NAME COMMAND...", one a test program.
list() {
    for t in "$O"/tests/*_test; do [ -x "$t" ] && echo "core/${t##*/} $t"; done
    for t in tests/lua/*_test.lua; do [ -e "$t" ] && echo "lua/$(basename "$t" .lua) $IOLUA $t"; done
    for t in tests/pure/*_test.lua; do [ -e "$t" ] && echo "pure/$(basename "$t" .lua) lua5.4 $t"; done
    for t in tests/cli/*_test.sh; do [ -e "$t" ] && echo "cli/$(basename "$t" .sh) sh $t"; done
    for t in tests/cli/*_test.lua; do [ -e "$t" ] && echo "cli/$(basename "$t" .lua) lua5.4 $t"; done
}

# Run one test; what it has to say goes to $results/NAME, its counts to $results/NAME.count.
one() { # NAME COMMAND...
    name=$1; shift; command=$*
    out=$results/$(echo "$name" | tr / _)
    timeout -k 5 "$limit" "$@" >"$out.log" 2>&1 </dev/null; status=$?
    counts=$(sed -n 's/^\([0-9][0-9]*\) passed, \([0-9][0-9]*\) failed, \([0-9][0-9]*\) skipped$/\1 \2 \3/p' "$out.log" | tail -n 1)
    set -- ${counts:-0 0 0}
    if [ -z "$counts" ] || { [ $status -ne 0 ] && [ "$2" -eq 0 ]; }; then
        { echo "FAILED $name: ended with status $status"; tail -n 40 "$out.log"; } >"$out"
        set -- "$1" $(($2 + 1)) "$3"
    elif [ "$2" -gt 0 ]; then
        { echo "in $name:"; cat "$out.log"; } >"$out"
    else
        grep -E '^(skipped|disturbed) ' "$out.log" | sed "s|^|$name: |" >"$out"
    fi
    echo "$1 $2 $3" >"$out.count"
    if [ "$2" -gt 0 ] && [ -n "${AGAIN:-}" ] && ! grep -qE 'Sanitizer|runtime error:' "$out.log"; then
        echo "$name $command" >"$out.again"; return
    fi
    cat "$out"
}

if [ -n "$RUN_ONE" ]; then results=$RUN_ONE; shift 2; one "$@"; exit 0; fi

results=$(mktemp -d) || exit 2
trap 'rm -rf "$results"' EXIT
list | while read -r name command; do
    wanted "$name" && echo "$name $command"
done | RUN_ONE=$results xargs -r -P "${TEST_JOBS:-2}" -L 1 sh tests/run.sh "$1" ""
for again in "$results"/*.again; do
    [ -e "$again" ] || continue
    sed 's/^/disturbed: /' "${again%.again}"
    AGAIN= RUN_ONE=$results xargs -r -L 1 sh tests/run.sh "$1" "" <"$again"
done
cat "$results"/*.count 2>/dev/null | awk '
    { passed += $1; failed += $2; skipped += $3 }
    END { printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped; exit failed > 0 }'
