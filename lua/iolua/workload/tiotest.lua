--- tiotest: n threads, each on its own file: write, random write, read, random read.
--
-- The last fsync of each phase is within its time. MB are 2^20 bytes. Random places may repeat.
-- The files have no names, so nothing is left of them; phases that read follow their writing.
local base = require "iolua.workload.base"
local job = require "iolua.job"
local schema = require "iolua.schema"

local tiotest = {}

local MIB = 1 << 20
local PHASES = { "write", "random_write", "read", "random_read" }
local RW = { write = "write", random_write = "randwrite", read = "read", random_read = "randread" }

local OPTIONS = {
  dir = { type = "path", default = ".", help = "folder of the files" },
  threads = { type = "integer", default = 4, min = 1, max = 1024, help = "-t" },
  size = { type = "size", default = "10m", min = 1, help = "bytes of each file, -f" },
  bs = { type = "size", default = 4096, min = 1, help = "bytes a block, -b" },
  random_ops = { type = "integer", default = 1000, min = 1, help = "of each thread, -r" },
  direct = { type = "boolean", default = false, help = "-X" },
  seed = { type = "integer", default = 1, min = 0, help = "of random places" },
  skip = { choices = PHASES, list = true, default = {}, help = "phases left out, -k" },
}

local function closer(list)
  return setmetatable({}, { __close = function()
    for _, f in ipairs(list) do f:close() end
  end })
end

-- From the first worker's start to the last one's end, its fsync included.
local function span(r)
  local first, last = math.maxinteger, 0
  for _, worker in ipairs(r.workers) do
    first = math.min(first, worker.begin_ns)
    last = math.max(last, worker.end_ns + (worker.end_fsync_ns or 0))
  end
  return (last - first) / 1e9
end

local function entry(r, side, o)
  local seconds = span(r)
  return { bytes = side.bytes, seconds = seconds,
    bytes_per_s = seconds > 0 and side.bytes / seconds or nil,
    user_percent = base.percent(r.cpu.user_ns / o.threads, seconds),
    system_percent = base.percent(r.cpu.system_ns / o.threads, seconds),
    mean_ns = side.lat:mean(), max_ns = side.lat:max(), lat = side.lat,
    over_2s_percent = base.above(side.lat, 2000000000),
    over_10s_percent = base.above(side.lat, 10000000000) }
end

local function phase(name, files, o)
  local writing, random = name:find("write") ~= nil, name:find("random") ~= nil
  local size = o.size // o.bs * o.bs
  local r, message, errno = job { target = files, rw = RW[name], bs = o.bs, size = size,
    numjobs = o.threads, number_ios = random and o.random_ops or nil, engine = "sync",
    clock = "each", seed = o.seed, end_fsync = writing or nil }
  if not r then return nil, ("tiotest %s: %s"):format(name, message), errno end
  return entry(r, writing and r.write or r.read, o)
end

local function total(r)
  local lat = require("iolua.core").hist.new()
  for _, name in ipairs(PHASES) do
    if r[name] then lat:merge(r[name].lat) end
  end
  return { mean_ns = lat:mean(), max_ns = lat:max(), over_2s_percent = base.above(lat, 2000000000),
    over_10s_percent = base.above(lat, 10000000000) }
end

--- Run it.
---@param options table
---@return table? result  write, random_write, read, random_read, total: as the reader has them
---@return string? message
---@return integer? errno
---@async
function tiotest.run(options)
  local o = schema.check(OPTIONS, options, 2, "tiotest")
  if o.size < o.bs then error("tiotest: size is less than a block", 2) end
  local files = {}
  local _ <close> = closer(files)
  for i = 1, o.threads do
    local f, message, errno = base.scratch(o.dir, o.direct)
    if not f then return nil, "tiotest: " .. message, errno end
    files[i] = f
    local ok, why, code = f:truncate(o.size)
    if not ok then return nil, "tiotest: " .. why, code end
  end
  local skipped, r = {}, { threads = o.threads }
  for _, name in ipairs(o.skip) do skipped[name] = true end
  for _, name in ipairs(PHASES) do
    if not skipped[name] then
      local message, errno
      r[name], message, errno = phase(name, files, o)
      if not r[name] then return nil, message, errno end
    end
  end
  r.total = total(r)
  return r
end

local TITLES = { write = "Write", random_write = "Random Write", read = "Read",
                 random_read = "Random Read" }

local RATES = [[
,----------------------------------------------------------------------.
| Item                  | Time     | Rate         | Usr CPU  | Sys CPU |
+-----------------------+----------+--------------+----------+---------+
]]
local LATENCIES = [[
Tiotest latency results:
,-------------------------------------------------------------------------.
| Item         | Average latency | Maximum latency | % >2 sec | % >10 sec |
+--------------+-----------------+-----------------+----------+-----------+
]]

--- As tiotest prints it.
---@param r table
---@return string
function tiotest.text(r)
  local lines = { ("Tiotest results for %d concurrent io threads:\n"):format(r.threads), RATES }
  local function add(...) lines[#lines + 1] = string.format(...) end
  local function latency(title, e)
    add("| %-12s | %12.3f ms | %12.3f ms | %8.5f | %9.5f |\n", title, (e.mean_ns or 0) / 1e6,
      (e.max_ns or 0) / 1e6, e.over_2s_percent, e.over_10s_percent)
  end
  for _, name in ipairs(PHASES) do
    local e = r[name]
    if e then
      add("| %-12s %5.0f MBs | %6.1f s | %7.3f MB/s | %5.1f %%  | %5.1f %% |\n", TITLES[name],
        e.bytes / MIB, e.seconds, (e.bytes_per_s or 0) / MIB, e.user_percent or 0,
        e.system_percent or 0)
    end
  end
  add("`----------------------------------------------------------------------'\n%s", LATENCIES)
  for _, name in ipairs(PHASES) do
    if r[name] then latency(TITLES[name], r[name]) end
  end
  add("|--------------+-----------------+-----------------+----------+-----------|\n")
  latency("Total", r.total)
  add("`--------------+-----------------+-----------------+----------+-----------'\n")
  return table.concat(lines)
end

return setmetatable(tiotest, { __call = function(_, options) return tiotest.run(options) end })
