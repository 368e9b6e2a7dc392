--- What the jobs of a job file did: a table for people, or fio's own JSON.
local core = require "iolua.core"
local json = require "iolua.report.json"
local text = require "iolua.report.text"

local report = {}

local PERCENTILES = { 1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 99.5, 99.9, 99.95, 99.99 }

-- One direction of several results: counts added, latencies merged, rates over the whole span.
local function merged_side(results, name)
  local m = { ios = 0, bytes = 0, errors = 0, short = 0, lat = core.hist.new() }
  local first, last = math.maxinteger, 0
  for _, r in ipairs(results) do
    local s = r[name]
    if s then
      for _, key in ipairs { "ios", "bytes", "errors", "short" } do m[key] = m[key] + s[key] end
      m.lat:merge(s.lat)
      first, last = math.min(first, r.begin_ns), math.max(last, r.end_ns)
    end
  end
  if m.ios + m.errors == 0 then return nil end
  m.elapsed_ns = last - first
  if m.elapsed_ns > 0 then
    m.iops, m.bytes_per_s = m.ios * 1e9 / m.elapsed_ns, m.bytes * 1e9 / m.elapsed_ns
  end
  return m
end

-- What was read back of verified jobs, as results of their own: how long it took is not kept.
local function read_back(results)
  local list = {}
  for i, r in ipairs(results) do
    local back = r.verify and r.verify.read_back
    local ns = back and back.bytes_per_s and math.floor(back.bytes * 1e9 / back.bytes_per_s)
    list[i] = { read = back, begin_ns = 0, end_ns = ns or 0 }
  end
  return list
end

local function row_of(name, copies, results)
  local row = { name = name, copies = copies, user_ns = 0, system_ns = 0 }
  for _, side in ipairs { "read", "write", "trim" } do row[side] = merged_side(results, side) end
  row.verify = merged_side(read_back(results), "read")
  for _, r in ipairs(results) do
    row.user_ns = row.user_ns + r.cpu.user_ns
    row.system_ns = row.system_ns + r.cpu.system_ns
    row.engine = row.engine or r.engine
  end
  return row
end

-- Where jobs are reported as a group they are one row, under the first one's name.
local function rows_of(list)
  local rows, groups = {}, {}
  for _, entry in ipairs(list) do
    local one = entry.job
    local shared = one.group_reporting and groups[one.group]
    if shared then
      table.move(entry.results, 1, #entry.results, #shared.results + 1, shared.results)
    elseif one.group_reporting then
      groups[one.group] = { name = one.name, group = one.group,
        results = table.move(entry.results, 1, #entry.results, 1, {}) }
      rows[#rows + 1] = groups[one.group]
    else
      for _, r in ipairs(entry.results) do
        rows[#rows + 1] = { name = one.name, group = one.group, results = { r } }
      end
    end
  end
  for i, row in ipairs(rows) do
    local group = row.group
    rows[i] = row_of(row.name, #row.results, row.results)
    rows[i].group = group
  end
  return rows
end

local COLUMNS = {
  { key = "job" }, { key = "copies" }, { key = "side" }, { key = "ios" },
  { key = "iops", unit = "/s" },
  { key = "rate", unit = "MB/s" }, { key = "mean", unit = "us" }, { key = "p50", unit = "us" },
  { key = "p99", unit = "us" }, { key = "max", unit = "us" }, { key = "errors" },
}

local function us(ns) return ns and ns / 1000 end

--- The table: one row a job (or group) and direction.
---@param list table  of iolua.fio.run
---@return string
function report.text(list)
  local lines = {}
  for _, row in ipairs(rows_of(list)) do
    for _, side in ipairs { "read", "write", "trim", "verify" } do
      local s = row[side]
      if s then
        lines[#lines + 1] = { job = row.name, copies = row.copies, side = side, ios = s.ios,
          iops = s.iops, rate = s.bytes_per_s and s.bytes_per_s / 1e6, mean = us(s.lat:mean()),
          p50 = us(s.lat:percentile(50)), p99 = us(s.lat:percentile(99)), max = us(s.lat:max()),
          errors = s.errors }
      end
    end
  end
  return text.table(COLUMNS, lines)
end

local function latency_json(lat)
  local percentile, order, bins = {}, {}, {}
  for i, p in ipairs(PERCENTILES) do
    order[i] = ("%.6f"):format(p)
    percentile[order[i]] = lat:percentile(p) or 0
  end
  local bin_order = {}
  for i, bucket in ipairs(lat:buckets()) do
    bin_order[i] = tostring(bucket.upper)
    bins[bin_order[i]] = bucket.count
  end
  return { min = lat:min() or 0, max = lat:max() or 0, mean = lat:mean() or 0.0,
    stddev = lat:stddev() or 0.0, N = lat:count(), percentile = json.object(percentile, order),
    bins = json.object(bins, bin_order) }
end

local function side_json(s)
  if not s then return { io_bytes = 0, total_ios = 0, bw_bytes = 0, iops = 0.0, runtime = 0 } end
  return { io_bytes = s.bytes, io_kbytes = s.bytes // 1024, total_ios = s.ios, short_ios = s.short,
    bw_bytes = math.floor(s.bytes_per_s or 0), bw = math.floor((s.bytes_per_s or 0) / 1024),
    iops = s.iops or 0.0, runtime = s.elapsed_ns // 1000000, clat_ns = latency_json(s.lat) }
end

--- The same as fio's json+: what reads fio's results reads ours.
---@param list table
---@return string
function report.json(list)
  local jobs = {}
  for i, row in ipairs(rows_of(list)) do
    local errors = (row.read and row.read.errors or 0) + (row.write and row.write.errors or 0)
    jobs[i] = { jobname = row.name, groupid = row.group - 1, error = errors > 0 and 5 or 0,
      read = side_json(row.read or row.verify), write = side_json(row.write),
      trim = side_json(row.trim), numjobs = row.copies }
  end
  return json.encode({ ["fio version"] = "iolua", jobs = json.array(jobs) }, { indent = true })
end

return report
