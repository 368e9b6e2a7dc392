-- Interrupts that can be moved and interrupts that the kernel keeps: virtio-blk with one vector
-- for its queues; NVMe with a vector a queue.
-- when: short
-- timeout: 180
-- qemu: -blockdev driver=null-co,node-name=f0,size=268435456,read-zeroes=on
-- qemu: -device virtio-blk-pci,drive=f0,num-queues=2,vectors=2
-- qemu: -blockdev driver=null-co,node-name=f1,size=268435456,read-zeroes=on
-- qemu: -device nvme,drive=f1,serial=iolua
local guest = require "vm.guest"
local t = require "check"

local run = guest.run
local settings = require("iolua").settings

run("modprobe virtio_blk; modprobe nvme")
for _ = 1, 50 do                -- NVMe finds its disk a little later
  if select(2, t.run("test -b /dev/nvme0n1")) == 0 then break end
  run("sleep 0.1")
end

local function read_from(cpu, disk)
  run(("taskset -c %d dd if=%s of=/dev/null bs=4k count=50 iflag=direct status=none"):format(cpu,
    disk))
end

local function only_io(list)
  local found = {}
  for _, v in ipairs(list) do
    if v.io then found[#found + 1] = v end
  end
  return found
end

t.case("the vector that serves two queues is found", function()
  local i = assert(settings.irq("/dev/vda"))
  local io = only_io(i.vectors)
  t.equal(#io, 1)
  t.contains(io[1].name, "-virtqueues")
  t.equal(#i.queues, 2)
  for _, queue in ipairs(i.queues) do t.equal(queue.irq, io[1].irq) end
end)

for cpu = 0, 3 do
  t.case(("moved to CPU %d, interrupts arrive there and nowhere else"):format(cpu), function()
    local i = assert(settings.irq("/dev/vda", { cpus = cpu }))
    t.equal(only_io(i.vectors)[1].moved, true)
    read_from(0, "/dev/vda")    -- it moves at its next interrupt
    local counted = only_io(assert(settings.irq_count("/dev/vda", function()
      for from = 0, 3 do read_from(from, "/dev/vda") end
    end)))
    for other = 0, 3 do
      if other == cpu then
        t.ok(counted[1].counts[other] >= 100, "interrupts arrive")
      else
        t.equal(counted[1].counts[other], 0)
      end
    end
    t.same(only_io(settings.irq("/dev/vda").vectors)[1].effective, { cpu })
  end)
end

t.case("it goes back to where it was", function()
  t.same(settings.restore().problems, {})
  t.same(only_io(settings.irq("/dev/vda").vectors)[1].cpus, { 0, 1, 2, 3 })
end)

t.case("a CPU that is off is no place for an interrupt", function()
  run("echo 0 > /sys/devices/system/cpu/cpu3/online")
  local no, message = settings.irq("/dev/vda", { cpus = 3 })
  run("echo 1 > /sys/devices/system/cpu/cpu3/online")
  t.equal(no, nil)
  t.contains(message, "none of these CPUs is online")
  settings.restore()
end)

t.case("NVMe has a vector a queue, each with its CPUs", function()
  local i = assert(settings.irq("/dev/nvme0n1"))
  local io = only_io(i.vectors)
  t.equal(#io, #i.queues)
  for n, queue in ipairs(i.queues) do
    t.equal(queue.irq, io[n].irq)
    local counted = only_io(assert(settings.irq_count("/dev/nvme0n1", function()
      read_from(queue.cpus[1], "/dev/nvme0n1")
    end)))
    local total = 0
    for _, count in pairs(counted[n].counts) do total = total + count end
    t.ok(total >= 25, "they arrive on the queue's vector")
  end
end)

t.case("vectors that the kernel keeps are told one by one", function()
  local no, message, errno, i = settings.irq("/dev/nvme0n1", { cpus = 1 })
  t.equal(no, nil)
  t.equal(errno, 5)
  t.contains(message, "nvme0q1: the kernel keeps this one")
  for _, v in ipairs(only_io(i.vectors)) do
    t.equal(v.refused, "the kernel keeps this one")
    t.equal(v.managed, true)
  end
  t.same(settings.restore().problems, {})
end)

t.done()
