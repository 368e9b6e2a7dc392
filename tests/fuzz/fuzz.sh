#!/bin/bash
# fuzz.sh: libFuzzer over every parser of outside text, in C and in Lua, with its seed corpus; a
# bounded run of each, one a CPU. SECONDS_EACH (3) is the time of one; new inputs are kept in
# build/fuzz only. What fails leaves its input beside the program, and becomes a seed with its fix.
cd "$(dirname "$0")/../.." || exit 2
O=build/fuzz
each=${SECONDS_EACH:-3}
flags="-O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined"

# The parser's sources, by target.
sources() {
    case $1 in
    cpuset) echo cpuset;;
    topoxml) echo topoxml xml cpuset;;
    journal) echo journal_text fill rng;;
    mounts) echo mounts;;
    stamp) echo stamp fill rng;;
    synthetic) echo synthetic;;
    esac
}

# A target in Lua is its driver under the program that runs all of them.
build() { # TARGET
    local files=tests/fuzz/$1.c s
    for s in $(sources "$1"); do files="$files src/core/$s.c"; done
    [ "$1" != lua ] || files="$files $(pkg-config --cflags --libs lua5.4)"
    clang -std=c11 -D_GNU_SOURCE -Isrc $flags -o "$O/$1" $files
}

# Seeds beyond the target's own folder: samples of programs' output, after the name of each.
more() {
    local file name
    [ "$1" = programs ] || return
    mkdir -p $O/samples
    for file in tests/data/programs/*; do
        name=${file##*/}
        { echo "${name%%[-_.]*}"; cat "$file"; } >"$O/samples/$name"
    done
    echo $O/samples
}

# One target, its result in $O/TARGET.result.
run() { # TARGET
    local t=$1 program=$O/$1
    mkdir -p $O/new/$t
    if [ -e tests/fuzz/$t.lua ]; then
        program=$O/lua
        export FUZZ_LUA=tests/fuzz/$t.lua LUA_PATH="lua/?.lua;lua/?/init.lua;tests/fuzz/lib/?.lua;;" ASAN_OPTIONS=detect_leaks=0
    elif ! build $t >$O/$t.log 2>&1; then
        { echo "FAILED build of $t"; tail -n 5 $O/$t.log; } >$O/$t.result; return
    fi
    if $program -max_total_time=$each -max_len=8192 -timeout=10 -artifact_prefix=$O/$t- \
        $O/new/$t tests/fuzz/corpus/$t $(more $t) >$O/$t.log 2>&1; then
        echo passed >$O/$t.result
    else
        { echo "FAILED $t"; grep -E "ERROR|SUMMARY|runtime error|Test unit" $O/$t.log |
            head -n 5; } >$O/$t.result
    fi
}

if [ -n "$RUN_ONE" ]; then run "$RUN_ONE"; exit 0; fi

mkdir -p $O
rm -f $O/*.result
echo 'int LLVMFuzzerTestOneInput(const char *d, unsigned long n); int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return d == 0 && n; }' >$O/probe.c
if ! clang -fsanitize=fuzzer -o $O/probe $O/probe.c 2>/dev/null; then
    echo "skipped fuzz: clang with its fuzzer runtime is not installed"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi
build lua >$O/lua.log 2>&1 || { echo "FAILED build of lua"; tail -n 5 $O/lua.log; }
targets=${TARGETS:-$(cd tests/fuzz && ls *.c *.lua | sed 's/\..*//' | grep -vx lua)}
printf '%s\n' $targets | xargs -P "$(nproc)" -I{} env RUN_ONE={} bash tests/fuzz/fuzz.sh
passed=0; failed=0
for t in $targets; do
    if [ "$(cat $O/$t.result)" = passed ]; then passed=$((passed + 1))
    else cat $O/$t.result; failed=$((failed + 1)); fi
done
echo "$passed passed, $failed failed, 0 skipped"
[ $failed -eq 0 ]
