-- Could it matter here? Whatever places change, they change CPU time, and how deeply the CPU sleeps
-- that is woken. An operation can gain or lose no more than the CPU time that it costs and the
-- time of one waking. Where that is less than the smallest difference of interest, beside the
-- time that the operation takes, the question has no answer on this disk.
local core = require "iolua.core"

local ceiling = {}

-- Of the line with the least: what others did meanwhile is in all of them.
local function least(lines, metric)
  local found
  for _, line in ipairs(lines) do
    local value = line[metric]
    if value and (not found or value < found) then found = value end
  end
  return found
end

-- Time to leave the deepest idle state, in us; 0 where there is none.
local function waking()
  local most, state = 0, 0
  while true do
    local us = tonumber((core.attr.read(("/sys/devices/system/cpu/cpu0/cpuidle/state%d/latency")
      :format(state))))
    if not us then return most end
    most, state = math.max(most, us), state + 1
  end
end

--- Why no place can matter for a load; nil where it can, or nothing is known.
---@param load table     its `metric` says what is judged: CPU time itself always matters
---@param lines table[]  of one mode's cells: busy_us_per_op, p50_us
---@param smallest number  percent that is of interest
---@return string?
function ceiling.why(load, lines, smallest)
  if load.metric == "busy_us_per_op" then return nil end
  local busy, takes = least(lines, "busy_us_per_op"), least(lines, "p50_us")
  if not busy or not takes or takes <= 0 then return nil end
  local most = 100 * (busy + waking()) / takes
  if most >= smallest then return nil end
  return ("an operation takes %.4g us and costs all CPUs together %.3g us, so that at most %.2g %% "
    .. "could be gained"):format(takes, busy, most)
end

return ceiling
