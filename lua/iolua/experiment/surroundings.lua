--- Where an experiment ran: the machine and, for each target, its disk with all that can be set.
local core = require "iolua.core"
local env = require "iolua.env"

local surroundings = {}

local function text_of(path)
  local text = core.attr.read(path)
  return text and text:match("^%s*(.-)%s*$")
end

-- Every attribute of a queue as text; folders inside it (iosched, mq) are left out.
local function queue_of(folder)
  local found = {}
  for _, name in ipairs(core.attr.list(folder) or {}) do
    found[name] = text_of(folder .. "/" .. name)
  end
  return next(found) and found or nil
end

local FIRMWARE = { "firmware_rev", "rev" }

local function firmware_of(disk)
  for _, name in ipairs(FIRMWARE) do
    local text = text_of(disk .. "/device/" .. name)
    if text and text ~= "" then return text end
  end
end

-- The mount that holds a path, from the device's number: type and options.
local function mount_of(dev)
  local file = io.open("/proc/self/mountinfo")
  if not file then return nil end
  local found
  for line in file:lines() do
    local number, place, options, kind, super = line:match(
      "^%d+ %d+ (%S+) %S+ (%S+) (%S+).- %- (%S+) %S+ (%S+)")
    if number == dev then
      found = found or { place = place, type = kind, options = options .. "," .. super }
    end
  end
  file:close()
  return found
end

--- The disk under a file, path or volume.
---@param target any
---@return table disk  { path, name, ... } or { path, unknown = why }
function surroundings.disk(target)
  local path = type(target) == "string" and target
    or type(target.path) == "function" and target:path() or tostring(target.path)
  local found, message = core.blk.find(type(target) == "table" and path or target)
  -- A scratch file has no name, and a descriptor's number says nothing later.
  if path:find("^/proc/%d+/fd/%d+$") then path = "a scratch file" end
  if not found then return { path = path, unknown = message } end
  local known, disk = pcall(function() return require("iolua.device").find(path) end)
  local volume = text_of(found.disk_sys .. "/dm/name")
  local mapped, dm = pcall(function() return volume and core.dm.table(volume) end)
  return {
    path = path, disk = found.disk, name = found.name, bytes = found.bytes,
    about = known and type(disk) == "table" and disk or nil,
    firmware = firmware_of(found.disk_sys), queue = queue_of(found.disk_sys .. "/queue"),
    scheduler = queue_of(found.disk_sys .. "/queue/iosched"), mount = mount_of(found.dev),
    dm_table = mapped and dm or nil,
  }
end

-- Values that JSON has no form for (sets, handles) as text.
local function plain(value, depth)
  if type(value) == "table" and depth > 0 then
    local copy = {}
    for key, item in pairs(value) do
      copy[type(key) == "number" and key or tostring(key)] = plain(item, depth - 1)
    end
    return copy
  end
  if type(value) == "string" or type(value) == "number" or type(value) == "boolean" then
    return value
  end
  return tostring(value)
end

surroundings.plain = function(value) return plain(value, 8) end

--- All of it.
---@param targets? any[]
---@return table
function surroundings.read(targets)
  local found = env.read()
  local ok, tree = pcall(function() return require("iolua.topo")():tree() end)
  found.topology = ok and tree or nil
  found.disks = {}
  for i, target in ipairs(targets or {}) do
    if type(target) ~= "table" or not target.simulated then
      found.disks[i] = plain(surroundings.disk(target), 6)
    else
      found.disks[i] = { simulated = true }
    end
  end
  return found
end

return surroundings
