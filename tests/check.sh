#!/bin/bash
# check.sh: what `make check` runs. Stages one after the other; their counts are added up. FULL=1
# adds the long campaigns.
cd "$(dirname "$0")/.." || exit 2
passed=0; failed=0; skipped=0
jobs=-j$(nproc)
export AGAIN=1                  # a neighbour's noise does not fail a whole check
log=$(mktemp) || exit 2
trap 'rm -f "$log"' EXIT

add() { passed=$((passed + $1)); failed=$((failed + $2)); skipped=$((skipped + $3)); }

# A stage whose last line is a count.
counted() { # NAME COMMAND...
    local name=$1 from=$SECONDS counts; shift
    "$@" 2>&1 | tee "$log" | grep -v ' passed, ' | sed "s|^|$name: |"
    counts=$(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 \2 \3/p' "$log" | tail -n 1)
    [ -n "$counts" ] || { echo "$name: ended without a count"; counts="0 1 0"; }
    add $counts
    echo "$name: $(tail -n 1 "$log") ($((SECONDS - from)) s)"
}

# A stage that is right when it says nothing and exits 0.
silent() { # NAME COMMAND...
    local name=$1 from=$SECONDS; shift
    if "$@" >"$log" 2>&1; then add 1 0 0; echo "$name: ok ($((SECONDS - from)) s)"
    else add 0 1 0; echo "$name: FAILED"; tail -n 60 "$log"; fi
}

silent "build gcc" make -s $jobs tests
counted "release" make -s test
silent "build asan" make -s $jobs BUILD=asan tests
counted "asan" make -s BUILD=asan test
silent "build tsan" make -s $jobs BUILD=tsan tests
counted "tsan" env TEST_ONLY=threaded make -s BUILD=tsan test
if command -v clang >/dev/null; then silent "build clang" make -s $jobs CC=clang BUILD=clang tests
else echo "build clang: skipped: clang is not installed"; add 0 0 1; fi
if command -v luacheck >/dev/null; then silent "luacheck" luacheck -q lua scenarios tests
else echo "luacheck: skipped: luacheck is not installed"; add 0 0 1; fi
counted "fuzz" env SECONDS_EACH=$([ -n "$FULL" ] && echo 60 || echo 3) bash tests/fuzz/fuzz.sh
if [ -e tests/vm/vm.mk ]; then counted "vm" make -s check-vm FULL=$FULL; fi
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
