--- fio's options in iolua's words: which are run, which change nothing here, which are refused.
--
-- A translator is called with the job being made, the value and the option; it fills job.o (the
-- options of iolua.job) or the job itself, and returns a sentence when the value is not to be had.
local units = require "iolua.fio.units"

local options = {}

local CLONES_MAX, LOOPS_MAX = 4096, 1000000000

local function bad(value, what) return ("%q is not %s"):format(value, what) end

local function integer(key)
  return function(job, value)
    local number = math.tointeger(tonumber(value))
    if not number or number < 0 then return bad(value, "a count") end
    job.o[key] = number
  end
end

local function size(key)
  return function(job, value)
    local bytes = units.bytes(value, job.kb_base)
    if not bytes then return bad(value, "a size") end
    job.o[key] = bytes
  end
end

local function time(key, unit)
  return function(job, value)
    local ns = units.ns(value, unit)
    if not ns then return bad(value, "a time") end
    job.o[key] = ns
  end
end

local function truth(value)
  if value == "1" or value == "true" or value == "yes" then return true end
  if value == "0" or value == "false" or value == "no" then return false end
end

local function flag(set)
  return function(job, value)
    local on = truth(value)
    if on == nil then return bad(value, "0 or 1") end
    set(job, on)
  end
end

-- One value for reads and writes: "4k" or "4k,4k".
local function same_for_all(value)
  local list = units.split(value, ",")
  for _, other in ipairs(list) do
    if other ~= "" and other ~= list[1] then return nil end
  end
  return list[1]
end

local function block_size(job, value)
  local one = same_for_all(value)
  if not one then return "different sizes for reads and writes are not to be had" end
  local bytes = units.bytes(one, job.kb_base)
  if not bytes or bytes == 0 then return bad(value, "a size") end
  job.o.bs = bytes
end

local function block_range(job, value)
  local one = same_for_all(value)
  if not one then return "different sizes for reads and writes are not to be had" end
  local low, high = one:match("^([^%-:]+)[%-:]([^%-:]+)$")
  low, high = low and units.bytes(low, job.kb_base), high and units.bytes(high, job.kb_base)
  if not low or not high then return bad(value, "a range of sizes") end
  job.o.bs = ("%d-%d"):format(low, high)
end

