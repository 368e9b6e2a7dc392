-- Read-ahead on a real device-mapper, on md and LVM and through a filesystem: whose value counts,
-- that it takes effect, and that what is there is only read. By bytes, never by times.
-- timeout: 400
local guest = require "vm.guest"
local t = require "check"
local iolua = require "iolua"
local core = require "iolua.core"
local buffered = require "iolua.job.buffered"

local run, need = guest.run, guest.need

local TOOLS = os.getenv("VM_CACHE")
local LVM = TOOLS .. "/lvm2/sbin/lvm "
local MDADM = TOOLS .. "/mdadm/sbin/mdadm "
local SCENARIO = os.getenv("IOLUA") .. " scenarios/readahead_compare.lua "
local MB = 1 << 20

assert(os.execute("modprobe dm-mod && modprobe loop && modprobe md-mod && modprobe raid0"))
assert(os.execute("modprobe ext4"))

local function loop(name)
  run(("dd if=/dev/urandom of=/tmp/%s bs=1M count=20 status=none"):format(name))
  return run("losetup -f --show /tmp/" .. name)
end

local disks = {}
for i = 1, 4 do disks[i] = loop("disk" .. i) end

-- All attributes of queues that can be told, and what the volumes are.
local function state(paths)
  local text = t.run("ls /dev/mapper; losetup -a; cat /proc/mounts /sys/fs/cgroup/cgroup.*_control "
    .. "/proc/self/cgroup; ls -d /sys/fs/cgroup/*/")
  for _, path in ipairs(paths) do
    text = text .. iolua.show(iolua.settings.get(path))
  end
  return text
end

-- Run it on what is there: nothing is changed, settings and data.
local function unchanged(words, paths)
  local before, sums = state(paths), run("cat " .. table.concat(paths, " ") .. " | md5sum")
  local out, status = t.run(SCENARIO .. words)
  t.equal(status, 0, out)
  print(out)
  t.equal(state(paths), before)
  t.equal(run("cat " .. table.concat(paths, " ") .. " | md5sum"), sums)
  return out
end

local function check_control(out)
  t.contains(out, "the volume's own value counts; that of its members does nothing")
  local line = out:match("\n128k +(%S+ +%S+)\n")
  local small = { line:match("(%S+) +(%S+)") }
  local large = { out:match("\n8m +(%S+) +(%S+)\n") }
  for i = 1, 2 do
    t.ok(tonumber(small[i]) <= 512, "KiB ahead at 128k: " .. small[i])
    t.ok(tonumber(large[i]) >= 1024, "KiB ahead at 8m: " .. large[i])
  end
end

t.case("without arguments it measures a kernel's volume, and leaves nothing", function()
  local before = state {}
  local out, status = t.run("time -p " .. SCENARIO)
  print(out)
  t.equal(status, 0)
  t.equal(state {}, before)
  t.contains(out, "device-mapper stripe over 2 disks")
  t.contains(out, "in KiB                  0           128          4096")
  t.contains(out, "in sectors              0           256          8192")
  check_control(out)
  for _, layer in ipairs { "device", "volume" } do
    local verdicts = out:match(layer .. ": the value to take\n(.-)\n\n")
    t.contains(verdicts, "random       equivalent: every value reads 1.0")
    t.contains(verdicts, "extents      loses from 128k on")
    t.contains(verdicts, "mmap         loses from 128k on")
  end
  t.contains(out, "5 copies of bonnie's tests in step, each on a kernel's volume of its own")
  local _, none = out:match("\n0 +(%S+) +(%S+) +%S+\n")
  t.ok(tonumber(none) < 1.5, none)
end)

