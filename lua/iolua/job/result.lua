--- What a job found: rates and latencies from the workers' integers.
--
-- Nothing measured is nil, never zero. Rates are over elapsed_ns.
local result = {}

local SIDES = { "read", "write", "sync", "trim" }

local function rate(count, ns)
  if count == 0 or ns == 0 then return nil end
  return count * 1e9 / ns
end

--- One direction. nil where it did nothing and failed at nothing.
---@class iolua.job.side
---@field ios integer       operations that succeeded in the window
---@field bytes integer     bytes they moved
---@field errors integer    operations that failed, in the whole run
---@field short integer     of ios: moved less than asked (the end of a file)
---@field iops number?
---@field bytes_per_s number?
---@field lat iolua.hist    ns
local function side(raw, ns)
  if not raw or raw.ios == 0 and raw.errors == 0 then return nil end
  raw.iops = rate(raw.ios, ns)
  raw.bytes_per_s = rate(raw.bytes, ns)
  return raw
end

local function cpu(raw)
  local ios = raw.read.ios + raw.write.ios + raw.sync.ios
  local used = raw.user_ns + raw.system_ns
  return { user_ns = raw.user_ns, system_ns = raw.system_ns,
    ns_per_io = ios > 0 and used / ios or nil }
end

--- A result table from one raw table (a worker's, or all merged).
---@param raw table
---@return table
function result.of(raw)
  local r = { elapsed_ns = raw.elapsed_ns > 0 and raw.elapsed_ns or nil, cpu = cpu(raw) }
  for _, name in ipairs(SIDES) do
    r[name] = side(raw[name], raw.elapsed_ns)
  end
  r.depth_mean = raw.depth_mean > 0 and raw.depth_mean or nil
  r.end_fsync_ns = raw.end_fsync_ns > 0 and raw.end_fsync_ns or nil
  r.error, r.stuck = raw.error, raw.stuck
  r.begin_ns, r.end_ns = raw.begin_ns, raw.end_ns
  return r
end

--- One interval: what the sides did in it, and their rates.
---@param raw table
---@return table  begin_ns, end_ns (from the begin of the window), elapsed_ns, read, write, sync
function result.point(raw)
  local ns = raw.end_ns - raw.begin_ns
  local p = { begin_ns = raw.begin_ns, end_ns = raw.end_ns, elapsed_ns = ns }
  for _, name in ipairs(SIDES) do p[name] = side(raw[name], ns) end
  p.depth_mean = raw.depth_mean
  return p
end

local function overloaded(list)
  for _, worker in ipairs(list) do
    if worker.backlog_max > worker.backlog_limit then return true end
  end
  return false
end

-- "overloaded: 1000 operations/s asked, 500 achieved; 5000 behind at worst, 1000 allowed".
local function sentence(pace)
  return ("overloaded: %.6g %s/s asked, %.6g achieved; %d operations behind at worst, %d allowed")
    :format(pace.asked, pace.of_bytes and "bytes" or "operations", pace.achieved or 0,
      pace.backlog_max, pace.backlog_limit)
end

--- What an open loop adds to a result: latencies from submission beside those from the intended
--- start, and how the starts were kept.
---@param r table
---@param raw table?      nil: a closed loop
---@param workers table?  results of the workers r is the sum of
function result.add_pace(r, raw, workers)
  if not raw then return end
  for _, name in ipairs(SIDES) do
    if r[name] then r[name].service = raw[name] end
  end
  local done = result.ios(r)
  if raw.of_bytes then done = result.bytes(r) end
  local list = { raw }
  if workers then
    for i, worker in ipairs(workers) do list[i] = worker.pace end
  end
  r.slat = raw.slat
  r.pace = { asked = raw.rate, achieved = rate(done, r.elapsed_ns or 0), of_bytes = raw.of_bytes,
    missed = raw.missed, backlog_max = raw.backlog_max, backlog_end = raw.backlog_end,
    backlog_limit = raw.backlog_limit, overloaded = overloaded(list) }
  if r.pace.overloaded then r.pace.message = sentence(r.pace) end
end

--- What a trimming job counted as writes are trims: of a result, a worker's or an interval.
function result.trimmed(r)
  r.trim, r.write = r.write, nil
  if r.error and r.error.operation == "write" then r.error.operation = "discard" end
  return r
end

--- Operations that failed.
---@param r table
---@return integer
function result.errors(r)
  local n = 0
  for _, name in ipairs(SIDES) do
    n = n + (r[name] and r[name].errors or 0)
  end
  return n
end

--- Operations that succeeded.
---@param r table
---@return integer
function result.ios(r)
  local n = 0
  for _, name in ipairs(SIDES) do n = n + (r[name] and r[name].ios or 0) end
  return n
end

--- Bytes that reads and writes moved.
---@param r table
---@return integer
function result.bytes(r)
  return (r.read and r.read.bytes or 0) + (r.write and r.write.bytes or 0)
end

return result
