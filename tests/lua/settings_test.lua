-- Settings on machines made of plain files: what this one does not have, and what it refuses.
local t = require "check"
local fake = require "fake"
local iolua = require "iolua"

local settings = iolua.settings
local SYS = "/sys/devices/pci0000:00/0000:00:02.0/virtio1/block/vda"
local PCI = "/sys/devices/pci0000:00/0000:00:02.0"

-- A virtio disk with two queues on one vector, and a machine with everything.
local function everything(number)
  local spec = { links = { ["/sys/dev/block/" .. number] = "ROOT" .. SYS }, files = {
    [SYS .. "/dev"] = number,
    [SYS .. "/size"] = "2048",
    [SYS .. "/queue/read_ahead_kb"] = "2560",
    [SYS .. "/queue/scheduler"] = "none",
    [SYS .. "/queue/rq_affinity"] = "1",
    [SYS .. "/queue/nr_requests"] = "256",
    [SYS .. "/queue/write_cache"] = "write back",
    [SYS .. "/mq/0/cpu_list"] = "0, 1",
    [SYS .. "/mq/1/cpu_list"] = "2, 3",
    [PCI .. "/msi_irqs/35"] = "msix",
    [PCI .. "/msi_irqs/36"] = "msix",
    [PCI .. "/msi_irqs/37"] = "msix",
    ["/proc/irq/35/smp_affinity_list"] = "0-3",
    ["/proc/irq/36/smp_affinity_list"] = "0-3",
    ["/proc/irq/36/effective_affinity"] = "00000000,08000000",
    ["/proc/interrupts"] = [[
           CPU0       CPU1       CPU2       CPU3
 35:          0          1          0          0  PCI-MSI 524288-edge      virtio1-config
 36:          0      42068          0          0  PCI-MSI 524289-edge      virtio1-virtqueues
 38:          0          0          0          0  PCI-MSI 524290-edge      virtio2-req.0]],
    ["/sys/devices/system/cpu/cpufreq/policy0/scaling_governor"] = "powersave",
    ["/sys/devices/system/cpu/cpufreq/policy0/energy_performance_preference"] = "balance_power",
    ["/sys/devices/system/cpu/cpufreq/policy1/scaling_governor"] = "schedutil",
    ["/sys/devices/system/cpu/cpufreq/boost"] = "1",
    ["/sys/kernel/mm/transparent_hugepage/enabled"] = "madvise",
    ["/proc/sys/vm/dirty_bytes"] = "0",
    ["/proc/sys/vm/dirty_ratio"] = "20",
    ["/proc/sys/vm/dirty_background_bytes"] = "0",
    ["/proc/sys/vm/dirty_background_ratio"] = "10",
    ["/dev/cpu_dma_latency"] = "",
    ["/sys/fs/cgroup/a/io.max"] = "",
  } }
  return spec
end

local scratch = t.run("mktemp /tmp/iolua-file-XXXXXX"):gsub("\n", "")

local function case(name, fn, change)
  t.case(name, function()
    local spec = everything(fake.device_of(scratch))
    if change then change(spec) end
    local root = fake.tree(spec)
    settings.root = root
    local ok, message = xpcall(fn, function(m)
      return type(m) == "string" and debug.traceback(m) or m
    end, root)
    local report = settings.restore()
    settings.root = ""
    fake.remove(root)
    if not ok then error(message, 0) end
    t.same(report.problems, {})
  end)
end

case("the queue under a file is set and comes back", function(root)
  local taken, notes = assert(settings.set(scratch, { read_ahead_kb = 4096, scheduler = "bfq",
    rq_affinity = 2 }))
  t.same(taken, { read_ahead_kb = 4096, read_ahead_sectors = 8192, scheduler = "bfq",
    rq_affinity = 2 })
  t.same(notes, {})
  t.equal(fake.read(root .. SYS .. "/queue/read_ahead_kb"), "4096")
  assert(settings.set(scratch, { read_ahead_kb = 8 }))
  t.equal(settings.get(scratch).read_ahead_kb, 8)
  t.equal(settings.restore().restored, 3)
  t.equal(fake.read(root .. SYS .. "/queue/read_ahead_kb"), "2560")
  t.equal(fake.read(root .. SYS .. "/queue/scheduler"), "none")
  t.equal(fake.read(root .. SYS .. "/queue/rq_affinity"), "1")
end)

