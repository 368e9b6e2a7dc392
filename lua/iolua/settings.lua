--- Settings of a disk's queue and of the machine: journalled before they are changed, read back
--- after, and put back on every way out.
--
-- `settings.set(f, { ... })` is about the disk under f (a file, a volume, a path; a partition's
-- disk); `settings.set { ... }` about the machine. docs/settings.md lists the names.
local core = require "iolua.core"
local journal = require "iolua.journal"
local nearest = require "iolua.nearest"

local settings = {
  --- Prefix of /proc and /sys: another tree in tests.
  root = "",
}

local function part(name)
  return require("iolua.settings." .. name)
end

-- The device under what a caller gave: file, path, or a volume (a table with a path).
local function find(what, level)
  if type(what) == "table" then
    local path = what.path
    if type(path) ~= "string" then
      return nil, "the volume has no device of its own: set its members with legs = true", 6
    end
    what = path
  elseif type(what) ~= "string" and type(what) ~= "userdata" then
    error(("settings: %s is no file, volume or path"):format(type(what)), level + 1)
  end
  return core.blk.find(what, settings.root)
end

-- The disks below a device, each once: the legs of its volume.
local function legs(device, list, seen)
  for _, dev in ipairs(core.blk.related(device.dev, "parents", settings.root) or {}) do
    local leg = core.blk.at(dev, settings.root)
    if leg and not seen[leg.disk_dev] then
      seen[leg.disk_dev] = true
      list[#list + 1] = leg
      legs(leg, list, seen)
    end
  end
  return list
end

-- The devices a call is about: itself, and its legs where they are asked for.
local function targets(what, options, level)
  local device, message, errno = find(what, level + 1)
  local list = {}
  if options.legs then
    if device then
      legs(device, list, { [device.disk_dev] = true })
    else
      for _, member in ipairs(what.members or {}) do
        local leg, why, number = find(member, level + 1)
        if not leg then return nil, why, number end
        list[#list + 1] = leg
      end
    end
  end
  if device then table.insert(list, 1, device) end
  if #list == 0 then return nil, message, errno end
  return list
end

local function check_names(values, names, what)
  local known = {}
  for _, name in ipairs(names) do known[name] = true end
  for key in pairs(values) do
    if not known[key] then
      error(("settings: unknown %s %q%s"):format(what, tostring(key),
        nearest.hint(key, names)), 3)
    end
  end
end

-- Misuse found deeper down is the caller's line.
local function raising(level, fn, ...)
  local result = table.pack(pcall(fn, ...))
  if not result[1] then
    local message = result[2]
    error(type(message) == "string" and "settings: " .. message or message, level + 1)
  end
  return table.unpack(result, 2, result.n)
end

local function without(values, key)
  local rest = {}
  for name, value in pairs(values) do
    if name ~= key then rest[name] = value end
  end
  return rest
end

local function set_device(device, values)
  local taken, notes, errno = part("queue").set(device, without(values, "io_max"))
  if not taken or values.io_max == nil then return taken, notes, errno end
  local limit, message, number = part("cgroup").set(device, values.io_max, settings.root)
  if not limit then return nil, message, number end
  taken.io_max = limit
  return taken, notes
end

local function set_devices(list, values)
  local first, said
  for _, device in ipairs(list) do
    local taken, notes, number = set_device(device, values)
    if not taken then return nil, notes, number end
    first, said = first or taken, said or {}
    for _, text in ipairs(notes) do said[#said + 1] = device.disk .. ": " .. text end
  end
  return first, said
end

local function device_names()
  local names = part("queue").names()
  names[#names + 1] = "io_max"
  table.sort(names)
  return names
end

-- A descriptor keeps the read-ahead it was opened with: on an open file the new value would be
-- silently without effect. FADV_NORMAL takes the disk's value over, for this descriptor.
local function follow(f, values, taken, ...)
  local changed = values.read_ahead_kb or values.read_ahead_sectors
  if taken and changed and type(f) == "userdata" and not f:direct() then
    local ok, message, errno = f:advise(0, 1, "normal")
    if not ok then return nil, "read_ahead_kb: " .. message, errno end
  end
  return taken, ...
end

--- Set attributes of the disk under f, or of the machine where only a table is given. Each is
--- recorded, written and read back; what was changed comes back by itself at the end.
---@param f iolua.file|string|table  file, path or volume; left out for the machine
---@param values table  name -> value
---@param options? { legs: boolean }  legs: a volume's members too
---@return table? taken  name -> value as it reads back
---@return string[]|string notes  what is to be known about it (rounding), or the message
---@return integer? errno
function settings.set(f, values, options)
  if values == nil and type(f) == "table" and f.path == nil then
    check_names(f, part("machine").names(), "setting of the machine")
    return raising(2, part("machine").set, f, settings.root)
  end
  if type(values) ~= "table" then
    error("settings.set takes a file, path or volume and a table of values", 2)
  end
  check_names(values, device_names(), "setting of a disk")
  options = options or {}
  if type(options) ~= "table" then
    error(("settings.set: options must be a table, not %s"):format(type(options)), 2)
  end
  check_names(options, { "legs" }, "option")
  local list, message, errno = targets(f, options, 2)
  if not list then return nil, message, errno end
  return follow(f, values, raising(2, set_devices, list, values))
end

--- What can be set, as it is now: of the disk under f, or of the machine.
---@param f? iolua.file|string|table
---@return table? values
---@return string? message
---@return integer? errno
function settings.get(f)
  if f == nil then return part("machine").get(settings.root) end
  local device, message, errno = find(f, 2)
  if not device then return nil, message, errno end
  return part("queue").get(device)
end

--- The interrupts of the disk under f, and where they go; with `to`, move them there first.
---@param f iolua.file|string|table
---@param to? { cpus: string|table, queue: integer? }
---@return table? interrupts
---@return string? message
---@return integer? errno
function settings.irq(f, to)
  local device, message, errno = find(f, 2)
  if not device then return nil, message, errno end
  if to == nil then return part("irq").get(device, settings.root) end
  return raising(2, part("irq").set, device, to, settings.root)
end

--- Interrupts of the disk under f that arrive while fn runs, by vector and CPU.
---@param f iolua.file|string|table
---@param fn function
---@return table? vectors  { { irq, name, queue, io, counts = { [cpu] = n } } }
---@return string? message
---@return integer? errno
function settings.irq_count(f, fn)
  local device, message, errno = find(f, 2)
  if not device then return nil, message, errno end
  return part("irq").count(device, fn, settings.root)
end

local KINDS = { attr = true, tunable = true, irq = true, iomax = true }

--- Put back everything that was set. Called at the end of every run; a script may call it
--- earlier. Volumes that are open stay.
---@return { restored: integer, gone: integer, notes: string[], problems: string[] } report
function settings.restore()
  if package.loaded["iolua.settings.machine"] then part("machine").release() end
  return journal.restore(KINDS)
end

return settings
