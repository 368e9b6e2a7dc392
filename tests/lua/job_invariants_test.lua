-- Jobs of random options, on simulated devices and a file: what must hold of any result.
local iolua = require "iolua"
local t = require "check"

local random = math.random
local function pick(list) return list[random(#list)] end
local function maybe(n, value) if random(n) == 1 then return value end end

local SIDES = { "read", "write", "sync" }

local function device()
  return iolua.sim.device {
    size = pick { "64k", "1m", "10m" }, channels = random(8),
    service = pick { "1ms", "exp:1ms", "normal:1ms:0.5ms", "uniform:100us:2ms" },
    bus = maybe(2, iolua.sim.bus { bandwidth = random(100000, 1000000000) }),
    seek = maybe(2, "1ms"), bandwidth = maybe(2, "50MB/s"),
    cache = maybe(3, { size = "64k", line = "4k", service = "10us" }),
    stalls = maybe(4, { { operation = random(50), time = "500ms" } }),
  }
end

local function places(o)
  local kind = random(8)
  if not o.rw:find("^rand") or kind > 5 then return end
  o.distribution = ({ "zipf:1.1", "normal:20", "stride:3" })[kind]
  o.norepeat = kind == 4 or nil
end

local function timing(o, simulated)
  if random(3) == 1 then
    o.rate_iops, o.arrival = random(500, 5000), pick { "fixed", "poisson" }
  else
    o.batch = maybe(3, random(o.iodepth))
  end
  o.interval = maybe(2, pick { "1ms", "10ms", "50ms" })
  if random(2) == 1 then
    o.runtime, o.ramp_time = simulated and pick { "50ms", "1s" } or "20ms", maybe(2, "5ms")
  else
    o.number_ios = random(300)
  end
end

-- A hook that reads and writes, thinks and flushes.
local function hooked(o)
  local writes = o.rw:find("write") or o.rw:find("rw$")
  o.number_ios = not o.runtime and (o.number_ios or 100) or nil
  o.next = function(io)
    local choice = io.random(20)
    if choice == 0 and writes then return nil, nil, "fsync" end
    if choice == 1 then return true, nil, nil, io.random(1000000) end
    return choice == 2 and io.block() or true
  end
end

local function controlled(o)
  local calls = 0
  o.on_interval = function(sample)
    calls = calls + 1
    if calls % 7 == 1 then sample:set { iodepth = 1 } end
    if calls % 7 == 3 and o.rate_iops then sample:set { rate_iops = 200 + calls } end
    if calls % 7 == 5 then sample:set { iodepth = o.iodepth } end
    if calls == 20 then sample:stop() end
  end
end

local function options(path)
  local simulated = random(3) > 1
  local o = { seed = random(1000000), numjobs = random(3), iodepth = pick { 1, 2, 7, 16, 64 },
    rw = pick { "read", "write", "randread", "randwrite", "rw", "randrw" },
    target = simulated and { device(), maybe(2, device()) } or path,
    overwrite = not simulated or nil, clock = pick { "batch", "each" }, bs = pick { "512", "4k" },
    fsync = maybe(5, random(10)) }
  timing(o, simulated)
  if random(5) == 1 then
    hooked(o)
  else
    places(o)
    if not o.norepeat then o.bs = maybe(3, pick { "4k-16k", { ["4k"] = 60, "8k" } }) or o.bs end
  end
  if o.interval and random(3) == 1 then controlled(o) end
  return o
end

local function check_sides(r)
  local ios, bytes = 0, 0
  for _, name in ipairs(SIDES) do
    local side = r[name]
    if side then
      t.equal(side.lat:count(), side.ios)
      if side.service then t.equal(side.service:count(), side.ios) end
      ios, bytes = ios + side.ios, bytes + side.bytes
    end
  end
  return ios, bytes
end

local function check_result(o, r, told)
  local ios, bytes = check_sides(r)
  t.ok((r.depth_mean or 0) <= o.iodepth * o.numjobs + 1e-9, "depth is at most what was asked")
  local part_ios, part_bytes = 0, 0
  for _, point in ipairs(r.intervals or {}) do
    local i, b = check_sides(point)
    part_ios, part_bytes = part_ios + i, part_bytes + b
  end
  if r.intervals then
    t.equal(part_ios, ios)
    t.equal(part_bytes, bytes)
  end
  if o.number_ios and not o.on_interval then
    if not (o.next and o.fsync) then
      local extra = o.next and 0 or r.sync and r.sync.ios or 0
      t.equal(ios - extra, o.number_ios * o.numjobs)
    end
    t.equal(told[1], ios)
    t.equal(told[2], bytes)
  end
end

-- A busy machine may keep a real job of 20 ms from doing anything at all: what that gives must
-- agree with itself like any other result.
local function run(o)
  local r, message, _, partial = iolua.job(o)
  if message == "job: nothing completed" and type(o.target) == "string" and o.runtime then
    return partial
  end
  return assert(r, message)
end

t.case("counts, histograms, intervals and what hooks are told agree in any job", function()
  local path = os.tmpname()
  local f = assert(io.open(path, "wb"))
  f:write(("x"):rep(1 << 20))
  f:close()
  math.randomseed(5, 5)
  for i = 1, 120 do
    local o, told = options(path), iolua.array(2)
    o.on_complete = function(_, _, _, result)
      told:add(1, 1)
      told:add(2, result)
    end
    local ok, err = pcall(function() check_result(o, run(o), told) end)
    if not ok then
      os.remove(path)
      error(("job %d: %s\n%s"):format(i, err, iolua.show(o)))
    end
  end
  os.remove(path)
end)

t.done()