for sectors, kib in pairs { [65536] = 32768, [1024] = 512, [8192] = 4096, [0] = 0 } do
  case(("%d sectors of read-ahead are %d KiB"):format(sectors, kib), function()
    local taken = assert(settings.set(scratch, { read_ahead_sectors = sectors }))
    t.equal(taken.read_ahead_kb, kib)
    t.equal(taken.read_ahead_sectors, sectors)
    local values = settings.get(scratch)
    t.equal(values.read_ahead_kb * 1024, values.read_ahead_sectors * 512)
  end)
end

for text, values in pairs {
  ["unknown setting of a disk \"readahead_kb\"; did you mean \"read_ahead_kb\"?"] =
    { readahead_kb = 4 },
  ["read_ahead_kb = 4.5: it is an integer"] = { read_ahead_kb = 4.5 },
  ["read_ahead_kb = -1: it is 0 to 2147483647"] = { read_ahead_kb = -1 },
  ["nomerges = 3: it is 0 to 2"] = { nomerges = 3 },
  ["scheduler = true: it is a name"] = { scheduler = true },
  ["write_cache = \"back\": it is \"write back\" or \"write through\""] = { write_cache = "back" },
  ["are the same setting: give one"] = { read_ahead_kb = 4, read_ahead_sectors = 8 },
  ["io_max: unknown key \"rpbs\"; did you mean \"rbps\"?"] =
    { io_max = { cgroup = "/x", rpbs = 1 } },
} do
  case("misuse raises: " .. text, function(root)
    t.raises(text, settings.set, scratch, values)
    t.equal(fake.read(root .. SYS .. "/queue/read_ahead_kb"), "2560")
  end)
end

case("an attribute the disk does not have is named", function()
  local taken, message, errno = settings.set(scratch, { nomerges = 2 })
  t.equal(taken, nil)
  t.contains(message, "/queue/nomerges: No such file or directory")
  t.equal(errno, 2)
end)

case("a call that fails half-way changes nothing", function(root)
  t.equal(settings.set(scratch, { scheduler = "bfq", rq_affinity = 2, nomerges = 2 }), nil)
  t.equal(fake.read(root .. SYS .. "/queue/scheduler"), "none")
  t.equal(fake.read(root .. SYS .. "/queue/rq_affinity"), "1")
end)

case("governors of all CPUs, with the preference they rule", function(root)
  local cpufreq = root .. "/sys/devices/system/cpu/cpufreq/"
  t.same(settings.get().governor, { "powersave", "schedutil" })
  local taken = assert(settings.set { governor = "performance", boost = false })
  t.equal(taken.governor, "performance")
  t.equal(taken.boost, false)
  t.equal(settings.get().governor, "performance")
  t.equal(fake.read(cpufreq .. "policy1/scaling_governor"), "performance")
  t.equal(fake.read(cpufreq .. "boost"), "0")
  -- As intel_pstate does behind the governor's back.
  t.run(("echo performance > %spolicy0/energy_performance_preference"):format(cpufreq))
  assert(settings.set { governor = "performance" })
  settings.restore()
  t.equal(fake.read(cpufreq .. "policy0/scaling_governor"), "powersave")
  t.equal(fake.read(cpufreq .. "policy0/energy_performance_preference"), "balance_power")
  t.equal(fake.read(cpufreq .. "policy1/scaling_governor"), "schedutil")
  t.equal(fake.read(cpufreq .. "boost"), "1")
end)

case("no_turbo is boost the other way round", function(root)
  assert(settings.set { boost = false })
  t.equal(fake.read(root .. "/sys/devices/system/cpu/intel_pstate/no_turbo"), "1")
  t.equal(settings.get().boost, false)
end, function(spec)
  spec.files["/sys/devices/system/cpu/intel_pstate/no_turbo"] = "0"
end)

