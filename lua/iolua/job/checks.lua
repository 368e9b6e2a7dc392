--- A result held against itself and against the kernel: two numbers that should agree.
--
-- Each check is { measured =, expected =, ratio =, agrees = }; what disagrees by over 5 % is
-- also a sentence in r.doubts.
local core = require "iolua.core"

local checks = {}

local TOLERANCE = 0.05

local function check(measured, expected)
  local ratio = measured / expected
  return { measured = measured, expected = expected, ratio = ratio,
    agrees = math.abs(ratio - 1) <= TOLERANCE }
end

local function doubt(r, text, ...)
  r.doubts = r.doubts or {}
  r.doubts[#r.doubts + 1] = text:format(...)
end

-- Sum of count x mean of the latencies from submission, ns.
local function time_in_flight(r)
  local sum = 0
  for _, name in ipairs { "read", "write", "sync", "trim" } do
    local side = r[name]
    local lat = side and (side.service or side.lat)
    if lat and lat:count() > 0 then sum = sum + lat:count() * lat:mean() end
  end
  return sum
end

--- Little's law: the mean depth is the rate times the mean latency from submission.
---@return table checks  little
function checks.little(r)
  local sum = time_in_flight(r)
  if not r.elapsed_ns or not r.depth_mean or sum == 0 then return {} end
  local little = check(r.depth_mean, sum / r.elapsed_ns)
  if not little.agrees then
    doubt(r, "depth %.3g, but rate times latency is %.3g (Little's law)", little.measured,
      little.expected)
  end
  return { little = little }
end

-- Bytes that a block device has read and written so far, from its sysfs stat.
local function bytes_of(path)
  local file <close> = assert(io.open(path))
  local words = {}
  for word in file:read("a"):gmatch("%d+") do words[#words + 1] = math.tointeger(word) end
  return 512 * (words[3] + words[7])
end

--- Where the kernel counts what the targets move: paths, or nil when not all of them are block
--- devices with direct I/O.
---@param targets table  open
---@return string[]?
function checks.counters(targets)
  local list, seen = {}, {}
  for _, target in ipairs(targets) do
    local device = type(target) == "userdata" and target:type() == "block" and target:direct()
      and core.blk.find(target:path())
    if not device then return nil end
    if not seen[device.dev] then
      list[#list + 1], seen[device.dev] = ("/sys/dev/block/%s/stat"):format(device.dev), true
    end
  end
  return #list > 0 and list or nil
end

--- What they have counted so far; nil without any.
---@return integer?
function checks.kernel_bytes(counters)
  local sum = 0
  for _, path in ipairs(counters or {}) do
    local ok, bytes = pcall(bytes_of, path)
    if not ok then return nil end
    sum = sum + bytes
  end
  return counters and sum
end

--- Bytes that completed in the whole run against what the kernel counted meanwhile.
function checks.diskstats(r, moved, before, after)
  if not before or not after or moved == 0 then return end
  local kernel = after - before
  if kernel == 0 then return end
  r.checks.diskstats = check(moved, kernel)
  if not r.checks.diskstats.agrees then
    doubt(r, "%d bytes completed, but the kernel counted %d: who else uses the device?", moved,
      kernel)
  end
end

return checks
