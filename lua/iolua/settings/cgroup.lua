--- The limit that a control group (version 2) puts on a device: its line in io.max.
local attr = require "iolua.attr"
local core = require "iolua.core"
local journal = require "iolua.journal"
local nearest = require "iolua.nearest"
local units = require "iolua.units"

local cgroup = { undo = {} }

local KEYS = { "rbps", "wbps", "riops", "wiops" }
local NAMES = { "cgroup", "rbps", "riops", "wbps", "wiops" }
local FREE = "rbps=max wbps=max riops=max wiops=max"
local ENOENT, EINVAL = 2, 22

-- The line of a device without its number; FREE when there is none.
local function line_of(path, dev)
  local text, message, errno = core.attr.read(path)
  if not text then return nil, message, errno end
  for line in text:gmatch("[^\n]+") do
    local number, rest = line:match("^(%S+)%s+(.-)%s*$")
    if number == dev then return rest end
  end
  return FREE
end

local function limit(key, value)
  if value == "max" then return value end
  local n = value
  if type(value) == "string" and key:find("bps$") then n = units.bytes(value) end
  n = type(n) == "number" and math.tointeger(n)
  if not n or n < 1 then
    error(("io_max.%s = %s: it is a number a second, 1 or more, or \"max\""):format(key,
      tostring(value)), 0)
  end
  return ("%d"):format(n)
end

-- The four limits: those given, the others as they are.
local function wanted(values, old)
  local words = {}
  for _, key in ipairs(KEYS) do
    local text = values[key] ~= nil and limit(key, values[key])
      or old:match("%f[%a]" .. key .. "=(%S+)") or "max"
    words[#words + 1] = key .. "=" .. text
  end
  return table.concat(words, " ")
end

local function check(values)
  if type(values) ~= "table" or type(values.cgroup) ~= "string" then
    error("io_max is a table with the path of a cgroup and limits", 0)
  end
  for key in pairs(values) do
    if not tostring(key):find("^[rw]i?[ob]ps$") and key ~= "cgroup" then
      error(("io_max: unknown key %q%s"):format(tostring(key), nearest.hint(key, NAMES)), 0)
    end
  end
end

-- Record the line once.
local function hold(target, old)
  local known = journal.find(target)
  if known then return known.id end
  return journal.add { { kind = "iomax", target = target, old = old } }
end

local function change(path, dev, id, text)
  local noted, message, errno = journal.note { { id = id } }
  if not noted then return nil, message, errno end
  local written, refused, number = attr.write(path, dev .. " " .. text)
  local took = line_of(path, dev)
  journal.note { { id = id, now = took } }
  if not written then return nil, refused, number end
  if took ~= text then
    return nil, ("io_max: %q asked, but it is %q"):format(text, tostring(took)), EINVAL
  end
  return took
end

--- Limit a device in a cgroup: { cgroup = path, rbps =, wbps =, riops =, wiops = }.
---@param device table  core.blk.find
---@param values table
---@return table? limits  as they read back
---@return string? message
---@return integer? errno
function cgroup.set(device, values)
  check(values)
  local path = values.cgroup .. "/io.max"
  local old, message, errno = line_of(path, device.disk_dev)
  if not old then
    if errno == ENOENT then
      message = ("io_max: %s is missing: the io controller is not enabled there"):format(path)
    end
    return nil, message, errno
  end
  local text = wanted(values, old)
  local id, held, number = hold(path .. " " .. device.disk_dev, old)
  if not id then return nil, held, number end
  local took, refused, failed = change(path, device.disk_dev, id, text)
  if not took then return nil, refused, failed end
  local limits = {}
  for key, value in took:gmatch("(%a+)=(%S+)") do
    limits[key] = math.tointeger(tonumber(value)) or value
  end
  return limits
end

local function parts(record)
  return record.target:match("^(.*) (%S+)$")
end

cgroup.undo.iomax = {
  look = function(record)
    local value, _, errno = line_of(parts(record))
    if not value then return errno == ENOENT and "gone" or "ours" end
    if value == record.old then return "same" end
    if record.now == nil or record.now == value then return "ours" end
    return "foreign", value
  end,
  undo = function(record)
    local path, dev = parts(record)
    return attr.write(path, dev .. " " .. record.old)
  end,
  check = function(record)
    return line_of(parts(record)) == record.old
  end,
}

return cgroup
