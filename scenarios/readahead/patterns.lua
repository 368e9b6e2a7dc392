--- The patterns: a fixed piece of work each, in places that follow from the seed.
--
-- A run has { layer, open, base, span, operations, seed, direct, advise }: it reads within
-- [base, base + span) of open.target.
local iolua = require "iolua"
local clock = require("iolua.core").clock

local patterns = {}

-- Of a finished job: bytes, time, p99.
local function told(r, message)
  if not r then return nil, message end
  return { bytes = r.read.bytes, ns = r.elapsed_ns, p99_ns = r.read.lat:percentile(99) }
end

local function job(c, options)
  options.target, options.iodepth = options.target or c.open.target, options.iodepth or 1
  options.engine, options.seed = options.engine or "sync", c.seed
  options.bs, options.offset = options.bs or "16k", options.offset or c.base
  options.size = options.size or c.span
  return told(iolua.job(options))
end

-- As dd and hdparm read: from the start, one block after the other.
local function sequential(c)
  return job(c, { rw = "read", bs = "64k" })
end

-- A descriptor of its own: several would race on one's window.
local function own_descriptor(c)
  local own = assert(c.layer:open { direct = c.direct })
  for _, f in ipairs(own.files) do if c.advise then f:advise(0, f:size(), c.advise) end end
  return own
end

-- 16 streams at once.
local function streams(c)
  local each = c.span // 16 // 65536 * 65536
  local from, fibers = clock.now(), {}
  for i = 0, 15 do
    local own = own_descriptor(c)
    fibers[i + 1] = iolua.spawn(function()
      local one, message = job(c, { target = own.target, rw = "read", bs = "64k",
        offset = c.base + i * each, size = each })
      own.close()
      return one, message
    end)
  end
  local sum = { bytes = 0, p99_ns = 0 }
  for _, fiber in ipairs(fibers) do
    local one, message = fiber:join()
    if not one then return nil, message end
    sum.bytes, sum.p99_ns = sum.bytes + one.bytes, math.max(sum.p99_ns, one.p99_ns)
  end
  sum.ns = clock.now() - from
  return sum
end

local function coprime(a, b)
  while b ~= 0 do a, b = b, a % b end
  return a == 1
end

-- Scattered, none twice and none beside another: two neighbours are a small stream to the
-- kernel, which reads ahead of them.
local function random(c)
  local places = c.span // 65536
  local step, k = math.max(1, math.floor(places * 0.618)), c.seed % places
  while not coprime(places, step) do step = step + 1 end
  return job(c, { rw = "randread", number_ios = math.min(c.operations, places),
    next = function(io)
      k = (k + step) % places
      return io.offset + k * 65536 + 16384      -- never the first block: it begins a stream
    end })
end

-- Extents of 64 KiB at random places, each read in four pieces.
local function extents(c)
  local at, piece = 0, 3
  return job(c, { rw = "randread", bs = "16k", number_ios = c.operations, next = function(io)
    piece = (piece + 1) % 4
    if piece == 0 then at = io.offset + io.random(io.size // 65536) * 65536 end
    return at + piece * 16384
  end })
end

local function mapped(c)
  return job(c, { rw = "randread", bs = "4k", norepeat = true, engine = "mmap",
    number_ios = c.operations })
end

-- A stream and random reads beside it, on descriptors of their own; the rate is of both.
local function mixed(c)
  local from = clock.now()
  local own = own_descriptor(c)
  local stream = iolua.spawn(function()
    local one, message = job(c, { target = own.target, rw = "read", bs = "64k" })
    own.close()
    return one, message
  end)
  local two, failed = random(c)
  local one, message = stream:join()
  if not (one and two) then return nil, message or failed end
  return { bytes = one.bytes + two.bytes, ns = clock.now() - from, p99_ns = two.p99_ns }
end

--- 16 streams of one reader in turn, 64 KiB of each, as a server's clients: the order of reads
--- is the same in every run.
function patterns.in_turn(c)
  local each, list = c.span // 16 // 65536 * 65536, {}
  local _ <close> = setmetatable({}, { __close = function()
    for _, own in ipairs(list) do own.close() end
  end })
  for i = 1, 16 do list[i] = own_descriptor(c) end
  local buf <close>, lat, from = iolua.buffer(65536), iolua.hist(), clock.now()
  for at = 0, each - 1, 65536 do
    for i, own in ipairs(list) do
      local start = clock.now()
      local n, message = own.target:read(buf, c.base + (i - 1) * each + at)
      if not n then return nil, message end
      lat:record(clock.now() - start)
    end
  end
  return { bytes = 16 * each, ns = clock.now() - from, p99_ns = lat:percentile(99) }
end

--- In the order they are shown: name, function, random (read-ahead can lose), what it is.
patterns.list = {
  { "sequential", sequential, false, "one stream of 64 KiB reads" },
  { "streams", streams, false, "16 streams, a descriptor each" },
  { "random", random, true, "16 KiB preads, scattered: expected to see nothing" },
  { "extents", extents, true, "64 KiB extents at random places, read in 16 KiB" },
  { "mmap", mapped, true, "4 KiB page faults at random places" },
  { "mixed", mixed, true, "a stream, and random 16 KiB beside it" },
}

for _, p in ipairs(patterns.list) do patterns[p[1]] = { run = p[2], random = p[3], text = p[4] } end

return patterns
