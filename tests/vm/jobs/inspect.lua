-- iolua.volume.inspect on md, LVM and partitions: what is written to a sector of the volume is
-- found on the disk where inspect says.
-- timeout: 180
local guest = require "vm.guest"
local t = require "check"
local iolua = require "iolua"

local run, need = guest.run, guest.need

local TOOLS = os.getenv("VM_CACHE")
local LVM = TOOLS .. "/lvm2/sbin/lvm "
local MDADM = TOOLS .. "/mdadm/sbin/mdadm "
local MB = 1 << 20

assert(os.execute("modprobe dm-mod && modprobe loop && modprobe md-mod && modprobe raid0"))

local disks = {}
for i = 1, 4 do
  run(("truncate -s %d /tmp/disk%d"):format(32 * MB, i))
  disks[i] = run("losetup -fP --show /tmp/disk" .. i)
end

-- Random sectors through the volume, looked for on the device that inspect ends at.
local function follow(path, depth)
  local node = assert(iolua.volume.inspect(path))
  local sectors = node.size // 512
  for i = 1, 12 do
    local sector = math.random(0, sectors - 1)
    run(("dd if=/dev/urandom of=/tmp/mark bs=512 count=1 status=none; "
      .. "dd if=/tmp/mark of=%s bs=512 seek=%d count=1 conv=fsync,notrunc status=none"):format(
      path, sector))
    local steps = node:map(sector)
    t.equal(#steps, depth, "steps down from sector " .. sector)
    local last = steps[#steps]
    run("echo 1 >/proc/sys/vm/drop_caches")
    run(("dd if=/dev/%s of=/tmp/found bs=512 skip=%d count=1 status=none iflag=direct"):format(
      last.name, last.sector))
    t.equal(select(2, t.run("cmp /tmp/mark /tmp/found")), 0, "write " .. i)
  end
  return node
end

t.case("a partition", function()
  run(("addpart %s 1 2048 16384"):format(disks[4]))
  local node = follow(disks[4] .. "p1", 2)
  t.equal(node.kind, "partition")
  t.equal(node.legs[1].offset, MB)
end)

t.case("a stripe of md", function()
  need(MDADM)
  run(MDADM .. "--create /dev/md0 --level=0 --raid-devices=3 --chunk=64 --run "
    .. table.concat(disks, " ", 1, 3))
  local node = follow("/dev/md0", 2)
  t.equal(node.kind, "stripe")
  t.equal(node.chunk, 65536)
  t.equal(#node.legs, 3)
  t.contains(tostring(node), "/dev/md0: raid0, ")
  run(MDADM .. "--stop /dev/md0")
  run(MDADM .. "--zero-superblock " .. table.concat(disks, " ", 1, 3))
end)

t.case("a striped logical volume over two disks", function()
  need(LVM)
  run("mkdir -p /etc/lvm")
  local devices = table.concat(disks, " ", 1, 2)
  run(LVM .. "pvcreate -q -ff -y " .. devices)
  run(LVM .. "vgcreate -q -s 1m vg " .. devices)
  run(LVM .. "lvcreate -q -y -an -Zn -i 2 -I 32k -L 16m -n striped vg")
  run(LVM .. "lvchange -q -ay vg/striped")
  local node = follow("/dev/mapper/vg-striped", 2)
  t.equal(node.kind, "stripe")
  t.equal(node.lvm, true)
  t.equal(node.chunk, 32768)
  t.equal(node.volume, "vg-striped")
  run(LVM .. "vgremove -q -ff -y vg")
end)

t.done()
