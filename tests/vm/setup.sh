#!/bin/sh
# setup.sh CACHE: Debian's kernel and a small initramfs for the test guests, made once.
# Exit status 77 with a reason on the last line where they cannot be had.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"; cache=$(cd "$1" && pwd)
skip() { echo "$*"; exit 77; }

# The tools; root may install what is missing.
missing=
for pair in qemu-system-x86_64:qemu-system-x86 busybox:busybox-static modprobe:kmod cpio:cpio \
            xz:xz-utils; do
    command -v "${pair%%:*}" >/dev/null || [ -x "/usr/sbin/${pair%%:*}" ] ||
        missing="$missing ${pair#*:}"
done
refresh() { [ "$(id -u)" -ne 0 ] || apt-get -qq update >>"$cache/apt.log" 2>&1 || :; }
if [ -n "$missing" ]; then
    [ "$(id -u)" -eq 0 ] || skip "not installed:$missing"
    refresh                     # a fresh machine has no lists
    apt-get install -y --no-install-recommends $missing >>"$cache/apt.log" 2>&1 ||
        skip "apt-get cannot install:$missing"
fi
PATH=$PATH:/usr/sbin:/sbin

# The newest stock kernel that apt knows, or the one that was fetched before.
newest() {
    apt-cache depends linux-image-amd64 2>/dev/null |
        sed -n 's/^ *Depends: \(linux-image-[^ ]*\)$/\1/p' | head -n 1
}
package=$(newest)
[ -n "$package" ] || { refresh; package=$(newest); }
[ -n "$package" ] || package=$(cat "$cache/package" 2>/dev/null) ||
    skip "apt knows no linux-image-amd64"
version=${package#linux-image-}
stamp="$version $(cat "$here/setup.sh" "$here/init" "$here/unpack.lua" | cksum)"
[ "$(cat "$cache/stamp" 2>/dev/null)" != "$stamp" ] || exit 0
cd "$cache"
rm -f stamp
if ! ls "$package"_*.deb >/dev/null 2>&1; then
    apt-get -qq download "$package" >download.log 2>&1 ||
        { refresh; apt-get -qq download "$package" >>download.log 2>&1; } ||
        skip "apt-get cannot download $package"
fi

# Kernel and modules. The guest sees the modules where they lie; its initramfs has only what
# it needs to get there.
rm -rf kernel && mkdir kernel
set -- './boot/vmlinuz*' './lib/modules/*/modules.*' './lib/modules/*/kernel/fs/mbcache.ko'
for part in drivers/md drivers/block drivers/scsi drivers/nvme drivers/ata drivers/virtio \
            fs/9p fs/netfs fs/fscache fs/overlayfs fs/ext4 fs/jbd2 fs/configfs net/9p block \
            lib crypto arch/x86/crypto; do
    set -- "$@" "./lib/modules/*/kernel/$part/*"
done
dpkg-deb --fsys-tarfile "$package"_*.deb | tar -x -C kernel --wildcards "$@"
depmod -b kernel "$version"
lua5.4 "$here/unpack.lua" "kernel/boot/vmlinuz-$version" vmlinux

root=$(mktemp -d); trap 'rm -rf "$root"' EXIT
mkdir -p "$root/bin" "$root/lib/modules/$version"
cp "$(command -v busybox)" "$root/bin/busybox"
ln -s busybox "$root/bin/sh"
cp "$here/init" "$root/init"; chmod +x "$root/init"
cp "kernel/lib/modules/$version/modules.order" "kernel/lib/modules/$version/modules.builtin" \
   "kernel/lib/modules/$version/modules.builtin.modinfo" "$root/lib/modules/$version/"
for module in virtio_pci 9pnet_virtio 9p overlay; do
    modprobe -d "$cache/kernel" -S "$version" --show-depends "$module"
done | awk '$1 == "insmod" { print $2 }' | sort -u | while read -r file; do
    to=$root/lib/modules/${file#*/lib/modules/}
    mkdir -p "$(dirname "$to")"; cp "$file" "$to"
done
depmod -b "$root" "$version"
(cd "$root" && find . | cpio -o -H newc --quiet) >initrd

# Programs for the guest, not installed: a second witness (blktrace), and makers of what a
# device may hold, and an udevd, and loads. A test that misses one is skipped.
for tool in blktrace mdadm lvm2 cryptsetup-bin udev libsystemd-shared dbench libpopt0 bonnie++; do
    [ ! -d "$tool" ] || continue
    apt-get -qq download $tool >>download.log 2>&1 && dpkg-deb -x ${tool}_*.deb $tool ||
        echo "no $tool: its tests are skipped"
done
echo "$package" >package
echo "$stamp" >stamp
