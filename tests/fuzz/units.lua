-- Sizes, durations, rates, distributions and mixes of sizes: a value, or nil and a sentence.
local distribution = require "iolua.distribution"
local sizes = require "iolua.job.sizes"
local units = require "iolua.units"

local PARSERS = { units.bytes, units.ns, units.rate, distribution.parse, sizes.parse }

-- What is printed of a size is read back as the same.
local function round_trip(bytes)
  assert(units.bytes(units.format_size(bytes)) == bytes, "attempt to read back")
  units.format_bytes(bytes)
  units.format_ns(bytes)
  units.format_rate(bytes)
end

return function(text)
  for _, parse in ipairs(PARSERS) do
    local value, message = parse(text)
    if value == nil and type(message) ~= "string" then error({}) end
  end
  local bytes = units.bytes(text)
  if bytes then round_trip(bytes) end
end
