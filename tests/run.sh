#!/bin/sh
# run.sh BUILD-FOLDER [PATTERN]: runs every test program of one build and adds up their counts.
# A program that does not end with its count line, or runs over its time, is one failure.
O=$1; pattern=$2
cd "$(dirname "$0")/.." || exit 2
export IOLUA_STATE="$PWD/$O/state" IOLUA="$PWD/$O/iolua" IOLUA_BUILD="$PWD/$O" LC_ALL=C
export LUA_PATH="$PWD/tests/?.lua;$PWD/lua/?.lua;$PWD/lua/?/init.lua;;" LUA_CPATH="$PWD/$O/lua/?.so;;"
export ASAN_OPTIONS="exitcode=99:detect_leaks=1:${ASAN_OPTIONS:-}" TSAN_OPTIONS="exitcode=66:${TSAN_OPTIONS:-}"
log=$(mktemp) || exit 2
trap 'rm -f "$log"' EXIT
passed=0; failed=0; skipped=0

# What runs threads of its own: the tests that TSan is for.
threaded() { # NAME
    case "$1" in
        core/*) grep -q pthread_create "$O/tests/${1#core/}" || grep -qE 'crew|threads' tests/"$1".c;;
        lua/job_test | lua/fiber*_test | lua/sim*_test | lua/hook*_test) ;;
        *) false;;
    esac
}

run() { # NAME COMMAND...
    name=$1; shift
    case "$name" in *"$pattern"*) ;; *) return;; esac
    [ "$TEST_ONLY" != threaded ] || threaded "$name" || return
    timeout -k 5 "${TEST_TIMEOUT:-240}" "$@" >"$log" 2>&1 </dev/null; status=$?
    counts=$(sed -n 's/^\([0-9][0-9]*\) passed, \([0-9][0-9]*\) failed, \([0-9][0-9]*\) skipped$/\1 \2 \3/p' "$log" | tail -n 1)
    set -- ${counts:-0 0 0}
    if [ -z "$counts" ] || { [ $status -ne 0 ] && [ "$2" -eq 0 ]; }; then
        echo "FAILED $name: ended with status $status"; tail -n 40 "$log"; set -- "$1" $(($2 + 1)) "$3"
    elif [ "$2" -gt 0 ]; then
        echo "in $name:"; cat "$log"
    else
        grep '^skipped ' "$log" | sed "s|^|$name: |"
    fi
    passed=$((passed + $1)); failed=$((failed + $2)); skipped=$((skipped + $3))
}

for t in "$O"/tests/*_test; do [ -x "$t" ] && run "core/${t##*/}" "$t"; done
for t in tests/lua/*_test.lua; do [ -e "$t" ] && run "lua/$(basename "$t" .lua)" "$IOLUA" "$t"; done
for t in tests/pure/*_test.lua; do
    [ -e "$t" ] && run "pure/$(basename "$t" .lua)" lua5.4 "$t"
done
for t in tests/cli/*_test.sh; do [ -e "$t" ] && run "cli/$(basename "$t" .sh)" sh "$t"; done
for t in tests/cli/*_test.lua; do [ -e "$t" ] && run "cli/$(basename "$t" .lua)" lua5.4 "$t"; done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
