-- Interrupt counters on vectors that move and vectors that stay: what iolua.settings.irq says must
-- be what /proc/interrupts and iolua.trace then show.
-- timeout: 180
-- qemu: -blockdev driver=null-co,node-name=f0,size=67108864,read-zeroes=on
-- qemu: -device virtio-blk-pci,drive=f0,num-queues=2,vectors=2
-- qemu: -blockdev driver=null-co,node-name=f1,size=67108864,read-zeroes=on
-- qemu: -device virtio-blk-pci,drive=f1,num-queues=4
-- qemu: -blockdev driver=null-co,node-name=f2,size=67108864,read-zeroes=on
-- qemu: -device nvme,drive=f2,serial=iolua
local guest = require "vm.guest"
local t = require "check"
local iolua = require "iolua"

local run = guest.run
local settings, trace = iolua.settings, iolua.trace

local function read_from(disk, cpu, count)
  run(("taskset -c %d dd if=%s of=/dev/null bs=4k count=%d iflag=direct status=none")
    :format(cpu, disk, count))
end

-- Counts of one vector by CPU, as the kernel prints them.
local function proc(vector)
  local counts, cpu = {}, 0
  for n in run(("sed -n 's/^ *%d://p' /proc/interrupts"):format(vector)):gmatch("%s(%d+)%f[%s]") do
    if cpu < 4 then counts[cpu] = tonumber(n) end
    cpu = cpu + 1
  end
  return counts
end

local function io_vectors(disk)
  local list = {}
  for _, vector in ipairs(assert(settings.irq(disk)).vectors) do
    if vector.io then list[#list + 1] = vector end
  end
  return list
end

run("modprobe virtio_blk; modprobe nvme; for i in 1 2 3 4 5 6 7 8 9; do " ..
  "[ -b /dev/nvme0n1 ] && break; sleep 0.3; done")

t.case("an interrupt of virtio moves, is seen there, and goes back", function()
  local vectors = io_vectors("/dev/vda")
  t.equal(#vectors, 1)
  local v = vectors[1]
  local path = ("/proc/irq/%d/smp_affinity_list"):format(v.irq)
  local old = run("cat " .. path)
  for _, cpu in ipairs { 2, 1, 3, 0 } do
    local moved = assert(settings.irq("/dev/vda", { cpus = tostring(cpu) }))
    local found
    for _, each in ipairs(moved.vectors) do found = each.irq == v.irq and each or found end
    t.equal(found.moved, true)
    t.equal(run("cat " .. path), tostring(cpu))
    read_from("/dev/vda", 0, 10)                -- it moves at its next interrupt
    local before = proc(v.irq)
    local n = assert(trace.count("/dev/vda", function() read_from("/dev/vda", 0, 100) end,
      { irq = true }))
    local after = proc(v.irq)
    for each = 0, 3 do
      t.equal(n.irq[v.irq][each], after[each] - before[each], "interrupts on CPU " .. each)
    end
    t.ok(n.irq[v.irq][cpu] >= 100, "they come in on CPU " .. cpu)
    t.equal(n.irq.total[v.irq], n.irq[v.irq][cpu], "and nowhere else")
  end
  local report = settings.restore()
  t.equal(#report.problems, 0)
  t.equal(run("cat " .. path), old)
end)

t.case("irq_count sees the same vector", function()
  local v = io_vectors("/dev/vda")[1]
  local counts = assert(settings.irq_count("/dev/vda", function()
    read_from("/dev/vda", 1, 50)
  end))
  for _, each in ipairs(counts) do
    if each.irq == v.irq then
      local total = 0
      for _, n in pairs(each.counts) do total = total + n end
      t.ok(total >= 50)
    end
  end
end)

-- A disk whose vectors the kernel has placed, a queue each: every one is refused by name.
local function kept(disk)
  local vectors = io_vectors(disk)
  t.equal(#vectors, 4, "vectors that carry I/O")
  local before = {}
  for _, v in ipairs(vectors) do
    before[v.irq] = run(("cat /proc/irq/%d/smp_affinity"):format(v.irq))
  end
  local result, message, errno, detail = settings.irq(disk, { cpus = "1" })
  t.equal(result, nil)
  t.contains(message, "the kernel keeps this one")
  t.ok(errno == 1 or errno == 5, "EPERM or EIO")
  t.ok(detail, "detail")
  for _, v in ipairs(detail.vectors) do
    if v.io then t.equal(v.refused, "the kernel keeps this one", v.name) end
  end
  for _, v in ipairs(vectors) do
    t.equal(run(("cat /proc/irq/%d/smp_affinity"):format(v.irq)), before[v.irq])
  end
end

-- Their interrupts follow the submitter: the vector of the queue of that CPU fires there.
local function follows(disk)
  for cpu = 0, 3 do
    local n = assert(trace.count(disk, function() read_from(disk, cpu, 60) end, { irq = true }))
    t.equal(n.queue[cpu], 60)
    t.equal(n.complete[cpu], 60, "completed on the submitter")
    local here = 0
    for vector, counts in pairs(n.irq) do
      if vector ~= "total" then here = here + counts[cpu] end
    end
    t.ok(here >= 30, ("interrupts on CPU %d: %d"):format(cpu, here))
  end
end

t.case("virtio with a vector a queue is kept by the kernel", function() kept("/dev/vdb") end)
t.case("and its interrupts follow the submitter", function() follows("/dev/vdb") end)
t.case("NVMe is kept by the kernel", function()
  if not io.open("/dev/nvme0n1") then t.skip("no NVMe in this emulator") end
  kept("/dev/nvme0n1")
end)
t.case("and its interrupts follow the submitter too", function()
  if not io.open("/dev/nvme0n1") then t.skip("no NVMe in this emulator") end
  follows("/dev/nvme0n1")
end)
t.case("--doctor tells the one from the others", function()
  local found = {}
  for _, finding in ipairs(iolua.doctor.read()) do
    if finding.area == "interrupts" then found[finding.name] = finding end
  end
  t.equal(found.vda.state, "ok")
  t.contains(found.vda.detail, "vectors: 1 on CPU")
  t.ok(found.vdb, "vdb is there")
end)

t.done()