case("a machine without frequency control says so", function()
  t.same({ settings.set { governor = "performance" } },
    { nil, "governor: the kernel does not control the frequency of these CPUs", 2 })
  t.same({ settings.set { boost = true } },
    { nil, "boost: the kernel has no switch for it here", 2 })
end, function(spec)
  for path in pairs(spec.files) do
    if path:find("cpufreq", 1, true) then spec.files[path] = nil end
  end
end)

case("idle states are held by an open file", function(root)
  local taken = assert(settings.set { cpu_latency_us = 20 })
  t.equal(taken.cpu_latency_us, 20)
  t.equal(settings.get().cpu_latency_us, 20)
  local f = io.open(root .. "/dev/cpu_dma_latency", "rb")
  t.equal(f:read("a"):sub(1, 4), ("<i4"):pack(20))
  f:close()
  settings.restore()
  t.equal(settings.get().cpu_latency_us, nil)
end)

case("dirty pages: bytes and ratio exclude each other", function()
  t.raises("dirty_bytes and dirty_ratio exclude each other", settings.set,
    { dirty_bytes = 1, dirty_ratio = 1 })
  t.raises("unknown setting of the machine \"dirty_ration\"; did you mean \"dirty_ratio\"?",
    settings.set, { dirty_ration = 1 })
end)

case("io.max of a cgroup: the line of the disk", function(root)
  local group = root .. "/sys/fs/cgroup/a"
  local number = fake.device_of(scratch)
  local taken = assert(settings.set(scratch, { io_max = { cgroup = group, rbps = "20m",
    wiops = 100 } }))
  t.same(taken.io_max, { rbps = 20971520, wbps = "max", riops = "max", wiops = 100 })
  t.equal(fake.read(group .. "/io.max"), number
    .. " rbps=20971520 wbps=max riops=max wiops=100")
  settings.restore()
  t.equal(fake.read(group .. "/io.max"), number .. " rbps=max wbps=max riops=max wiops=max")
  local no, message = settings.set(scratch, { io_max = { cgroup = root .. "/sys", rbps = 1 } })
  t.equal(no, nil)
  t.contains(message, "the io controller is not enabled there")
end)

