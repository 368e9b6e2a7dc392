--- What dbench 3, 4 and 5 print: the result at the end, not the running means above it.
--
-- Its MB is 10^6 bytes. Warm-up is in none of its figures from version 4 on.
local text = require "iolua.program.text"

local dbench = {}

-- Throughput 139.643 MB/sec (sync open)  2 clients  2 procs  max_latency=163.479 ms
local function throughput(line)
  local rate, rest = line:match("^Throughput ([%d.e+-]+) MB/sec(.*)$")
  if not tonumber(rate) then return nil end
  local latency = rest:match("max_latency=([%d.]+) ms")
  local procs = math.tointeger(rest:match("(%d+) procs"))
  if not procs then return nil end
  return { bytes_per_s = tonumber(rate) * 1e6, procs = procs,
    clients = math.tointeger(rest:match("(%d+) clients")) or procs,
    latency_max_ns = latency and text.ns(latency, "ms"),
    sync_open = rest:find("(sync open)", 1, true) ~= nil,
    sync_dirs = rest:find("(sync dirs)", 1, true) ~= nil }
end

local function operation(line)
  local name, count, mean, max = line:match("^%s*(%a[%w_]*)%s+(%d+)%s+([%d.]+)%s+([%d.]+)%s*$")
  if not name then return nil end
  return name, { count = math.tointeger(count), mean_ns = text.ns(mean, "ms"),
    max_ns = text.ns(max, "ms") }
end

-- The table of operations from line i on: the table and the line after it, or a refusal.
local function operations(lines, i)
  local ops = {}
  while lines[i] and not lines[i]:find("^Throughput") do
    local line = lines[i]
    local name, entry = operation(line)
    if name then ops[name] = entry
    elseif line:find("%S") and not line:find("^%s*%-+$") then
      return nil, select(2, text.refuse("dbench", i, line))
    end
    i = i + 1
  end
  return ops, i
end

--- The result. One that broke off, so that only running means are there, is refused.
---@param output string
---@return table? result  bytes_per_s, clients, procs, latency_max_ns, operations of each kind:
---  count, mean_ns, max_ns; version
---@return string? message
function dbench.read(output)
  local lines, version, ops = text.lines(output), nil, nil
  local i = 1
  while i <= #lines do
    local line = lines[i]
    version = version or line:match("^dbench version ([%d.]+)")
    if line:find("^%s*Operation%s+Count%s+AvgLat%s+MaxLat%s*$") then
      local at
      ops, at = operations(lines, i + 1)
      if not ops then return nil, at end
      i = at - 1
    elseif line:find("^Throughput") then
      local r = throughput(line)
      if not r then return text.refuse("dbench", i, line) end
      r.version, r.operations = version, ops
      return r
    end
    i = i + 1
  end
  return text.refuse("dbench", #lines, nil, "there is no Throughput line, only running means")
end

return dbench
