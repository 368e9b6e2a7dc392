#!/bin/bash
# fuzz.sh: libFuzzer over every parser of outside text in C, with its seed corpus; a bounded run
# of each. SECONDS_EACH (3) is the time of one; new inputs are kept in build/fuzz only. What
# fails leaves its input beside the program, and becomes a seed with its fix.
cd "$(dirname "$0")/../.." || exit 2
O=build/fuzz
each=${SECONDS_EACH:-3}
passed=0; failed=0; skipped=0

# The parser's sources, by target.
sources() {
    case $1 in
    cpuset) echo cpuset;;
    topoxml) echo topoxml xml cpuset;;
    journal) echo journal_text fill rng;;
    mounts) echo mounts;;
    stamp) echo stamp fill rng;;
    esac
}

build() { # TARGET
    local files=tests/fuzz/$1.c s
    for s in $(sources "$1"); do files="$files src/core/$s.c"; done
    clang -std=c11 -D_GNU_SOURCE -Isrc -O1 -g -fsanitize=fuzzer,address,undefined \
        -fno-sanitize-recover=undefined -o "$O/$1" $files >"$O/$1.log" 2>&1
}

mkdir -p $O
echo 'int LLVMFuzzerTestOneInput(const char *d, unsigned long n); int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return d == 0 && n; }' >$O/probe.c
if ! clang -fsanitize=fuzzer -o $O/probe $O/probe.c 2>/dev/null; then
    echo "skipped fuzz: clang with its fuzzer runtime is not installed"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi
for target in ${TARGETS:-cpuset topoxml journal mounts stamp}; do
    mkdir -p $O/new/$target
    if ! build $target; then
        echo "FAILED build of $target"; tail -n 5 $O/$target.log; failed=$((failed + 1)); continue
    fi
    if $O/$target -max_total_time=$each -max_len=8192 -timeout=10 -artifact_prefix=$O/$target- \
        $O/new/$target tests/fuzz/corpus/$target >$O/$target.log 2>&1; then
        passed=$((passed + 1))
    else
        echo "FAILED $target"; grep -E "ERROR|SUMMARY|runtime error|Test unit" $O/$target.log | head -n 5
        failed=$((failed + 1))
    fi
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