-- 4k/60:64k/40; a size without a percentage shares what is left.
local function block_split(job, value)
  local one = same_for_all(value)
  if not one then return "different sizes for reads and writes are not to be had" end
  local mix = {}
  for _, part in ipairs(units.split(one, ":")) do
    local text, percent = part:match("^([^/]+)/?(%d*)$")
    local bytes = text and units.bytes(text, job.kb_base)
    if not bytes or bytes == 0 then return bad(value, "a mix of sizes") end
    if percent == "" then mix[#mix + 1] = tostring(bytes)
    else mix[tostring(bytes)] = math.tointeger(percent) end
  end
  job.o.bs = mix
end

local KINDS = { read = "read", write = "write", randread = "randread", randwrite = "randwrite",
                rw = "rw", readwrite = "rw", randrw = "randrw", trim = "trim", randtrim = "randtrim" }

local function kind(job, value)
  if not KINDS[value] then return ("rw=%s is not to be had"):format(value) end
  job.o.rw = KINDS[value]
end

local ENGINES = { io_uring = "auto", libaio = "auto", psync = "sync", sync = "sync",
                  pvsync = "sync", pvsync2 = "sync", vsync = "sync", posixaio = "threads" }

local function engine(job, value)
  if not ENGINES[value] then return ("ioengine=%s is not to be had"):format(value) end
  job.o.engine = ENGINES[value]
end

-- zipf:1.2, pareto:0.2, normal:10, zoned:60/10:40/90, zoned_abs:...
local function distribution(job, value)
  if value == "random" then return end
  if value:find("^zoned_abs") then return "random_distribution=zoned_abs is not to be had" end
  job.o.distribution = value
end

local function rate(key, parse)
  return function(job, value)
    local one = same_for_all(value)
    local number = one and parse(one, job)
    if not number then return "one rate for reads and writes is all that is to be had" end
    job.o[key] = number
  end
end

local function region(job, value)
  local percent = value:match("^(%d+)%%$")
  job.size_percent = percent and math.tointeger(percent)
  if percent and (job.size_percent < 1 or job.size_percent > 100) then
    return bad(value, "1..100 %")
  end
  if not percent then return size("size")(job, value) end
end

local function property(key)
  return function(job, value) job[key] = value end
end

local function count_of(key, most)
  return function(job, value)
    local number = math.tointeger(tonumber(value))
    if not number or number < 1 then return bad(value, "a count") end
    if number > most then return ("%s is too many: up to %d"):format(value, most) end
    job[key] = number
  end
end

local function splits(job, value)
  if value ~= "split" and value ~= "shared" then return bad(value, "shared or split") end
  job.o.cpus_allowed_policy = value
end

local function on_error(job, value)
  if value == "none" then return end
  if not (value == "all" or value == "1" or value == "io") then
    return ("continue_on_error=%s is not to be had"):format(value)
  end
  job.o.continue_on_error = true
end

-- What sums up a whole block by itself: ours does so with a sum of its own. fio's own headers,
-- patterns and the like are other things.
local SUMS = {}
for name in ("md5 crc64 crc32c crc32c-intel crc32 crc16 crc7 xxhash sha512 sha256 sha1 sha3-224 "
  .. "sha3-256 sha3-384 sha3-512"):gmatch("%S+") do SUMS[name] = true end

local function verified(job, value)
  if not SUMS[value] then return ("verify=%s is not to be had: a sum of each block is"):format(value) end
  job.o.verify = true
end

local function files(job, value)
  job.files = units.split((value:gsub("\\:", "\0")), ":")
  for i, name in ipairs(job.files) do job.files[i] = name:gsub("%z", ":") end
end

--- Options that are run, by fio's names.
options.SUPPORTED = {
  rw = kind, readwrite = kind, bs = block_size, blocksize = block_size, bsrange = block_range,
  blocksize_range = block_range, bssplit = block_split, size = region, filesize = region,
  io_size = size "io_size", io_limit = size "io_size", offset = size "offset",
  number_ios = integer "number_ios", iodepth = integer "iodepth",
  iodepth_batch = integer "batch", iodepth_batch_submit = integer "batch",
  runtime = time("runtime", "s"), timeout = time("runtime", "s"),
  ramp_time = time("ramp_time", "s"),
  thinktime = time("thinktime", "us"), thinktime_blocks = integer "thinktime_blocks",
  startdelay = function(job, value)
    job.delay_ns = units.ns(value, "s")
    return not job.delay_ns and bad(value, "a time") or nil
  end,
  rwmixread = integer "rwmixread",
  rwmixwrite = function(job, value)
    local number = math.tointeger(tonumber(value))
    if not number or number > 100 then return bad(value, "per cent") end
    job.o.rwmixread = 100 - number
  end,
  random_distribution = distribution,
  rate = rate("rate", function(text, job) return units.bytes(text, job.kb_base) end),
  rate_iops = rate("rate_iops", function(text) return tonumber(text) end),
  rate_process = function(job, value)
    if value == "linear" then return end
    if value ~= "poisson" then return ("rate_process=%s is not to be had"):format(value) end
    job.o.arrival = "poisson"
  end,
  direct = flag(function(job, on) job.o.direct = on end),
  buffered = flag(function(job, on) job.o.direct = not on end),
  fsync = integer "fsync", fdatasync = integer "fdatasync",
  end_fsync = flag(function(job, on) job.o.end_fsync = on end),
  norandommap = flag(function(job, on) job.o.norepeat = not on end),
  time_based = flag(function(job, on) job.time_based = on end),
  randseed = integer "seed", cpus_allowed_policy = splits, ioengine = engine,
  cpus_allowed = function(job, value) job.o.cpus = value end,
  continue_on_error = on_error,
  hipri = flag(function(job, on) job.ring.iopoll = on end),
  sqthread_poll = flag(function(job, on) job.ring.sqpoll = on end),
  sqthread_poll_cpu = function(job, value) job.ring.sq_cpu = math.tointeger(tonumber(value)) end,
  filename = files, directory = property "directory", name = property "name",
  numjobs = count_of("clones", CLONES_MAX), loops = count_of("loops", LOOPS_MAX),
  nrfiles = function(job, value)
    if value ~= "1" then return "nrfiles above 1 is not to be had: list them by filename" end
    job.nrfiles = 1
  end,
  file_service_type = function(job, value)
    if value ~= "roundrobin" and value ~= "sequential" then
      return ("file_service_type=%s is not to be had"):format(value)
    end
    job.service = value
  end,
  stonewall = flag(function(job, on) job.stonewall = on end),
  wait_for_previous = flag(function(job, on) job.stonewall = on end),
  wait_for = property "wait_for",
  verify = verified,
  do_verify = flag(function(job, on) job.do_verify = on end),
  group_reporting = flag(function(job, on) job.group_reporting = on end),
  new_group = flag(function(job, on) job.new_group = on end),
  invalidate = flag(function(job, on) job.keep_cache = not on end),
  unlink = flag(function(job, on) job.unlink = on end),
  kb_base = function(job, value)
    if value ~= "1024" and value ~= "1000" then return bad(value, "1024 or 1000") end
    job.kb_base = math.tointeger(tonumber(value))
  end,
}

--- Options that change nothing that is measured here, and why they are passed over.
options.IGNORED = {
  description = "a remark", thread = "workers are threads", randrepeat = "seeds are told",
  registerfiles = "done where it can be", fixedbufs = "done where it can be",
  nonvectored = "how it is submitted", sqthread_poll_idle = "how it is submitted",
  gtod_reduce = "clocks are cheap here", clocksource = "one monotonic clock",
  disable_lat = "all are kept", disable_clat = "all are kept", disable_slat = "all are kept",
  disable_bw_measurement = "all are kept", lat_percentiles = "all are kept",
  clat_percentiles = "all are kept", percentile_list = "all are kept",
  unified_rw_reporting = "both are told",
  random_generator = "another generator", userspace_reap = "how it is reaped",
  significant_figures = "how it is printed", thread_affinity = "cpus_allowed",
  refill_buffers = "contents are random", scramble_buffers = "contents are random",
  allow_file_create = "files are made", create_serialize = "files are made first",
  fallocate = "files are written whole", exitall_on_error = "an error ends the run",
  group_id = "a name", eta = "how it is printed",
}

--- Names of options that a job needs but iolua.job does not know (yet).
---@param o table
---@param known table
---@return string[]
function options.unknown(o, known)
  local list = {}
  for key in pairs(o) do
    if not known[key] then list[#list + 1] = key end
  end
  table.sort(list)
  return list
end

return options
