-- Bytes and requests of each leg while a job runs: of a volume in user space by its own counts,
-- of the kernel's by the disks' statistics.
local core = require "iolua.core"

local legs = {}

local function stat_of(m)
  if m.simulated or type(m.device) ~= "string" then return nil end
  local number = core.dm.number(m.device)
  local text = number and core.attr.read(("/sys/dev/block/%s/stat"):format(number))
  local ios, sectors = (text or ""):match("^%s*(%d+)%s+%d+%s+(%d+)")
  return ios and { ios = math.tointeger(tonumber(ios)), bytes = tonumber(sectors) * 512 // 1 | 0 }
end

--- Count the reads of the first n members while fn runs.
---@return table[]? counts  { ios, bytes } each; nil where they cannot be counted
---@return any ...          what fn gave
function legs.count(list, n, fn)
  local before = {}
  for i = 1, n do before[i] = stat_of(list[i]) end
  local r, message = fn()
  if r and r.legs then return r.legs, r, message end
  local counts = {}
  for i = 1, n do
    local now = before[i] and stat_of(list[i])
    if not now then return nil, r, message end
    counts[i] = { ios = now.ios - before[i].ios, bytes = now.bytes - before[i].bytes }
  end
  return counts, r, message
end

--- Largest against smallest leg, in per cent; nil where nothing moved.
function legs.imbalance(counts)
  local low, high = math.huge, 0
  for _, leg in ipairs(counts or {}) do
    low, high = math.min(low, leg.bytes), math.max(high, leg.bytes)
  end
  if high == 0 then return nil end
  return 100 * (high - low) / high
end

--- Mean bytes of a request.
function legs.request_bytes(counts)
  local ios, bytes = 0, 0
  for _, leg in ipairs(counts or {}) do ios, bytes = ios + leg.ios, bytes + leg.bytes end
  return ios > 0 and bytes / ios or nil
end

return legs
