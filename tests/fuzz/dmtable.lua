-- Tables of device-mapper: checked, or refused with the line; what is read is written the same.
local tables = require "iolua.dm.table"
local targets = require "iolua.dm.targets"
local words = require "iolua.dm.words"

local function size_of(device)
  if device:find("missing", 1, true) then return nil, device .. ": no such device" end
  return 1 << 20
end

-- The parameters read, written, and read again: the same words.
local function round_trip(line)
  local description = targets[line.type]
  local values = description and words.read(description.fields, line.params)
  if not values then return end
  local text = words.write(description.fields, values)
  if not words.read(description.fields, text) then error({}) end
end

return function(text)
  local lines, message = tables.check(text, size_of)
  if not lines then
    if type(message) ~= "string" then error({}) end
    return
  end
  for _, line in ipairs(lines) do round_trip(line) end
end
