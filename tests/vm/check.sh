#!/bin/sh
# check.sh short|long [PATTERN]: runs the jobs of tests/vm/jobs in guests and adds up their
# counts; short runs those marked "when: short". Skipped with the reason where there is no
# emulator or no kernel.
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.." || exit 2
cache=build/vm
passed=0; failed=0; skipped=0
log=$(mktemp) || exit 2
child=
end() { [ -z "$child" ] || { kill "$child" 2>/dev/null; wait "$child"; }; rm -f "$log"; }
trap end EXIT
trap 'exit 130' INT TERM HUP

mkdir -p build
exec 9>build/vm.lock
flock 9                         # one setup at a time
sh tests/vm/setup.sh $cache >"$log" 2>&1; status=$?
flock -u 9
if [ $status -eq 77 ]; then
    echo "skipped vm: $(tail -n 1 "$log")"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
elif [ $status -ne 0 ]; then
    cat "$log"; echo "FAILED vm: setup ended with status $status"
    echo "0 passed, 1 failed, 0 skipped"
    exit 1
fi

# Boots a guest for $job: its output in $log, its exit status in $status, its counts in $counts.
boot() {
    sh tests/vm/boot.sh $cache "$job" >"$log" 2>&1 9>&- &
    child=$!
    wait $child; status=$?
    child=
    counts=$(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 \2 \3/p' "$log" | tail -n 1)
}

for job in tests/vm/jobs/*; do
    case "$job" in *"$2"*) ;; *) continue ;; esac
    [ "$1" != short ] || grep -q '^\(#\|--\) when: short$' "$job" || continue
    boot
    if [ $status -ne 0 ] && [ -n "${AGAIN:-}" ]; then      # see tests/run.sh
        sed 's/^/disturbed: /' "$log"
        boot
    fi
    set -- "$1" "$2" ${counts:-0 0 0}
    if [ -z "$counts" ] || { [ $status -ne 0 ] && [ "$4" -eq 0 ]; }; then
        echo "FAILED $job: ended with status $status"; tail -n 40 "$log"
        set -- "$1" "$2" "$3" $(($4 + 1)) "$5"
    elif [ "$4" -gt 0 ]; then
        echo "in $job:"; cat "$log"
    else
        grep -E '^(skipped|disturbed) ' "$log" | sed "s|^|$job: |"
    fi
    passed=$((passed + $3)); failed=$((failed + $4)); skipped=$((skipped + $5))
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
