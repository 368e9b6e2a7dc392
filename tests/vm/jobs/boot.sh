#!/bin/bash
# The guest is what the jobs expect it to be.
# when: short
failed=0
check() { eval "$2" || { echo "FAILED $1"; failed=$((failed + 1)); }; }
check "four CPUs" '[ "$(nproc)" = 4 ]'
check "two nodes" '[ -d /sys/devices/system/node/node1 ] && [ "$(cat /sys/devices/system/node/node1/cpulist)" = 2-3 ]'
check "the tree is here" '[ -x "$IOLUA" ] && "$IOLUA" -e "os.exit(7)"; [ $? = 7 ]'
check "tracefs" '[ -d /sys/kernel/tracing/events/block ]'
check "modules load" 'modprobe null_blk nr_devices=1 && [ -b /dev/nullb0 ]'
check "the host's files cannot be changed" '! ( echo x >/mnt/job/../../etc/iolua-vm-test && [ ! -e /etc/iolua-vm-test ] )'
check "io_uring" '[ "$(uname -r | cut -d. -f1)" -ge 6 ]'
echo "$((7 - failed)) passed, $failed failed, 0 skipped"
[ $failed = 0 ]
