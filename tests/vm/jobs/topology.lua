-- Two packages with SMT, two nodes, a disk behind a bridge of node 1, a CPU taken offline: what
-- iolua.topo says of them, and where threads and memory really go.
-- when: short
-- timeout: 180
-- cpu: max,vendor=GenuineIntel
-- smp: 4,sockets=2,cores=1,threads=2
-- qemu: -device pxb-pcie,id=far,bus_nr=64,numa_node=1,bus=pcie.0
-- qemu: -device pcie-root-port,id=farport,bus=far,chassis=7
-- qemu: -blockdev driver=null-co,node-name=f0,size=268435456,read-zeroes=on
-- qemu: -device virtio-blk-pci,drive=f0,bus=farport
-- qemu: -blockdev driver=null-co,node-name=f1,size=268435456,read-zeroes=on
-- qemu: -device virtio-blk-pci,drive=f1,bus=pcie.0
local guest = require "vm.guest"
local t = require "check"
local iolua = require "iolua"

local run = guest.run

run("modprobe virtio_blk && modprobe dm-mod")
-- The disk whose path in sysfs goes through the bridge's bus 64 (0x40) is the far one.
local far, plain
for name in run("ls /sys/block"):gmatch("vd%a") do
  if run("readlink -f /sys/block/" .. name):find("pci0000:40", 1, true) then
    far = "/dev/" .. name
  else
    plain = "/dev/" .. name
  end
end

local topo = iolua.topo()

t.case("cores, packages and nodes are those the emulator was given", function()
  t.equal(topo:count("package"), 2)
  t.equal(topo:count("core"), 2)
  t.equal(topo:count("numanode"), 2)
  t.equal(topo:relation(0, 1), "smt")
  t.equal(topo:relation(0, 2), "machine")
  t.equal(topo:nearest(2), 3)
  t.equal(topo:farthest(0), 2)
  t.equal(topo:farthest(3), 0)
  local nodes = topo:nodes()
  t.equal(tostring(nodes[2].cpus), "2-3")
  t.ok(nodes[2].bytes > 256 << 20, "memory of node 1")
end)

t.case("a disk is near its bridge's node; a volume is near its disk", function()
  local cpus, node = topo:near(far)
  t.equal(tostring(cpus), "2-3")
  t.equal(node, 1)
  run(("echo '0 2048 linear %s 0' | dmsetup create far"):format(far))
  cpus, node = topo:near("/dev/mapper/far")
  t.equal(tostring(cpus), "2-3")
  t.equal(node, 1)
  run(("echo '0 2048 linear %s 0\n2048 2048 linear %s 0' | dmsetup create both")
    :format(far, plain))
  cpus, node = topo:near("/dev/mapper/both")
  t.equal(tostring(cpus), "0-3")
  t.equal(node, nil)
  run("dmsetup remove both && dmsetup remove far")
end)

t.case("a disk of a bus without a node is near every CPU", function()
  local cpus, node = topo:near(plain)
  t.equal(tostring(cpus), "0-3")
  t.equal(node, nil)
end)

t.case("nothing allowed near a disk is an outcome with its own name", function()
  local script = ("local cpus, message, outcome, near = require('iolua').topo():near(%q) " ..
    "print(cpus, message, outcome, near)"):format(far)
  t.equal(run(("taskset -c 0-1 %s -e %q"):format(os.getenv "IOLUA", script)),
    ("nil\tnear %s: none of its CPUs 2-3 is allowed here; allowed: 0-1\tnone allowed\t2-3")
      :format(far))
end)

-- Pages by node of the one mapping that has a policy.
local function bound()
  for line in io.lines("/proc/self/numa_maps") do
    local node = line:match(" bind:(%d+)")
    if node then return node, line:match("N1=(%d+)") end
  end
end

t.case("memory goes to the node it is bound to, also pages that exist", function()
  assert(iolua.pin(0))
  local buf <close> = iolua.buffer(64 << 12)
  buf:fill { byte = 0 }
  assert(topo:bind(buf, 1))
  local node, pages = bound()
  t.equal(node, "1")
  if pages then t.equal(tonumber(pages), 64) end
  t.equal(select(2, topo:bind(buf, 2)), "memory on node 2: No such device")
  assert(iolua.pin(topo:allowed()))
end)

t.case("an offline CPU is refused by name, and is there again when it is back", function()
  run("echo 0 > /sys/devices/system/cpu/cpu3/online")
  local ok, message = iolua.pin("2-3")
  local seen = tostring(iolua.topo():cpus())
  local first = select(2, pcall(tostring, ~iolua.cpuset "0"))
  run("echo 1 > /sys/devices/system/cpu/cpu3/online")
  t.equal(ok, nil)
  t.equal(message, "CPU 3: offline; online: 0-2")
  t.equal(seen, "0-2")
  t.equal(first, "1-2")
  t.equal(iolua.pin(3), true)
  t.equal(run("taskset -cp $PPID"):match("list: (.*)$"), "3")
  assert(iolua.pin(topo:allowed()))
end)

t.done()
