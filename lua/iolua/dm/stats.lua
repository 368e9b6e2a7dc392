--- dm-stats: what the kernel counts of a volume, a second witness beside our own figures.
local units = require "iolua.units"

---@class iolua.dmstats
local stats = {}
stats.__index = stats
stats.__name = "iolua.dmstats"

local DEFAULT = { "10us", "100us", "1ms", "10ms", "100ms", "1s" }

local NAMES = {
  "reads", "reads_merged", "sectors_read", "read_ns", "writes", "writes_merged",
  "sectors_written", "write_ns", "in_flight", "busy_ns", "weighted_ns", "total_read_ns",
  "total_write_ns",
}

local function bounds_of(list)
  local bounds = {}
  for i, value in ipairs(list) do
    local ns, message = units.ns(value)
    if not ns then error("stats: bounds: " .. message, 3) end
    if i > 1 and ns <= bounds[i - 1] then error("stats: bounds must grow", 3) end
    bounds[i] = ns
  end
  return bounds
end

--- Begin to count on the whole volume, times in ns.
---@param volume iolua.mapped
---@param options { bounds: (string|integer)[]? }
---@return iolua.dmstats?
---@return string? message
---@return integer? errno
function stats.new(volume, options)
  local bounds = bounds_of(options.bounds or DEFAULT)
  local answer, message, errno = volume:message(
    ("@stats_create - /1 2 precise_timestamps histogram:%s iolua"):format(
      table.concat(bounds, ",")))
  if not answer then return nil, message, errno end
  return setmetatable({ volume = volume, region = answer:match("%d+"), bounds = bounds }, stats)
end

--- What was counted so far: reads, writes, sectors_read, read_ns, ... and `histogram`, counts
--- of all operations that took less than each bound, the last those beyond all.
---@return table? counts
---@return string? message
---@return integer? errno
function stats:read()
  local answer, message, errno = self.volume:message("@stats_print " .. self.region)
  if not answer then return nil, message, errno end
  local counts, i = { histogram = {} }, 0
  local fields = answer:match("^%d+%+%d+%s+(.*)") or ""
  for text in fields:gmatch("%S+") do
    i = i + 1
    if NAMES[i] then counts[NAMES[i]] = math.tointeger(tonumber(text)) end
    if i > #NAMES then
      for count in text:gmatch("%d+") do
        counts.histogram[#counts.histogram + 1] = math.tointeger(tonumber(count))
      end
    end
  end
  return counts
end

function stats:close()
  if not self.region then return true end
  local region = self.region
  self.region = nil
  return self.volume:message("@stats_delete " .. region)
end

stats.__close = stats.close

return stats
