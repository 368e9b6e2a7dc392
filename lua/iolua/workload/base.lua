--- What the workloads share: their target, one synchronous job, files of their own.
local core = require "iolua.core"
local job = require "iolua.job"
local open = require "iolua.open"

local base = {}

--- The options that name a target, for a workload's schema.
base.TARGET = {
  direct = { type = "boolean", default = false, help = "O_DIRECT" },
  overwrite = { type = "boolean", default = false, help = "a file that exists may be written" },
  destroy = { type = "path", help = "device whose data may be lost: its own path" },
}

--- `own` and the shared options in one table.
function base.options(own)
  for name, entry in pairs(base.TARGET) do own[name] = own[name] or entry end
  return own
end

--- A target given as a path is opened, one that is open is used as it is.
---@return iolua.file?
---@return string? message
---@return integer? errno
function base.open(target, o, write)
  if type(target) ~= "string" then return target end
  return open(target, { write = write or nil, create = write or nil,
    overwrite = write and o.overwrite or nil, destroy = write and o.destroy or nil,
    direct = o.direct or nil })
end

--- What is to be closed of a target: the file that base.open opened, or nothing.
function base.owned(target, f)
  return type(target) == "string" and f or nil
end

--- A file of the workload's own in a folder, without a name: nothing is left of it.
---@return iolua.file?
---@return string? message
---@return integer? errno
function base.scratch(folder, direct)
  return core.file.scratch(folder, direct or false)
end

--- One worker, one operation at a time.
---@param options table  of iolua.job
---@return table? result
---@return string? message
---@return integer? errno
---@async
function base.sync(options)
  options.engine, options.iodepth, options.clock = "sync", 1, "each"
  return job(options)
end

--- Seconds of a job, its last fsync included.
function base.seconds(r)
  return ((r.elapsed_ns or 0) + (r.end_fsync_ns or 0)) / 1e9
end

--- CPU used as per cent of a time, as the originals print it.
function base.percent(used_ns, seconds)
  return seconds > 0 and used_ns / 1e9 / seconds * 100 or nil
end

--- Share of a histogram's values above a time, in per cent; a bucket counts where it ends.
function base.above(lat, ns)
  local n, count = 0, lat:count()
  for _, bucket in ipairs(lat:buckets()) do
    if bucket.upper > ns then n = n + bucket.count end
  end
  return count > 0 and n / count * 100 or 0.0
end

return base
