# The harness of the guests, where there is no emulator: skipped with the reason, never failed.
passed=0; failed=0; skipped=0
is() { if [ "$2" = "$3" ]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED $1: \"$2\", want \"$3\""; fi; }
has() { case "$2" in *"$3"*) passed=$((passed + 1)) ;; *) failed=$((failed + 1)); echo "FAILED $1: \"$2\" has no \"$3\"" ;; esac; }

# A PATH with the shell's tools and no emulator, no apt.
bin=$(mktemp -d); trap 'rm -rf "$bin"' EXIT
for tool in sh sed cat tail rm mkdir mktemp flock dirname id grep head date cut tr; do
    ln -s "$(command -v $tool)" "$bin/$tool"
done
output=$(PATH=$bin sh tests/vm/check.sh short boot 2>&1); is "exit status" $? 0
has "the reason" "$output" "skipped vm: "
has "what is missing" "$output" "qemu-system-x86"
is "last line" "$(echo "$output" | tail -n 1)" "0 passed, 0 failed, 1 skipped"
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
