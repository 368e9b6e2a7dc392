--- The machine as it is, for the record of a result: what a reader needs to judge it.
--
-- env.read() reads /proc, /sys and /etc with io.open only and changes nothing. What could
-- not be read is listed with the reason; nothing is made up for it. env.sample() takes what
-- drifts while a run lasts, env.between() says how far it did.
local env = {}

local Reader = {}
Reader.__index = Reader

-- The text of a file without its last newline; nil where it cannot be read, and noted.
function Reader:text(path)
  local file, why = io.open(self.root .. path, "r")
  local text = nil
  if file then
    text, why = file:read("a")
    file:close()
  end
  if text then return (text:gsub("%s+$", "")) end
  if not self.noted[path] then
    self.noted[path] = true
    local reason = tostring(why):gsub("^.*: ", "")
    self.missing[#self.missing + 1] = { path = path, reason = reason }
  end
  return nil
end

function Reader:number(path) return tonumber(self:text(path)) end

-- The first of several places that can be read; only when none can is one noted.
function Reader:first(...)
  local paths = { ... }
  for i = 1, #paths do
    local file = io.open(self.root .. paths[i], "r")
    if file then
      file:close()
      return self:text(paths[i])
    end
  end
  return self:text(paths[1])
end

local function reader(root)
  return setmetatable({ root = root or "", missing = {}, noted = {} }, Reader)
end

-- The numbers of a kernel list such as "0-3,8".
local function numbers(list)
  local found = {}
  for first, last in (list or ""):gmatch("(%d+)%-?(%d*)") do
    for n = tonumber(first), tonumber(last) or tonumber(first) do found[#found + 1] = n end
  end
  return found
end

-- The word in brackets of a choice such as "always [madvise] never".
local function chosen(text) return text and (text:match("%[(.-)%]") or text) end

local function known(text) return text ~= "" and text or nil end

-- Kernel parameters that change I/O or timing. The rest of the command line is nobody's
-- business and may hold secrets.
local PARAMETERS = {
  "mitigations", "isolcpus", "nohz", "nohz_full", "rcu_nocbs", "irqaffinity", "threadirqs",
  "idle", "processor%..*", "intel_idle%..*", "cpuidle.*", "haltpoll.*", "intel_pstate",
  "amd_pstate", "nosmt", "maxcpus", "tsc", "clocksource", "preempt", "pti", "nopti",
  "spec.*", "spectre.*", "iommu.*", "intel_iommu", "amd_iommu", "swiotlb", "pci",
  "pcie_aspm.*", "nvme.*", "scsi_mod%..*", "dm_mod%..*", "dm_mirror%..*", "elevator", "mem",
  "hugepages", "default_hugepagesz", "hugepagesz", "transparent_hugepage", "numa.*",
  "noirqbalance", "psi", "io_uring.*", "blk.*",
}

local function parameters(command_line)
  local kept = {}
  for word in (command_line or ""):gmatch("%S+") do
    local name = word:match("^[^=]+")
    for _, pattern in ipairs(PARAMETERS) do
      if name:match("^" .. pattern .. "$") then
        kept[#kept + 1] = word
        break
      end
    end
  end
  return table.concat(kept, " ")
end

local function kernel(r)
  return {
    release = r:text("/proc/sys/kernel/osrelease"),
    version = r:text("/proc/sys/kernel/version"),
    parameters = parameters(r:text("/proc/cmdline")),
    io_uring_disabled = r:number("/proc/sys/kernel/io_uring_disabled"),
    perf_event_paranoid = r:number("/proc/sys/kernel/perf_event_paranoid"),
  }
end

-- One text for all CPUs, or a table by CPU number where they differ.
local function per_cpu(r, cpus, file)
  local values, first, same = {}, nil, true
  for _, cpu in ipairs(cpus) do
    local value = r:text(("/sys/devices/system/cpu/cpu%d/cpufreq/%s"):format(cpu, file))
    if value == nil then return nil end
    first = first or value
    same = same and value == first
    values[cpu] = value
  end
  return same and first or values
end

local function cpu(r)
  local info = r:text("/proc/cpuinfo") or ""
  local function field(name) return info:match(name .. "%s*: ([^\n]*)") end
  local online = r:text("/sys/devices/system/cpu/online")
  local cpus = numbers(online)
  local no_turbo = io.open(r.root .. "/sys/devices/system/cpu/intel_pstate/no_turbo")
  if no_turbo then no_turbo:close() end
  return {
    model = field("model name"), vendor = field("vendor_id"), microcode = field("microcode"),
    hypervisor = info:find("%shypervisor%s") ~= nil,
    online = online, count = online and #cpus or nil,
    isolated = known(r:text("/sys/devices/system/cpu/isolated")),
    smt = r:text("/sys/devices/system/cpu/smt/control"),
    governor = per_cpu(r, cpus, "scaling_governor"),
    frequency_driver = per_cpu(r, cpus, "scaling_driver"),
    max_khz = per_cpu(r, cpus, "scaling_max_freq"),
    no_turbo = no_turbo and r:number("/sys/devices/system/cpu/intel_pstate/no_turbo") or nil,
    clocksource = r:text("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
  }
end

local function memory(r)
  local info = r:text("/proc/meminfo") or ""
  local function bytes(name)
    local kib = info:match("%f[%w]" .. name .. ":%s*(%d+) kB")
    return kib and tonumber(kib) * 1024
  end
  return {
    total_bytes = bytes("MemTotal"), available_bytes = bytes("MemAvailable"),
    swap_bytes = bytes("SwapTotal"), swappiness = r:number("/proc/sys/vm/swappiness"),
    transparent_hugepage = chosen(r:text("/sys/kernel/mm/transparent_hugepage/enabled")),
    dirty_ratio = r:number("/proc/sys/vm/dirty_ratio"),
    dirty_background_ratio = r:number("/proc/sys/vm/dirty_background_ratio"),
    nodes = r:text("/sys/devices/system/node/online"),
  }
end

-- The names cannot be listed with io.open. Of these a kernel has those of its age.
local VULNERABILITIES = {
  "gather_data_sampling", "indirect_target_selection", "itlb_multihit", "l1tf", "mds",
  "meltdown", "mmio_stale_data", "reg_file_data_sampling", "retbleed", "spec_rstack_overflow",
  "spec_store_bypass", "spectre_v1", "spectre_v2", "srbds", "tsa", "tsx_async_abort", "vmscape",
}

local function mitigations(r)
  local found = {}
  for _, name in ipairs(VULNERABILITIES) do
    local path = "/sys/devices/system/cpu/vulnerabilities/" .. name
    local file = io.open(r.root .. path, "r")
    if file then
      file:close()
      found[name] = r:text(path)
    end
  end
  if not next(found) then r:text("/sys/devices/system/cpu/vulnerabilities/spectre_v2") end
  return found
end

-- Where this process is: path by controller; "" is the unified hierarchy (version 2).
local function cgroup_paths(r)
  local paths = {}
  for controllers, path in (r:text("/proc/self/cgroup") or ""):gmatch("%d+:([^:\n]*):([^\n]*)") do
    if controllers == "" then paths[""] = path end
    for name in controllers:gmatch("[^,]+") do paths[name] = path end
  end
  return paths
end

-- path and all that is above it, innermost first: "/a/b", "/a", "".
local function upwards(path)
  local all = {}
  path = path:gsub("/$", "")
  while path ~= "" do
    all[#all + 1] = path
    path = path:gsub("/[^/]*$", "")
  end
  all[#all + 1] = ""
  return all
end

-- The innermost limit set in a hierarchy; `none` is how the file says there is none.
local function limit(r, base, path, file, none)
  for _, group in ipairs(upwards(path)) do
    local handle = io.open(r.root .. base .. group .. "/" .. file, "r")
    local text = handle and handle:read("a"):gsub("%s+$", "")
    if handle then handle:close() end
    if text and text ~= "" and not text:find(none) then return text, group end
  end
end

local function cgroup(r)
  local paths, base = cgroup_paths(r), "/sys/fs/cgroup"
  local found = { path = paths[""] }
  local function v1(controller, file, none)
    if not paths[controller] then return nil end
    return (limit(r, base .. "/" .. controller, paths[controller], file, none))
  end
  if paths.cpu or paths.memory or paths.blkio then
    found.version = 1
    found.cpu_quota_us = tonumber(v1("cpu", "cpu.cfs_quota_us", "^%-1"))
    found.cpu_period_us = found.cpu_quota_us and tonumber(v1("cpu", "cpu.cfs_period_us", "^$"))
    -- No limit is the largest number of whole pages.
    found.memory_bytes = tonumber(v1("memory", "memory.limit_in_bytes", "^9223372036854"))
    found.cpus = v1("cpuset", "cpuset.cpus", "^$")
    found.read_bps = v1("blkio", "blkio.throttle.read_bps_device", "^$")
    found.write_bps = v1("blkio", "blkio.throttle.write_bps_device", "^$")
  elseif paths[""] then
    found.version = 2
    local cpu_max = limit(r, base, paths[""], "cpu.max", "^max")
    if cpu_max then
      found.cpu_quota_us = tonumber(cpu_max:match("^%d+"))
      found.cpu_period_us = tonumber(cpu_max:match("(%d+)$"))
    end
    found.memory_bytes = tonumber((limit(r, base, paths[""], "memory.max", "^max")))
    found.cpus = limit(r, base, paths[""], "cpuset.cpus.effective", "^$")
    found.io_max = limit(r, base, paths[""], "io.max", "^$")
  end
  return found
end

local function process(r)
  local limits, status = r:text("/proc/self/limits") or "", r:text("/proc/self/status") or ""
  local locked = limits:match("Max locked memory%s+(%S+)")
  return {
    locked_memory_bytes = tonumber(locked), locked_memory = locked,
    open_files = tonumber(limits:match("Max open files%s+(%S+)")),
    cpus_allowed = status:match("Cpus_allowed_list:%s*(%S+)"),
    seccomp = tonumber(status:match("\nSeccomp:%s*(%d+)")),
    uid = tonumber(status:match("\nUid:%s*%d+%s+(%d+)")),
  }
end

--- Everything about this machine that a result should carry.
---@param options? { root: string }  root is put before every path, for tests
---@return table environment  with `unreadable`, an array of { path =, reason = }
function env.read(options)
  if options ~= nil and type(options) ~= "table" then
    error(("env.read: options must be a table, not %s"):format(type(options)), 2)
  end
  local r = reader(options and options.root)
  local release = r:first("/etc/os-release", "/usr/lib/os-release") or ""
  local found = {
    host = r:text("/proc/sys/kernel/hostname"),
    os = release:match('PRETTY_NAME="?([^"\n]*)'),
    kernel = kernel(r), cpu = cpu(r), memory = memory(r), mitigations = mitigations(r),
    cgroup = cgroup(r), process = process(r),
  }
  found.unreadable = r.missing
  return found
end

-- Microseconds that some task waited for a resource since the system started.
local function pressure(r, name)
  local text = r:text("/proc/pressure/" .. name)
  return text and tonumber(text:match("some .-total=(%d+)"))
end

local function throttled(r)
  local paths, base = cgroup_paths(r), "/sys/fs/cgroup"
  local place = paths.cpu and base .. "/cpu" .. paths.cpu or paths[""] and base .. paths[""]
  local text = place and r:first(place:gsub("/$", "") .. "/cpu.stat", base .. "/cpu/cpu.stat")
  return text and tonumber(text:match("nr_throttled (%d+)"))
end

--- What drifts: counters and readings at this moment. Cheap enough for before and after
--- every run.
---@param options? { root: string }
---@return table sample
function env.sample(options)
  local r = reader(options and options.root)
  local ticks, n = {}, 0
  for value in ((r:text("/proc/stat") or ""):match("^cpu +([^\n]*)") or ""):gmatch("%d+") do
    n = n + 1
    ticks[n] = tonumber(value)
  end
  local total = 0
  for i = 1, math.min(n, 8) do total = total + ticks[i] end
  local temperature = r:number("/sys/class/thermal/thermal_zone0/temp")
  return {
    ticks = n > 0 and total or nil, steal_ticks = ticks[8],
    pressure_io_us = pressure(r, "io"), pressure_cpu_us = pressure(r, "cpu"),
    pressure_memory_us = pressure(r, "memory"), throttled = throttled(r),
    temperature_c = temperature and temperature / 1000,
    frequency_khz = r:number("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq"),
    load = tonumber((r:text("/proc/loadavg") or ""):match("^(%S+)")),
  }
end

local function difference(after, before)
  return after and before and after - before or nil
end

--- What happened between two samples: steal in percent of all CPU time, waits by pressure
--- in us, cgroup throttlings, temperature and frequency now. Unknown is nil.
---@param before table
---@param after table
---@return table drift
function env.between(before, after)
  local ticks = difference(after.ticks, before.ticks)
  local steal = difference(after.steal_ticks, before.steal_ticks)
  return {
    steal_percent = steal and ticks and ticks > 0 and 100 * steal / ticks or nil,
    pressure_io_us = difference(after.pressure_io_us, before.pressure_io_us),
    pressure_cpu_us = difference(after.pressure_cpu_us, before.pressure_cpu_us),
    pressure_memory_us = difference(after.pressure_memory_us, before.pressure_memory_us),
    throttled = difference(after.throttled, before.throttled),
    temperature_c = after.temperature_c, frequency_khz = after.frequency_khz,
    load = after.load,
  }
end

return env
