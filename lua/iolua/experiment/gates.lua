--- Validity gates: what makes a run worth nothing, with the reason.
--
-- A gate is a bound on something standard, or a function of the row that gives a reason. A row
-- that fails one is void: it is shown with its values, and counts in no statistics.
local nearest = require "iolua.nearest"

local gates = {}

--- Standard gates and their bounds; false turns one off. CPU pressure is off by default: a
--- load that has its CPU to itself can press on it too.
gates.STANDARD = {
  steal_percent = 5,            -- of all CPU time, taken by the hypervisor
  throttled = 0,                -- periods in which the cgroup's quota was used up
  memory_pressure_percent = 10, -- of the time, some task waited for memory
  cpu_pressure_percent = false, -- of the time, some task waited for a CPU
  punts_percent = 1,            -- of operations, handed to io-wq by io_uring
  bytes_percent = 5,            -- device bytes against application bytes, direct I/O
}

local function share(us, row)
  if not us or not row.elapsed_ns or row.elapsed_ns == 0 then return nil end
  return 100 * us * 1000 / row.elapsed_ns
end

local CHECKS = {
  steal_percent = function(row)
    return row.drift and row.drift.steal_percent, "the hypervisor took %.1f %% of the CPU time"
  end,
  throttled = function(row)
    return row.drift and row.drift.throttled, "the cgroup was throttled in %d periods"
  end,
  memory_pressure_percent = function(row)
    return row.drift and share(row.drift.pressure_memory_us, row),
      "tasks waited for memory %.0f %% of the time"
  end,
  cpu_pressure_percent = function(row)
    return row.drift and share(row.drift.pressure_cpu_us, row),
      "tasks waited for a CPU %.0f %% of the time"
  end,
  punts_percent = function(row)
    local e = row.evidence
    local ok = e and e.punts and e.ios and e.ios > 0
    return ok and 100 * e.punts / e.ios or nil, "%.1f %% of operations were punted to io-wq"
  end,
  bytes_percent = function(row)
    local e = row.evidence
    local ok = e and e.device_bytes and e.application_bytes and e.application_bytes > 0
    return ok and 100 * math.abs(e.device_bytes - e.application_bytes) / e.application_bytes
      or nil,
      "device and application moved bytes that differ by %.1f %%"
  end,
}

-- What this machine is doing meanwhile disturbs no run in virtual time.
local OF_THIS_MACHINE = { steal_percent = true, throttled = true, memory_pressure_percent = true,
                          cpu_pressure_percent = true }

local ORDER = nearest.keys(CHECKS)

--- The gates of an experiment: its own over the standard ones.
---@param own? table|false  name = bound or false; functions in the list part; false: none at all
---@param level? integer
---@return table
function gates.of(own, level)
  local bounds, functions = {}, {}
  if own == false then return { bounds = {}, functions = {} } end
  for name, bound in pairs(gates.STANDARD) do bounds[name] = bound end
  for name, value in pairs(own or {}) do
    if type(value) == "function" then
      functions[#functions + 1] = { name = tostring(name), test = value }
    elseif CHECKS[name] == nil or not (value == false or math.type(value)) then
      error(("gates: %s = %s is no gate%s"):format(tostring(name), tostring(value),
        nearest.hint(name, ORDER)), (level or 1) + 1)
    else
      bounds[name] = value
    end
  end
  table.sort(functions, function(a, b) return a.name < b.name end)
  return { bounds = bounds, functions = functions }
end

--- Why a row is void, or nil.
---@param set table  of gates.of
---@param row table
---@return string?
function gates.judge(set, row)
  if row.error then return nil end
  local virtual = row.evidence and row.evidence.simulated
  for _, name in ipairs(ORDER) do
    local bound = set.bounds[name]
    if bound and not (virtual and OF_THIS_MACHINE[name]) then
      local value, text = CHECKS[name](row)
      if value and value > bound then return text:format(value) end
    end
  end
  for _, gate in ipairs(set.functions) do
    local reason = gate.test(row)
    if reason then return reason == true and "gate " .. gate.name or tostring(reason) end
  end
  return nil
end

return gates
