--- What --doctor sees of the process and the machine: privileges, clock, topology, programs.
local core = require "iolua.core"

local system = {}

--- The text of a file without its final newline, nil where it cannot be read.
function system.read(root, path)
  return (core.attr.read(root .. path))
end

function system.exists(root, path)
  return core.attr.list(root .. path) ~= nil or system.read(root, path) ~= nil
end

--- A row of /proc/self/limits: the soft limit with its unit.
function system.limit(root, name)
  local text = system.read(root, "/proc/self/limits") or ""
  local value, unit = text:match(name:gsub("%p", "%%%0") .. "%s+(%S+)%s+%S+%s+(%S*)")
  return value and (value .. (unit ~= "" and value ~= "unlimited" and " " .. unit or ""))
    or "unknown"
end

local CAPABILITIES = {
  { 21, "CAP_SYS_ADMIN", "device-mapper, loop devices, settings, private tracefs" },
  { 38, "CAP_PERFMON", "event counters" },
  { 23, "CAP_SYS_NICE", "priorities, binding of other processes" },
  { 14, "CAP_IPC_LOCK", "registered memory beyond the limit" },
  { 17, "CAP_SYS_RAWIO", "the devices' own commands" },
}

local function status_field(root, name)
  local text = system.read(root, "/proc/self/status") or ""
  return text:match("\n?" .. name .. ":%s*([^\n]*)")
end

local function missing_capabilities(effective)
  local names, uses = {}, {}
  for _, capability in ipairs(CAPABILITIES) do
    if effective >> capability[1] & 1 == 0 then
      names[#names + 1] = capability[2]
      uses[#uses + 1] = ("%s (%s)"):format(capability[2], capability[3])
    end
  end
  return names, uses
end

function system.privileges(add, root)
  local uid = (status_field(root, "Uid") or ""):match("^%d+%s+(%d+)")
  if uid == "0" then
    add("user", "ok", "root")
  else
    add("user", "limited", ("uid %s"):format(uid or "unknown"),
      "devices, settings and counters are root's", "sudo iolua ...; files and simulated devices "
      .. "need no privilege")
  end
  local effective = math.tointeger(tonumber(status_field(root, "CapEff") or "0", 16)) or 0
  local names, uses = missing_capabilities(effective)
  if #names == 0 then
    add("capabilities", "ok", "all that iolua uses")
  else
    add("capabilities", "limited", "without " .. table.concat(names, ", "),
      "needed for: " .. table.concat(uses, "; "), "run as root, outside of a container or with "
      .. "these capabilities added")
  end
  local seccomp = status_field(root, "Seccomp")
  if seccomp and seccomp ~= "0" then
    add("seccomp", "limited", "a filter is on", "system calls may be refused (mode " .. seccomp
      .. ")", "outside of the container, or with its filter off")
  end
  local lockdown = system.read(root, "/sys/kernel/security/lockdown")
  local mode = lockdown and lockdown:match("%[(.-)%]")
  if mode and mode ~= "none" then
    add("lockdown", "limited", mode, "the kernel is locked down: debugfs and raw access are off",
      "boot without secure boot, or with lockdown=none")
  end
end

function system.clock(add, root)
  local folder = "/sys/devices/system/clocksource/clocksource0/"
  local current = system.read(root, folder .. "current_clocksource")
  local known = system.read(root, folder .. "available_clocksource") or ""
  if current == "tsc" then
    add("source", "ok", "tsc: the counter is read directly")
  else
    add("source", "limited", current or "unknown",
      "each reading is a slower call (known here: " .. known .. ")",
      known:find("tsc", 1, true) and "boot with tsc=reliable if the counter is sound" or
      "a machine whose time stamp counter is invariant")
  end
end

function system.topology(add)
  local topo = require "iolua.topo"
  local t, message = topo.open {}
  if not t then
    add("cpus", "no", "unknown", message, "hwloc must be able to read /sys")
    return
  end
  local cpus, cores = t:count("pu"), t:count("core")
  local nodes, packages = t:count("numanode"), t:count("package")
  local text = ("CPUs: %d, cores: %d, packages: %d, memory nodes: %d"):format(cpus, cores,
    packages, nodes)
  t:close()
  if cpus < 2 then
    add("cpus", "limited", text, "nothing can be placed apart", "a machine with more CPUs")
  else
    add("cpus", "ok", text)
  end
  if nodes < 2 then
    add("distance", "limited", "one memory node", "near and far are the same memory here",
      "a machine with several nodes")
  else
    add("distance", "ok", ("%d memory nodes"):format(nodes))
  end
end

local PROGRAMS = {
  { "fio", "fio" }, { "bonnie++", "bonnie++" }, { "dbench", "dbench" }, { "tiotest", "tiobench" },
  { "iozone", "iozone3" }, { "hdparm", "hdparm" }, { "dd", "coreutils" },
  { "blockdev", "util-linux" }, { "losetup", "util-linux" }, { "gnuplot", "gnuplot-nox" },
}

local function in_path(name)
  for folder in (os.getenv("PATH") or "/usr/bin:/bin"):gmatch("[^:]+") do
    local file = io.open(folder .. "/" .. name, "rb")
    if file then
      file:close()
      return folder .. "/" .. name
    end
  end
  for _, folder in ipairs { "/usr/sbin/", "/sbin/" } do
    local file = io.open(folder .. name, "rb")
    if file then
      file:close()
      return folder .. name
    end
  end
end

function system.programs(add)
  local found, missing, packages = {}, {}, {}
  for _, program in ipairs(PROGRAMS) do
    if in_path(program[1]) then
      found[#found + 1] = program[1]
    else
      missing[#missing + 1] = program[1]
      packages[#packages + 1] = program[2]
    end
  end
  if #found > 0 then add("found", "ok", table.concat(found, ", ")) end
  if #missing > 0 then
    add("not found", "limited", table.concat(missing, ", "),
      "scenarios that run them skip them", "apt-get install " .. table.concat(packages, " "))
  end
end

return system
