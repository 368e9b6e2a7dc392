--- What `sysbench fileio run` prints, version 1.0.
local text = require "iolua.program.text"

local sysbench = {}

-- Label at the start of a line: key of the result, factor to bytes or ns.
local LINES = {
  ["reads/s"] = { "reads_per_s", 1 }, ["writes/s"] = { "writes_per_s", 1 },
  ["fsyncs/s"] = { "fsyncs_per_s", 1 }, ["read, MiB/s"] = { "read_bytes_per_s", 2^20 },
  ["written, MiB/s"] = { "write_bytes_per_s", 2^20 }, ["total time"] = { "seconds", 1, "s" },
  ["total number of events"] = { "events", 1 },
  ["min"] = { "latency_min_ns", 1e6 }, ["avg"] = { "latency_mean_ns", 1e6 },
  ["max"] = { "latency_max_ns", 1e6 }, ["sum"] = { "latency_sum_ns", 1e6 },
}
local NEEDED = { "reads_per_s", "writes_per_s", "read_bytes_per_s", "seconds", "events" }

local function integral(value)
  return math.tointeger(value) or value
end

--- Rates, latencies in ns; latencies come in steps of 10 us, as sysbench prints them.
---@param output string
---@return table? result
---@return string? message
function sysbench.read(output)
  local r, lines = {}, text.lines(output)
  for i, line in ipairs(lines) do
    local label, value, unit = line:match("^%s+([^:]+):%s+([%d.]+)(%a*)$")
    local entry = LINES[label]
    local percent = label and label:match("^(%d+)th percentile$")
    if (entry or percent) and not tonumber(value) then
      return text.refuse("sysbench", i, line)
    elseif entry then
      if unit ~= (entry[3] or "") then return text.refuse("sysbench", i, line) end
      r[entry[1]] = integral(tonumber(value) * entry[2])
    elseif percent then
      r.percentile = tonumber(percent)
      r.latency_percentile_ns = integral(tonumber(value) * 1e6)
    end
  end
  for _, key in ipairs(NEEDED) do
    if not r[key] then return text.refuse("sysbench", #lines, nil, "no " .. key) end
  end
  return r
end

return sysbench
