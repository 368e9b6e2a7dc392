--- A volume of the kernel as a value: device-mapper's device with the mapping's arithmetic.
local core = require "iolua.core"
local dm = require "iolua.dm"
local open = require "iolua.open"

local SECTOR = 512

---@class iolua.kernelvolume
---@field backend "dm"
---@field path string      /dev/mapper/...
---@field members table[]  as they were given
---@field dm iolua.mapped  its table, status, messages
local kernel = {}
kernel.__index = kernel
kernel.__name = "iolua.volume"

--- Make one from lines of a table.
---@param o { kind: string, name: string?, lines: table[], members: table[], destroy: any,
---  map: table? }
---@return iolua.kernelvolume?
---@return string? message
---@return integer? errno
function kernel.new(o)
  local mapped, message, errno = dm.create { name = o.name, table = o.lines, destroy = o.destroy }
  if not mapped then return nil, ("volume.%s: %s"):format(o.kind, message), errno end
  local v = setmetatable({ backend = "dm", kind = o.kind, dm = mapped, path = mapped.path,
    name = mapped.name, members = o.members, chunk = o.chunk, notes = mapped.notes,
    open_options = o.open_options }, kernel)
  v.arithmetic = o.map and core.volume.new(o.map)       -- no files: it only maps
  return v
end

--- Bytes.
---@return integer? bytes
---@return string? message
---@return integer? errno
function kernel:size() return self.dm:size() end

--- Where a sector lies: member (from 1) and sector on it; of a mirror the first member.
---@param sector integer
---@return integer member
---@return integer sector
function kernel:map(sector)
  if not self.arithmetic then
    error(("volume.%s: only stripe, concat and mirror are mapped"):format(self.kind), 2)
  end
  local leg, pos = self.arithmetic:map(sector * SECTOR)
  return leg, pos // SECTOR
end

--- The device, opened; closed with the volume, or by the caller.
---@param options? table  as of iolua.open; default: as the volume was made
---@return iolua.file?
---@return string? message
---@return integer? errno
function kernel:open(options)
  if options then return open(self.path, options) end
  local o = self.open_options
  return open(self.path, { write = o.write, direct = o.direct,
    destroy = o.write and self.path or nil })           -- its members have passed the guard
end

--- What a job takes as its target: the device, opened once.
---@return iolua.file? file
---@return string? message
---@return integer? errno
function kernel:target()
  if self.file then return self.file end
  local message, errno
  self.file, message, errno = self:open()
  return self.file, message, errno
end

local function by_file(name)
  return function(self, ...)
    local file, message, errno = self:target()
    if not file then return nil, message, errno end
    return file[name](file, ...)
  end
end

kernel.read = by_file("read")
kernel.write = by_file("write")
kernel.fsync = by_file("fsync")

--- Resume, drain, remove. Closing twice is allowed.
---@return boolean?
---@return string? message
---@return integer? errno
function kernel:close()
  if self.file then self.file:close() end
  self.file = nil
  return self.dm:close()
end

function kernel.__close(v, err)
  local ok, message = v:close()
  if not ok and err == nil then error(message, 0) end
end

function kernel.__tostring(v) return ("%s of %d (%s)"):format(v.kind, #v.members, v.path) end

return kernel
