--- Device-mapper: volumes of any target of the kernel, by their table lines.
--
-- `dm.create { name =, table = { "0 2048 linear /dev/loop3 0" } }`, or lines made by
-- `dm.line("striped", { members = {...}, chunk = "16k" })`. Every device in a table passes the
-- guard; a volume is in the journal before it exists and is removed when it is closed.
local core = require "iolua.core"
local build = require "iolua.dm.build"
local mapped = require "iolua.dm.mapped"
local schema = require "iolua.schema"
local tables = require "iolua.dm.table"

local dm = {}

local SECTOR = 512

local ENODEV = 19

-- A described machine (iolua --machine) has no device-mapper, and this one's is out of bounds.
local function described()
  local machine = package.loaded["iolua.machine"]
  return machine and machine.current() ~= nil
end

--- Can device-mapper be used here?
---@return boolean available
---@return string? why  the reason why not
---@return integer? errno
function dm.available()
  if described() then return false, "a described machine has no device-mapper", ENODEV end
  local ok, why, errno = core.dm.available()
  if ok then return true end
  return false, why, errno
end

-- nil, message, errno where device-mapper cannot be used.
local function need()
  local ok, why, errno = dm.available()
  if ok then return true end
  return nil, "dm: " .. why, errno
end

--- The targets of this kernel that are loaded, and their versions.
---@return table<string, string>? versions
---@return string? message
---@return integer? errno
function dm.targets()
  local ok, message, errno = need()
  if not ok then return nil, message, errno end
  return core.dm.targets()
end

--- All volumes of the machine: { name, major, minor, uuid, open_count, suspended, ours }.
---@return table[]? volumes
---@return string? message
---@return integer? errno
function dm.list()
  local ok, message, errno = need()
  if not ok then return nil, message, errno end
  local list, why, number = core.dm.list()
  if not list then return nil, why, number end
  local volumes = {}
  for _, entry in ipairs(list) do
    local info = core.dm.info(entry.name)
    if info then
      info.ours = info.uuid:find(core.dm.prefix(), 1, true) == 1
      volumes[#volumes + 1] = info
    end
  end
  return volumes
end

--- Sectors of a device.
---@param device string  path or MAJOR:MINOR
---@return integer? sectors
---@return string? message
---@return integer? errno
function dm.sectors(device)
  local number, why, code = device, nil, nil
  if not device:find("^%d+:%d+$") then number, why, code = core.dm.number(device) end
  if not number then return nil, why, code end
  local found, message, errno = core.blk.at(number)
  if not found then return nil, message, errno end
  return found.bytes // SECTOR
end

--- A line of a table from options; see iolua.dm.targets for the fields of each target.
---@param kind string
---@param options table
---@return table? line
---@return string? message
---@return integer? errno
function dm.line(kind, options)
  if type(options) ~= "table" then error("dm.line takes a target and a table of options", 2) end
  return build.line(kind, options, dm.sectors, 2)
end

local CREATE = {
  name = { type = "string", help = "as it appears in /dev/mapper; default: one of our own" },
  table = { type = "any", required = true, help = "lines" },
  read_only = { type = "boolean", default = false, help = "no writes through the volume" },
  destroy = { type = "any", help = "devices whose data is given up: a path or a list" },
}

local function paths(value)
  if value == nil then return nil end
  if type(value) ~= "table" or value.path then value = { value } end
  local list = {}
  for i, item in ipairs(value) do list[i] = build.path_of(item) end
  return list
end

--- Make a volume.
---
--- Misuse raises: a name that cannot be, a table that is none. What the machine refuses comes
--- back as nil, message, errno, with nothing left behind.
---@param options { name: string?, table: table|string, read_only: boolean?, destroy: any }
---@return iolua.mapped? volume  to be closed: `local v <close> = assert(dm.create { ... })`
---@return string? message
---@return integer? errno
function dm.create(options)
  local o = schema.check(CREATE, options, 2, "dm.create")
  if o.name then
    local ok, rule = core.dm.check_name(o.name)
    if not ok then error("dm.create: " .. rule, 2) end
  end
  local lines, message = tables.check(o.table, function() return math.maxinteger end)
  if not lines then error("dm.create: " .. message, 2) end
  local ok, why, errno = need()
  if not ok then return nil, why, errno end
  lines, message = tables.check(o.table, dm.sectors)
  if not lines then return nil, "dm.create: " .. message, 28 end
  o.lines, o.destroy = lines, paths(o.destroy)
  return mapped.create(o)
end

--- A volume that exists, made here or by others: it can be looked at, suspended, sent messages
--- and removed, but is not removed by itself.
---@param name string
---@return iolua.mapped? volume
---@return string? message
---@return integer? errno
function dm.open(name)
  local ok, why, errno = need()
  if not ok then return nil, why, errno end
  return mapped.open(name)
end

return dm