case("interrupts by queue and CPU", function()
  local i = assert(settings.irq(scratch))
  t.equal(i.disk, "vda")
  t.equal(#i.vectors, 2)                    -- 37 is used by nobody
  t.equal(i.vectors[1].io, false)
  local v = i.vectors[2]
  t.equal(v.name, "virtio1-virtqueues")
  t.equal(v.io, true)
  t.same(v.cpus, { 0, 1, 2, 3 })
  t.same(v.effective, { 27 })
  t.same(v.counts, { [0] = 0, 42068, 0, 0 })
  t.equal(v.managed, nil)
  t.same(i.queues, { { queue = 0, cpus = { 0, 1 }, irq = 36 },
    { queue = 1, cpus = { 2, 3 }, irq = 36 } })
  t.same(i.notes, {})
end)

case("irqbalance running is a warning", function()
  t.same(assert(settings.irq(scratch)).notes,
    { "irqbalance (pid 812) is running and may move interrupts meanwhile" })
end, function(spec) spec.files["/proc/812/comm"] = "irqbalance" end)

case("debugfs tells a managed interrupt before a try", function()
  t.equal(assert(settings.irq(scratch)).vectors[2].managed, true)
end, function(spec)
  spec.files["/sys/kernel/debug/irq/irqs/36"] = "dstate: 0x1\n  IRQD_AFFINITY_MANAGED"
end)

case("an interrupt moves and comes back", function(root)
  local path = root .. "/proc/irq/36/smp_affinity_list"
  local i = assert(settings.irq(scratch, { cpus = { 1 } }))
  t.equal(i.vectors[2].moved, true)
  t.equal(i.vectors[1].moved, nil)          -- no I/O on it
  t.equal(fake.read(path), "1")
  assert(settings.irq(scratch, { cpus = "2-3", queue = 1 }))
  t.equal(fake.read(path), "2-3")
  settings.restore()
  t.equal(fake.read(path), "0-3")
  t.raises("cpus = 1-x is no set of CPUs", settings.irq, scratch, { cpus = "1-x" })
  t.raises("unknown key \"cpu\"; did you mean \"cpus\"?", settings.irq, scratch, { cpu = 1 })
end)

case("interrupts that arrive are counted", function(root)
  local counted = assert(settings.irq_count(scratch, function()
    t.run(("sed -i 's/42068          0/42070          7/' %s/proc/interrupts"):format(root))
  end))
  t.same(counted[2].counts, { [0] = 0, 2, 7, 0 })
  t.equal(counted[2].irq, 36)
end)

case("an interrupt the kernel keeps is told by its vector", function(root)
  local _, code = t.run(("chattr +i %s/proc/irq/36/smp_affinity_list"):format(root))
  if code ~= 0 then t.skip("no file that refuses writes can be made here") end
  local no, message, errno, i = settings.irq(scratch, { cpus = 1 })
  t.equal(no, nil)
  t.equal(message, "no interrupt of vda was moved (36 virtio1-virtqueues: "
    .. "the kernel keeps this one)")
  t.equal(errno, 1)
  t.equal(i.vectors[2].refused, "the kernel keeps this one")
end)

case("a vector that went away is told", function(root)
  local no, message = settings.irq(scratch, { cpus = 1 })
  t.equal(no, nil)
  t.contains(message, "36 virtio1-virtqueues: this vector went away")
  t.equal(root ~= "", true)
end, function(spec) spec.files["/proc/irq/36/smp_affinity_list"] = nil end)

t.case("masks of any width", function()
  local irq = require "iolua.settings.irq"
  t.same(irq.cpus_of_mask("00000000,08000000"), { 27 })
  t.same(irq.cpus_of_mask("3"), { 0, 1 })
  t.same(irq.cpus_of_mask("80000000,00000000,00000001"), { 0, 95 })
  t.same(irq.cpus_of_mask("00000000"), {})
  t.equal(irq.cpus_of_mask("0-3"), nil)
  t.same(irq.cpus_of_list("0-2,8"), { 0, 1, 2, 8 })
  t.same(irq.cpus_of_list("0, 1"), { 0, 1 })
  t.equal(irq.cpus_of_list("x"), nil)
end)

t.case("an attribute's value goes to no device", function()
  local core = require "iolua.core"
  t.same({ core.attr.write("/dev/null", "1") },
    { nil, "write \"1\" to /dev/null: Invalid argument", 22 })
  t.equal(core.attr.hold("/dev/loop0", 0), nil)
end)

t.case("a virtual disk has no interrupts of its own", function()
  local no, message = settings.irq("/dev/loop0")
  if message and message:find("No such file") then t.skip("no loop device") end
  t.equal(no, nil)
  t.equal(message, "loop0 has no interrupts of its own: it is a virtual device")
end)

t.case("a file that lies on no device is told", function()
  local no, message, errno = settings.set("/proc/self/stat", { read_ahead_kb = 4 })
  t.equal(no, nil)
  t.equal(message, "/proc/self/stat: no block device is known to hold it")
  t.equal(errno, 19)
end)

os.remove(scratch)
t.case("what was set on a disk of ours that goes first is no problem", function()
  local journal = require "iolua.journal"
  local path = os.tmpname()
  do
    local f <close> = assert(io.open(path, "w"))
    f:write("128")
  end
  package.preload["a disk that goes"] = function()
    return { undo = { going = { look = function() return "ours" end,
      undo = function() return os.remove(path) end } } }
  end
  journal.register("going", "a disk that goes")
  local id = assert(journal.add { { kind = "attr", target = path, old = "4096" } })
  journal.note { { id = id, now = "128" } }
  assert(journal.add { { kind = "going", target = path .. " itself", old = "" } })
  local report = journal.restore()
  t.equal(#report.problems, 0, report.problems[1])
  t.equal(io.open(path), nil)
end)

t.done()
