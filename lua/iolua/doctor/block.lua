--- What --doctor sees of the disks: interrupts, settings, device-mapper, devices for tests.
local core = require "iolua.core"
local system = require "iolua.doctor.system"

local block = {}

-- Names of disks that have a size, without RAM disks and empty loop devices.
local function disks(root)
  local names = {}
  for _, name in ipairs(core.attr.list(root .. "/sys/block") or {}) do
    local sectors = tonumber(system.read(root, "/sys/block/" .. name .. "/size"))
    if sectors and sectors > 0 and not name:find("^ram%d") then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

-- The interrupts of the disk, by iolua.settings; nil and why.
local function interrupts_of(name)
  local ok, settings = pcall(require, "iolua.settings")
  if not ok then return nil, "iolua.settings is not here" end
  return settings.irq("/dev/" .. name:gsub("!", "/"))
end

local function describe(vectors)
  local io, kept, unknown, cpus = 0, 0, 0, {}
  for _, vector in ipairs(vectors) do
    if vector.io then
      io = io + 1
      if vector.managed then kept = kept + 1 end
      if vector.managed == nil then unknown = unknown + 1 end
      for _, cpu in ipairs(vector.effective or {}) do cpus[cpu] = true end
    end
  end
  local list = {}
  for cpu in pairs(cpus) do list[#list + 1] = cpu end
  table.sort(list)
  return io, kept, unknown, table.concat(list, ",")
end

function block.interrupts(add, root)
  local any = false
  for _, name in ipairs(disks(root)) do
    local found = interrupts_of(name)
    local io, kept, unknown, cpus = describe(found and found.vectors or {})
    any = any or io > 0
    if io > 0 and kept == io then
      add(name, "limited", ("vectors: %d on CPU %s, kept by the kernel"):format(io, cpus),
        "the driver lets the kernel place its queues' vectors (managed)",
        "choose the submitter relative to the vector's CPU")
    elseif io > 0 and unknown == io then
      add(name, "ok", ("vectors: %d on CPU %s; whether they move shows when tried"):format(io,
        cpus))
    elseif io > 0 then
      add(name, "ok", ("vectors: %d on CPU %s, %d can be moved"):format(io, cpus, io - kept))
    end
    if found and found.irqbalance then
      add("irqbalance", "limited", ("running, pid %d"):format(found.irqbalance),
        "it moves interrupts while something is measured", "systemctl stop irqbalance")
    end
  end
  if not any then
    add("disks", "limited", "none has an interrupt that can be read",
      "loop, zram and device-mapper devices have none of their own",
      "completions then land where the kernel ran them")
  end
end

local QUEUE = { "scheduler", "read_ahead_kb", "rq_affinity", "nr_requests", "nomerges",
  "max_sectors_kb", "wbt_lat_usec", "iostats", "write_cache" }

-- Opening for update writes nothing: it only says whether a write would be let through.
local function writable(root, path)
  local file, _, errno = io.open(root .. path, "r+")
  if file then file:close() end
  return file ~= nil, errno
end

local function queue_of(add, root, name)
  local can, cannot = {}, {}
  for _, key in ipairs(QUEUE) do
    local path = ("/sys/block/%s/queue/%s"):format(name, key)
    if system.read(root, path) and writable(root, path) then
      can[#can + 1] = key
    else
      cannot[#cannot + 1] = key
    end
  end
  if #cannot == 0 then
    add(name, "ok", "every attribute of its queue")
  elseif #can > 0 then
    add(name, "limited", table.concat(can, ", "), "its driver has no " ..
      table.concat(cannot, ", "), "another disk where these are varied")
  else
    add(name, "no", "none", "attributes of queues are root's", "run as root")
  end
end

local MACHINE = {
  { "governor", "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor",
    "this kernel or hypervisor does not steer frequencies", "the hypervisor's host steers it" },
  { "boost", "/sys/devices/system/cpu/cpufreq/boost", "no boost can be switched here",
    "on Intel see intel_pstate/no_turbo, or the firmware" },
  { "C-states", "/dev/cpu_dma_latency", "idle states cannot be bounded",
    "a kernel with CONFIG_CPU_IDLE, as root" },
  { "huge pages", "/sys/kernel/mm/transparent_hugepage/enabled",
    "this kernel has no transparent huge pages", "none is needed unless they are varied" },
  { "dirty pages", "/proc/sys/vm/dirty_ratio", "vm.dirty_* are root's of the first namespace",
    "run as root, outside of a container" },
}

function block.settings(add, root)
  for _, name in ipairs(disks(root)) do queue_of(add, root, name) end
  for _, entry in ipairs(MACHINE) do
    local name, path, reason, remedy = table.unpack(entry)
    local ok, errno = writable(root, path)
    if not ok and name == "boost" then
      ok, errno = writable(root, "/sys/devices/system/cpu/intel_pstate/no_turbo")
    end
    if ok then
      add(name, "ok", "can be set")
    elseif errno == 13 then
      add(name, "no", "may not be set", path .. " is root's", "run as root")
    else
      add(name, "no", "cannot be set", reason, remedy)
    end
  end
  local controllers = system.read(root, "/sys/fs/cgroup/cgroup.controllers") or ""
  if (" " .. controllers .. " "):find(" io ", 1, true) then
    add("io.max", "ok", "control groups (version 2) can limit a device")
  else
    add("io.max", "no", "no limits by control group", "no cgroup v2 with the io controller on "
      .. "/sys/fs/cgroup", "boot with systemd.unified_cgroup_hierarchy=1")
  end
end

function block.device_mapper(add, root)
  local ok, dm = pcall(require, "iolua.dm")
  local there, why
  if ok then
    there, why = dm.available()
  else
    local misc = system.read(root, "/proc/misc") or ""
    there, why = misc:find("device%-mapper") ~= nil, "this kernel has no device-mapper"
  end
  if there then
    add("kernel", "ok", type(there) == "string" and there or "volumes can be made")
  else
    add("kernel", "no", "volumes are user-space ones: same mapping, no /dev node", why,
      "modprobe dm-mod as root; delay, error, flakey and raid targets need it")
  end
end

function block.test_devices(add, root)
  local function device(name, path, what, remedy)
    if system.exists(root, path) then
      add(name, "ok", what)
    else
      add(name, "no", "not here", path .. " does not exist", remedy)
    end
  end
  local loop = writable(root, "/dev/loop-control")
  if loop then
    add("loop", "ok", "a device over a file can be made")
  else
    add("loop", "no", "cannot be made", "/dev/loop-control cannot be opened",
      "root, and modprobe loop")
  end
  device("zram", "/sys/class/zram-control", "a device in memory can be made",
    "modprobe zram num_devices=0")
  device("null_blk", "/sys/module/null_blk", "a device without a medium",
    "modprobe null_blk (ceilings without a disk)")
end

return block
