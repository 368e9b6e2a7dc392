--- fio's JSON, also json+ with its bins.
local json = require "iolua.report.json"

local fio = {}

local SIDES = { read = "read", write = "write", trim = "trim" }

-- The value where it is of the kind, else nil: a file may hold anything.
local function of_kind(kind, value)
  if type(value) == kind then return value end
end

local function number(value) return of_kind("number", value) end
local function text(value) return of_kind("string", value) end

local function sorted_pairs(raw)
  local list = {}
  for key, value in pairs(raw) do
    local at = tonumber(key)
    if at and number(value) then list[#list + 1] = { math.tointeger(at) or at, value } end
  end
  table.sort(list, function(a, b) return a[1] < b[1] end)
  return list
end

-- One latency object of fio: count, mean, ..., percentiles and bins as sorted lists of pairs.
local function latency(raw)
  if type(raw) ~= "table" or not number(raw.N) or raw.N <= 0 then return nil end
  local l = { count = raw.N, min_ns = number(raw.min), max_ns = number(raw.max),
    mean_ns = number(raw.mean), stddev_ns = number(raw.stddev) }
  for from, to in pairs { percentile = "percentiles", bins = "bins" } do
    if type(raw[from]) == "table" then l[to] = sorted_pairs(raw[from]) end
  end
  return l
end

local function side(raw)
  if type(raw) ~= "table" or (number(raw.total_ios) or 0) == 0 then return nil end
  return { ios = raw.total_ios, bytes = number(raw.io_bytes), short = number(raw.short_ios),
    bytes_per_s = number(raw.bw_bytes), iops = number(raw.iops),
    elapsed_ns = number(raw.runtime) and raw.runtime * 1000000,
    submission = latency(raw.slat_ns), completion = latency(raw.clat_ns),
    latency = latency(raw.lat_ns) }
end

local function job(raw)
  local r = { name = text(raw.jobname), group = number(raw.groupid), error = number(raw.error),
    options = of_kind("table", raw["job options"]), user_percent = number(raw.usr_cpu),
    system_percent = number(raw.sys_cpu), switches = number(raw.ctx) }
  for key, name in pairs(SIDES) do r[name] = side(raw[key]) end
  return r
end

--- Every job, and the disks it used. Latencies in ns; `completion` is fio's clat, `latency` its
--- lat (from the intended start). Text before the JSON, as warnings print it, is skipped.
---@param output string
---@return table? result  version, jobs = { { name, read, write, trim, error, ... } }, disks
---@return string? message
function fio.read(output)
  local start = output:find("^{") or (output:find("\n{") or 0) + 1
  if start == 1 and output:sub(1, 1) ~= "{" then return nil, "fio: no JSON in its output" end
  local raw, message = json.decode(output:sub(start))
  if not raw then return nil, "fio: its JSON is broken: " .. tostring(message) end
  if type(raw) ~= "table" or type(raw.jobs) ~= "table" or not raw["fio version"] then
    return nil, "fio: its JSON has no jobs"
  end
  local r = { version = raw["fio version"], jobs = {}, disks = raw.disk_util }
  for i, one in ipairs(raw.jobs) do
    if type(one) ~= "table" then return nil, ("fio: job %d of its JSON is no object"):format(i) end
    r.jobs[i] = job(one)
  end
  return r
end

--- Put a latency's bins into a histogram (iolua.hist()): json+ has them. A bin of fio's is
--- known by a value within it, to 1/64; ours keep that value to 1/128.
---@param hist table    with :record(ns, count)
---@param lat table     as fio.read gives it
---@return integer? count  recorded
---@return string? message
function fio.record(hist, lat)
  if not lat or not lat.bins then
    return nil, "fio: no bins: they are in --output-format=json+ alone"
  end
  local count = 0
  for _, bin in ipairs(lat.bins) do
    if bin[2] > 0 then hist:record(bin[1], bin[2]) end
    count = count + bin[2]
  end
  return count
end

return fio
