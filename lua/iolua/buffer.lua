--- iolua.buffer: aligned memory for reads and writes.
local core = require "iolua.core"
local units = require "iolua.units"

--- Aligned, counted memory, filled with zeros.
---@param size integer|string  bytes, or as in "64k"
---@return iolua.buffer?
---@return string? message
---@return integer? errno
return function(size)
  if type(size) == "string" then
    local bytes, message = units.bytes(size)
    if not bytes then error("buffer: " .. message, 2) end
    size = bytes
  end
  return core.buf.new(size)
end
