--- Files, devices and buffers: the constructors, with their options checked.
local core = require "iolua.core"
local schema = require "iolua.schema"
local units = require "iolua.units"

local file = {}

local OPTIONS = {
  write = { type = "boolean", default = false, help = "open for reading and writing" },
  create = { type = "boolean", default = false, help = "make a missing regular file" },
  overwrite = { type = "boolean", default = false,
    help = "a regular file or character device that exists may be written" },
  direct = { type = "boolean", default = false, help = "O_DIRECT: around the page cache" },
  sync = { type = "boolean", default = false, help = "O_SYNC" },
  destroy = { type = "path", help = "the device whose data may be lost: its own path" },
}

--- Open a file or device for I/O. Reading is the default and changes nothing.
---
--- A write passes the guard: what is in use, or holds data that was not named, is refused.
---@param path string
---@param options? table  write, create, overwrite, direct, sync: booleans; destroy: a path
---@return iolua.file? file
---@return string? message  "open PATH: reason"
---@return integer? errno
function file.open(path, options)
  local o = schema.check(OPTIONS, options or {}, 2, "open")
  if (o.create or o.overwrite or o.destroy) and not o.write then
    error("open: create, overwrite and destroy need write = true", 2)
  end
  return core.file.open(path, o)
end

--- Aligned memory for I/O, zeroed.
---@param size integer|string  bytes, or "64k"
---@return iolua.buf? buffer
---@return string? message
---@return integer? errno
function file.buffer(size)
  local bytes, message = units.bytes(size)
  if not bytes then error(message, 2) end
  return core.buf.new(bytes)
end

return file
