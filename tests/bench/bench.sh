#!/bin/bash
# bench.sh: a sparse 4 GiB file of its own (ext4 and the like: O_DIRECT), then bench.lua.
cd "$(dirname "$0")/../.." || exit 2
command -v fio >/dev/null || { echo "bench: fio is missing: apt-get install fio" >&2; exit 2; }
file=$(mktemp "${TMPDIR:-/var/tmp}/iolua-bench-XXXXXX") || exit 2
trap 'rm -f "$file"' EXIT
truncate -s 4g "$file"
lua5.4 tests/bench/bench.lua "$PWD/build/release/iolua" "$file"
