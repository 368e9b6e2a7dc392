# iolua --doctor on the command line: text, JSON, misuse, and that it changes nothing.
passed=0; failed=0; skipped=0
ok() { passed=$((passed + 1)); }
no() { failed=$((failed + 1)); echo "FAILED $1"; }
is() { if [ "$2" = "$3" ]; then ok; else no "$1: \"$2\", want \"$3\""; fi; }

attributes() { grep -s . /sys/block/*/queue/* /sys/block/*/queue/iosched/* 2>/dev/null | grep -v '^/sys/block/loop'; }
before=$(attributes)
text=$("$IOLUA" --doctor); is "exit status" $? 0
is "attributes after" "$(attributes)" "$before"
for area in privileges io_uring topology tracepoints interrupts settings device-mapper; do
    if echo "$text" | grep -q "^$area\$"; then ok; else no "no $area in the text"; fi
done
is "last line" "$(echo "$text" | tail -n 1 | sed 's/[0-9][0-9]*/N/g')" "N ok, N limited, N not here"
is "lines over 100 columns" "$(echo "$text" | awk 'length > 100' | wc -l)" 0

json=$("$IOLUA" --doctor --json); is "exit status of --json" $? 0
count=$(echo "$json" | lua5.4 -e 'local t = assert(require("dkjson").decode(io.read("a")))
    local n = { ok = 0, limited = 0, no = 0 }
    for _, f in ipairs(t.findings) do assert(f.area and f.name and f.detail); n[f.state] = n[f.state] + 1 end
    for k, v in pairs(n) do assert(t.summary[k] == v, k) end
    print(n.ok .. " ok, " .. n.limited .. " limited, " .. n.no .. " not here")')
is "JSON says the same" "$count" "$(echo "$text" | tail -n 1)"

"$IOLUA" --doctor --jsn >/dev/null 2>&1; is "exit status of a mistake" $? 2
if [ "$(id -u)" = 0 ] && setpriv --reuid 65534 --clear-groups test -x "$IOLUA"; then
    user=$(setpriv --reuid 65534 --clear-groups "$IOLUA" --doctor 2>&1); is "as an ordinary user" $? 0
    if echo "$user" | grep -q "tracefs: only root may read it here"; then ok; else no "why tracepoints are not there"; fi
else
    skipped=$((skipped + 1)); echo "skipped as an ordinary user: needs root and a tree that others may read"
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
