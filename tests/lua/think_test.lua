-- Think time by fio's meaning: a pause after an operation (or so many) has ended, before the next
-- one starts. On simulated devices, by arithmetic known beforehand.
local iolua = require "iolua"
local t = require "check"

local function device(o)
  o = o or {}
  return iolua.sim.device { service = o.service or "1ms", channels = o.channels or 1, size = "64m",
    data = o.data }
end

local function run(o)
  o.target, o.rw, o.seed = o.target or device(), o.rw or "randread", 3
  return assert(iolua.job(o))
end

t.case("a pause after each operation", function()
  local r = run { number_ios = 10, thinktime = "4ms" }
  t.equal(r.elapsed_ns, 46000000)          -- ten of 1 ms, nine pauses between them
  t.equal(r.read.lat:max(), 1000000)       -- which are in no latency
  t.equal(r.read.ios, 10)
end)

t.case("one operation at a time, whatever the depth", function()
  local r = run { target = device { channels = 8 }, number_ios = 10, iodepth = 8, thinktime = "4ms" }
  t.equal(r.elapsed_ns, 46000000)
  t.equal(r.read.lat:max(), 1000000)
end)

t.case("a pause after so many, which may be in flight together", function()
  local d = device { channels = 4 }
  t.equal(run { target = d, number_ios = 8, iodepth = 4, thinktime = "4ms",
    thinktime_blocks = 4 }.elapsed_ns, 6000000)
  -- At depth 2 four of them take 2 ms.
  t.equal(run { target = d, number_ios = 8, iodepth = 2, thinktime = "4ms",
    thinktime_blocks = 4 }.elapsed_ns, 8000000)
  -- No pause without a full number: 6 = 4 + 2.
  t.equal(run { target = d, number_ios = 4, iodepth = 4, thinktime = "4ms",
    thinktime_blocks = 8 }.elapsed_ns, 1000000)
end)

t.case("a runtime ends in a pause as anywhere else", function()
  local r = run { runtime = "1s", thinktime = "9ms" }
  t.equal(r.read.ios, 100)
  t.near(r.read.iops, 100, 1e-6)
end)

t.case("mixes, flushes and workers think too, each by itself", function()
  local r = run { rw = "randrw", number_ios = 100, thinktime = "1ms", fsync = 4 }
  t.equal(r.read.ios + r.write.ios, 100)
  local two = run { target = { device(), device() }, numjobs = 2, number_ios = 10,
    thinktime = "4ms" }
  t.equal(two.elapsed_ns, 46000000)
end)

t.case("a rate goes on while the job thinks: its starts are late by that", function()
  -- Due every 2 ms, but each takes 1 ms and a pause of 4: the tenth begins at 45 ms.
  local r = run { number_ios = 10, thinktime = "4ms", rate_iops = 500 }
  t.equal(r.elapsed_ns, 46000000)
  t.equal(r.read.lat:max(), 46000000 - 18000000)
  t.equal(r.read.service:max(), 1000000)
end)

t.case("intervals end while it thinks", function()
  local r = run { runtime = "1s", thinktime = "99ms", interval = "10ms" }
  t.equal(#r.intervals, 100)
  t.equal(r.read.ios, 10)
end)

t.case("what is verified is read back without pauses", function()
  local r = run { target = device { data = true }, rw = "write", bs = "4k",
    number_ios = 16, thinktime = "1s", verify = true }
  t.equal(r.elapsed_ns, 15016000000)
  t.equal(r.verify.read_back.ios, 16)
  t.equal(r.verify.read_back.lat:max(), 1000000)
end)

t.case("on a real file no pause is shorter than asked", function()
  local path = os.tmpname()
  local f <close> = assert(iolua.open(path, { write = true, overwrite = true }))
  os.remove(path)
  assert(f:truncate(1 << 20))
  for _, engine in ipairs { "auto", "sync", "threads" } do
    local r = run { target = f, rw = "read", engine = engine, number_ios = 20, thinktime = "2ms" }
    t.equal(r.read.ios, 20)
    t.ok(r.elapsed_ns >= 38000000, engine .. " took " .. r.elapsed_ns)
  end
end)

t.case("what makes no sense raises", function()
  local d = device()
  local function raises(text, o)
    o.target, o.rw, o.number_ios = d, "read", 1
    t.raises(text, iolua.job, o)
  end
  raises("thinktime_blocks needs thinktime", { thinktime_blocks = 2 })
  raises("not with thinktime", { thinktime = "1ms", next = function() return true end })
  raises("batch has no meaning with thinktime", { thinktime = "1ms", batch = 1 })
end)

t.done()
