--- Settings of the whole machine: CPU frequency and idle states, huge pages, dirty pages.
local core = require "iolua.core"
local attr = require "iolua.attr"
local group = require "iolua.settings.group"

local machine = {}

local ENOENT, EINVAL = 2, 22
local CPUFREQ = "/sys/devices/system/cpu/cpufreq"
local NO_TURBO = "/sys/devices/system/cpu/intel_pstate/no_turbo"
local HUGE = "/sys/kernel/mm/transparent_hugepage/enabled"
local LATENCY = "/dev/cpu_dma_latency"

-- Recorded in this order: undoing writes each ratio before its bytes, which then win.
local DIRTY = { "dirty_background_bytes", "dirty_background_ratio", "dirty_bytes",
  "dirty_ratio", "dirty_expire_centisecs", "dirty_writeback_centisecs" }

local latency                   -- the open request for idle states, and what was asked

--- The names that set takes.
---@return string[]
function machine.names()
  local names = { "boost", "cpu_latency_us", "governor", "transparent_hugepage" }
  for _, name in ipairs(DIRTY) do names[#names + 1] = name end
  table.sort(names)
  return names
end

local function integer(name, value, low)
  local n = type(value) == "number" and math.tointeger(value)
  if not n or n < low then
    error(("%s = %s: it is an integer, %d or more"):format(name, tostring(value), low), 0)
  end
  return n
end

local function policies(root)
  local found = {}
  for _, name in ipairs(attr.list(root .. CPUFREQ)) do
    if name:find("^policy%d+$") then found[#found + 1] = root .. CPUFREQ .. "/" .. name end
  end
  return found
end

local function governor_refused(policy, name)
  return function(message, errno)
    if errno ~= EINVAL then return message end
    local text = core.attr.read(policy .. "/scaling_available_governors") or "no list of them"
    return ("there is no governor %q; there is %s"):format(name, text)
  end
end

local function set_governor(value, root)
  if type(value) ~= "string" or value == "" then
    error(("governor = %s: it is a name"):format(tostring(value)), 0)
  end
  local members, changes = {}, {}
  for _, policy in ipairs(policies(root)) do
    local path = policy .. "/scaling_governor"
    -- The governor "performance" takes the preference over.
    members[#members + 1] = { target = policy .. "/energy_performance_preference" }
    members[#members + 1] = { target = path }
    changes[#changes + 1] = { name = "governor", target = path, text = value,
      refused = governor_refused(policy, value) }
  end
  if #changes == 0 then
    return nil, "governor: the kernel does not control the frequency of these CPUs", ENOENT
  end
  return group.change("cpu frequency", members, changes)
end

-- Where boost is switched, and whether a 1 there means off.
local function boost_path(root)
  if attr.read(root .. NO_TURBO) then return root .. NO_TURBO, true end
  local path = root .. CPUFREQ .. "/boost"
  if attr.read(path) then return path, false end
  return nil, "boost: the kernel has no switch for it here", ENOENT
end

local function set_boost(value, root)
  if type(value) ~= "boolean" then
    error(("boost = %s: it is true or false"):format(tostring(value)), 0)
  end
  local path, inverted, errno = boost_path(root)
  if not path then return nil, inverted, errno end
  local text = (value ~= inverted) and "1" or "0"
  return group.change("boost", { { target = path } },
    { { name = "boost", target = path, text = text } })
end

local function huge_refused(path, value)
  return function(message, errno)
    if errno ~= EINVAL then return message end
    return ("transparent_hugepage has no %q; it has %s"):format(value,
      table.concat(attr.choices(core.attr.read(path) or ""), ", "))
  end
end

local function set_huge(value, root)
  local path = root .. HUGE
  if type(value) ~= "string" or value == "" then
    error(("transparent_hugepage = %s: it is a name"):format(tostring(value)), 0)
  end
  if not attr.read(path) then
    return nil, "transparent_hugepage: this kernel has none", ENOENT
  end
  return group.change("transparent huge pages", { { target = path } },
    { { name = "transparent_hugepage", target = path, text = value,
      refused = huge_refused(path, value) } })
end

local function set_dirty(values, root)
  local members, changes = {}, {}
  for _, name in ipairs(DIRTY) do
    local path = root .. "/proc/sys/vm/" .. name
    members[#members + 1] = { target = path }
    if values[name] ~= nil then
      changes[#changes + 1] = { name = name, target = path,
        text = ("%d"):format(integer(name, values[name], 0)) }
    end
  end
  for _, kind in ipairs { "dirty", "dirty_background" } do
    if values[kind .. "_bytes"] and values[kind .. "_ratio"] then
      error(("%s_bytes and %s_ratio exclude each other: give one"):format(kind, kind), 0)
    end
  end
  return group.change("vm.dirty", members, changes)
end

-- The kernel keeps the request for as long as the file is open: nothing needs to be undone.
local function set_latency(value, root)
  local asked = integer("cpu_latency_us", value, 0)
  local hold, message, errno = core.attr.hold(root .. LATENCY, asked)
  if not hold then return nil, "cpu_latency_us: " .. message, errno end
  local took, unread, number = hold:value()
  if not took then return nil, "cpu_latency_us: " .. unread, number end
  machine.release()
  latency = { hold = hold, asked = asked }
  if took == asked then return { cpu_latency_us = took }, {} end
  return { cpu_latency_us = took },
    { ("cpu_latency_us: %d asked, %d in force: another program asks for less"):format(asked,
      took) }
end

local function any_dirty(values)
  for _, name in ipairs(DIRTY) do
    if values[name] ~= nil then return true end
  end
  return false
end

--- Set values of the machine. Each kind is all or nothing; what was set before one that fails
--- stays set until it is restored.
---@param values table
---@param root string
---@return table? taken
---@return string[]|string notes
---@return integer? errno
function machine.set(values, root)
  local steps = {}
  local function step(wanted, fn, value)
    if wanted then steps[#steps + 1] = { fn, value } end
  end
  step(values.governor ~= nil, set_governor, values.governor)
  step(values.boost ~= nil, set_boost, values.boost)
  step(values.transparent_hugepage ~= nil, set_huge, values.transparent_hugepage)
  step(any_dirty(values), set_dirty, values)
  step(values.cpu_latency_us ~= nil, set_latency, values.cpu_latency_us)
  local all, said = {}, {}
  for _, one in ipairs(steps) do
    local taken, notes, errno = one[1](one[2], root)
    if not taken then return nil, notes, errno end
    for name, text in pairs(taken) do all[name] = math.tointeger(tonumber(text)) or text end
    table.move(notes, 1, #notes, #said + 1, said)
  end
  if values.boost ~= nil then all.boost = values.boost end
  return all, said
end

--- The machine's values now; what it does not have is missing. `governor` is a name, or the
--- list of names where CPUs differ.
---@param root string
---@return table
function machine.get(root)
  local values = { transparent_hugepage = attr.read(root .. HUGE) }
  for _, name in ipairs(DIRTY) do
    values[name] = math.tointeger(tonumber(attr.read(root .. "/proc/sys/vm/" .. name) or ""))
  end
  local seen, governors = {}, {}
  for _, policy in ipairs(policies(root)) do
    local name = attr.read(policy .. "/scaling_governor")
    if name and not seen[name] then
      seen[name] = true
      governors[#governors + 1] = name
    end
  end
  values.governor = #governors > 1 and governors or governors[1]
  local path, inverted = boost_path(root)
  if path then values.boost = (attr.read(path) == "1") ~= inverted end
  values.cpu_latency_us = latency and latency.hold:value()
  return values
end

--- Drop the request for idle states.
function machine.release()
  if latency then latency.hold:close() end
  latency = nil
end

return machine
