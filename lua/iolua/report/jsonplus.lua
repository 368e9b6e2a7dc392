--- A result in the form of fio's json+, each run a job, for the tools that read it.
--
-- Latencies are in the bins of our own histogram: the upper edge of each bucket, ns.
local counts = require "iolua.experiment.counts"
local json = require "iolua.report.json"

local jsonplus = {}

local PERCENTILES = { 1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 99.5, 99.9, 99.95, 99.99 }

jsonplus.percentile = counts.percentile

local function latency(histogram)
  if not histogram or histogram.count == 0 then
    return json.object { min = 0, max = 0, mean = 0.0, stddev = 0.0, N = 0 }
  end
  local percentiles, bins, order, names = {}, {}, {}, {}
  for i, p in ipairs(PERCENTILES) do
    names[i] = ("%.6f"):format(p):gsub(",", ".")
    percentiles[names[i]] = jsonplus.percentile(histogram, p)
  end
  for i, bucket in ipairs(histogram.buckets) do
    local upper, count = counts.pair(bucket)
    order[i] = ("%d"):format(upper)
    bins[order[i]] = count
  end
  return json.object({
    min = histogram.min_ns, max = histogram.max_ns, mean = histogram.mean_ns,
    stddev = histogram.stddev_ns or 0.0, N = histogram.count,
    percentile = json.object(percentiles, names), bins = json.object(bins, order),
  }, { "min", "max", "mean", "stddev", "N", "percentile", "bins" })
end

-- One direction of a run.
local function side(moved, histogram, runtime_ms)
  moved = moved or {}
  local ios = moved.ios or histogram and histogram.count or 0
  local bw = math.floor((moved.bytes_per_s or 0) + 0.5)
  return json.object({
    io_bytes = moved.bytes or 0, io_kbytes = (moved.bytes or 0) // 1024, bw_bytes = bw,
    bw = bw // 1024, iops = moved.iops or 0.0, runtime = ios > 0 and runtime_ms or 0,
    total_ios = ios, short_ios = moved.short or 0, drop_ios = 0, slat_ns = latency(nil),
    clat_ns = latency(histogram), lat_ns = latency(histogram),
  }, { "io_bytes", "io_kbytes", "bw_bytes", "bw", "iops", "runtime", "total_ios", "short_ios",
       "drop_ios", "slat_ns", "clat_ns", "lat_ns" })
end

local function job_of(row)
  local e, h = row.evidence or {}, row.histograms or {}
  local writes_only = e.write and not e.read
  local runtime = ((e.elapsed_ns or row.elapsed_ns or 0) + 500000) // 1000000
  local options = {}
  for name, level in pairs(row.levels or {}) do options[name] = tostring(level) end
  return json.object({
    jobname = ("%s block %d%s"):format(row.label, row.block, row.duplicate and " A/A" or ""),
    groupid = 0, error = row.error and 5 or 0, eta = 0, elapsed = runtime // 1000,
    ["job options"] = json.object(options), job_runtime = runtime,
    read = side(e.read, h.read_lat or not writes_only and h.lat or nil, runtime),
    write = side(e.write, h.write_lat or writes_only and h.lat or nil, runtime),
    trim = side(nil, nil, 0),
  }, { "jobname", "groupid", "error", "eta", "elapsed", "job options", "read", "write", "trim",
       "job_runtime" })
end

--- The document.
---@param result iolua.result
---@return string
function jsonplus.document(result)
  local jobs = {}
  for i, row in ipairs(result.rows) do jobs[i] = job_of(row) end
  local versions = result.about and result.about.versions or {}
  return json.encode(json.object({
    ["fio version"] = "iolua-" .. tostring(versions.iolua), timestamp = os.time(),
    time = result.started, ["global options"] = json.object {}, jobs = json.array(jobs),
  }, { "fio version", "timestamp", "time", "global options", "jobs" }), { indent = true }) .. "\n"
end

return jsonplus
