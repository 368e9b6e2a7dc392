--- What a job found: rates and latencies from the workers' integers.
--
-- Nothing measured is nil, never zero. Rates are over elapsed_ns.
local result = {}

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
  if raw.ios == 0 and raw.errors == 0 then return nil end
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
  for _, name in ipairs { "read", "write", "sync" } do
    r[name] = side(raw[name], raw.elapsed_ns)
  end
  r.depth_mean = raw.depth_mean > 0 and raw.depth_mean or nil
  r.end_fsync_ns = raw.end_fsync_ns > 0 and raw.end_fsync_ns or nil
  r.error = raw.error
  r.begin_ns, r.end_ns = raw.begin_ns, raw.end_ns
  return r
end

--- Operations that failed.
---@param r table
---@return integer
function result.errors(r)
  local n = 0
  for _, name in ipairs { "read", "write", "sync" } do
    n = n + (r[name] and r[name].errors or 0)
  end
  return n
end

--- Operations that succeeded.
---@param r table
---@return integer
function result.ios(r)
  local n = 0
  for _, name in ipairs { "read", "write", "sync" } do n = n + (r[name] and r[name].ios or 0) end
  return n
end

return result