t.case("a volume and the device under it, both there already", function()
  local v <close> = assert(iolua.dm.create { name = "there", table = {
    ("0 %d striped 2 128 %s 0 %s 0"):format(2 * 20 * MB // 512, disks[1], disks[2]) } })
  local out = unchanged(("--device %s --volume %s --replicates 1 --span 16m --values 0,128k,4m "
    .. "--patterns sequential,random,mmap --views values,legs"):format(disks[1], v.path),
    { v.path, disks[1], disks[2] })
  check_control(out)
  t.contains(out, "in sectors              0           256          8192")
  t.equal(v.name, "there")
end)

t.case("a file of a filesystem on a volume", function()
  local v <close> = assert(iolua.dm.create { name = "fs", table = {
    ("0 %d linear %s 0"):format(20 * MB // 512, disks[3]) } })
  run("mkfs.ext4 -q -F " .. v.path)
  run("mkdir -p /tmp/fs && mount " .. v.path .. " /tmp/fs")
  run("dd if=/dev/urandom of=/tmp/fs/file bs=1M count=12 status=none; sync")
  local out = unchanged("--volume /tmp/fs/file --replicates 1 --span 8m --values 0,4m "
    .. "--patterns sequential,mmap --views values,legs", { "/tmp/fs/file" })
  run("umount /tmp/fs")
  check_control(out)
  t.contains(out, "mmap         loses from 4m on")
end)

t.case("a stripe of md", function()
  need(MDADM)
  run(MDADM .. "--create /dev/md0 --level=0 --raid-devices=2 --chunk=64 --run "
    .. disks[1] .. " " .. disks[2])
  check_control(unchanged("--volume /dev/md0 --replicates 1 --span 16m --views legs",
    { "/dev/md0" }))
  run(MDADM .. "--stop /dev/md0")
end)

t.case("a logical volume of LVM", function()
  need(LVM)
  run("mkdir -p /etc/lvm")
  run(LVM .. "pvcreate -y -ff " .. disks[4])
  run(LVM .. "vgcreate vg0 " .. disks[4])
  run(LVM .. "lvcreate -an -Zn -y -n lv0 -l 100%FREE vg0")
  run(LVM .. "lvchange -ay vg0/lv0")
  check_control(unchanged("--volume /dev/mapper/vg0-lv0 --replicates 1 --span 8m --views legs",
    { "/dev/mapper/vg0-lv0" }))
  run(LVM .. "lvchange -an vg0/lv0")
end)

-- Bytes in the cache after 1 MiB was read in order of a volume that was open when it was set.
local function cached_after(path, opened_kb, set_kb)
  assert(iolua.settings.set(path, { read_ahead_kb = opened_kb }))
  local f <close> = assert(iolua.open(path))
  assert(iolua.settings.set(f, { read_ahead_kb = set_kb }))
  assert(buffered.drop(f))
  assert(iolua.job { target = f, rw = "read", bs = "16k", size = "1m", engine = "sync" })
  return assert(core.cache.resident(f))
end

t.case("a value set on an open volume takes effect on it", function()
  local v <close> = assert(iolua.volume.stripe { members = { loop("a"), loop("b") },
    chunk = "64k" })
  t.equal(v.backend, "dm")
  local small, large = cached_after(v.path, 4096, 128), cached_after(v.path, 128, 4096)
  t.ok(small <= MB + 2 * 131072, ("%d bytes cached at 128 KiB"):format(small))
  t.ok(large >= 2 * MB, ("%d bytes cached at 4096 KiB"):format(large))
  iolua.settings.restore()
end)

t.case("memory is bounded by a group of version 2, beside ours", function()
  local f <close> = assert(iolua.open(disks[1]))
  local b <close> = assert(iolua.memory.bound("8m"))
  t.equal(b.version, 2)
  assert(iolua.job { target = f, rw = "read", bs = "64k", drop_cache = "drop_caches" })
  t.ok(assert(core.cache.resident(f)) <= 8 * MB)
  local again = assert(iolua.job { target = f, rw = "read", bs = "64k" })
  t.ok(again.buffered.refaults > 1000, again.buffered.refaults)
  t.ok(again.buffered.amplification > 0.5, again.buffered.amplification)
end)

t.done()
