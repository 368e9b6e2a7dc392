#!/bin/sh
# boot.sh CACHE JOB: runs a job (a script in the tree) as root in a guest: four CPUs, two nodes,
# Debian's stock kernel, this machine's root under a tmpfs that takes the writes.
#
# Comment lines "# qemu: OPTIONS" of the job ("-- qemu:" in Lua) go to the emulator; "smp:", "cpu:"
# and "timeout: SECONDS" change the machine. Output goes to stdout, the exit status is the
# job's; 124: out of time, 125: the guest died. The emulator ends with this script, however
# that ends.
set -eu
cache=$(cd "$1" && pwd) job=$2
tree=$(cd "$(dirname "$0")/../.." && pwd)
setting() { sed -n "s/^\(#\|--\) $1: //p" "$job"; }
smp=$(setting smp) cpu=$(setting cpu) limit=$(setting timeout)
memory=${VM_MEMORY:-384}
limit=${limit:-150}
[ -z "${VM_LONG:-${FULL:-}}" ] || limit=$((limit * 20))     # long campaigns

share=$(mktemp -d)
qemu=
end() { [ -z "$qemu" ] || kill -9 "$qemu" 2>/dev/null || :; rm -rf "$share"; }
trap end EXIT
trap 'exit 130' INT TERM HUP
{
    echo "export VM_TREE='$tree' VM_JOB='$job' VM_CACHE='$cache' VM_LONG='${VM_LONG:-${FULL:-}}'"
    echo "export IOLUA='${IOLUA:-$tree/build/release/iolua}'"
    echo "export IOLUA_BUILD='${IOLUA_BUILD:-$tree/build/release}'"
    echo "export LUA_PATH='$tree/tests/?.lua;$tree/lua/?.lua;$tree/lua/?/init.lua;;'"
    echo "export DM_DISABLE_UDEV=1"
} >"$share/environment"

set -- $(setting qemu)
follow=
command -v setpriv >/dev/null && follow="setpriv --pdeathsig KILL"
$follow qemu-system-x86_64 -M q35 -cpu "${cpu:-max}" -accel tcg,thread=single \
    -m $((memory * 2)) -smp "${smp:-4,sockets=2,cores=2}" \
    -object memory-backend-ram,id=m0,size=${memory}M \
    -object memory-backend-ram,id=m1,size=${memory}M \
    -numa node,nodeid=0,cpus=0-1,memdev=m0 -numa node,nodeid=1,cpus=2-3,memdev=m1 \
    -nodefaults -no-user-config -display none -serial "file:$share/console" -no-reboot \
    -kernel "$cache/vmlinux" -initrd "$cache/initrd" \
    -append "console=ttyS0 quiet panic=-1 tsc=reliable mitigations=off vm.cache=$cache vm.tree=$tree" \
    -fsdev local,id=root,path=/,security_model=none,readonly=on,multidevs=remap \
    -device virtio-9p-pci,fsdev=root,mount_tag=root \
    -fsdev "local,id=job,path=$share,security_model=none,multidevs=remap" \
    -device virtio-9p-pci,fsdev=job,mount_tag=job "$@" </dev/null >"$share/qemu" 2>&1 &
qemu=$!

deadline=$(($(date +%s) + limit))
while kill -0 "$qemu" 2>/dev/null && [ "$(date +%s)" -lt "$deadline" ]; do sleep 0.2; done
late=
kill -0 "$qemu" 2>/dev/null && late=1 && kill -9 "$qemu"
wait "$qemu" || :
qemu=
tr -d '\r' <"$share/console" || :
cat "$share/qemu"
[ ! -s "$share/status" ] || exit "$(cat "$share/status")"
[ -z "$late" ] || exit 124
exit 125
