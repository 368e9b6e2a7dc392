-- Where completions land, by rq_affinity, on a disk whose one interrupt is on CPU 1: what
-- Linux documents for queue/rq_affinity, seen through iolua.trace.
-- when: short
-- timeout: 180
-- qemu: -blockdev driver=null-co,node-name=f0,size=268435456,read-zeroes=on
-- qemu: -device virtio-blk-pci,drive=f0,num-queues=2,vectors=2
local guest = require "vm.guest"
local t = require "check"

local run = guest.run
local trace = require("iolua").trace

run("modprobe virtio_blk")
local DISK, QUEUE = "/dev/vda", "/sys/block/vda/queue/"
-- The vector that serves the request queues; the other one is for changes of the device.
local VECTOR = tonumber(run(
  "sed -n 's/^ *\\([0-9]*\\):.*virtio[0-9]*-virtqueues$/\\1/p' /proc/interrupts"))
local READS = 200

local function read_from(cpu)
  run(("taskset -c %d dd if=%s of=/dev/null bs=4k count=%d iflag=direct status=none")
    :format(cpu, DISK, READS))
end

local function set(value)
  local file = assert(io.open(QUEUE .. "rq_affinity", "w"))
  file:write(value)
  file:close()
  t.equal(run("cat " .. QUEUE .. "rq_affinity"), tostring(value))
end

-- By value and submitter: the CPU that completes. CPUs 0 and 1 share a cache, 2 and 3 do.
local WANT = {
  [0] = { [0] = 1, [1] = 1, [2] = 1, [3] = 1 },
  [1] = { [0] = 1, [1] = 1, [3] = 3 },
  [2] = { [0] = 0, [1] = 1, [2] = 2, [3] = 3 },
}

t.ok(VECTOR, "a vector")
run(("echo 1 > /proc/irq/%d/smp_affinity_list"):format(VECTOR))
read_from(0)                    -- it moves at its next interrupt
t.equal(run(("cat /proc/irq/%d/effective_affinity_list"):format(VECTOR)), "1")
local counter <close> = assert(trace.counter(DISK, { irq = { VECTOR } }))

for value = 0, 2 do
  for submitter = 0, 3 do
    local want = WANT[value][submitter]
    if want then
      t.case(("rq_affinity %d, submitter %d: completed on CPU %d"):format(value, submitter, want),
        function()
          set(value)
          local n = counter:count(function() read_from(submitter) end)
          t.equal(n.queue[submitter], READS, "queued on the submitter")
          t.equal(n.total.queue, READS, "queued")
          t.equal(n.total.complete, READS, "completed")
          t.equal(n.complete[want], READS, "completed on CPU " .. want)
          t.ok(n.irq[VECTOR][1] > 0, "interrupts on CPU 1")
          t.equal(n.irq.total[VECTOR], n.irq[VECTOR][1], "interrupts")
        end)
    end
  end
end

t.done()
