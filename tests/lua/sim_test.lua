-- Simulated devices: times that arithmetic gives, faults, buses, and the same job twice.
local iolua = require "iolua"
local t = require "check"

local device, bus = iolua.sim.device, iolua.sim.bus

t.case("what came during the ramp does not count", function()
  -- 100 a second for 10 s, then 1000: the window [10 s, 20 s) has the completion at 10.000 s
  -- and the 9999 of 1 ms each that begin in it and end before 20 s.
  local d = device { service = "10ms", phases = { { at = "10s", service = "1ms" } } }
  local r = assert(iolua.job { target = d, rw = "randread", ramp_time = "10s", runtime = "10s" })
  t.equal(r.read.ios, 10000)
  t.equal(r.read.iops, 1000.0)
end)

t.case("the window is closed at its start and open at its end, at any depth", function()
  local d = device { service = "0.25ms" }
  for _, depth in ipairs { 1, 3, 128 } do
    local after = assert(iolua.job { target = d, rw = "randread", iodepth = depth,
      ramp_time = "1s", runtime = "1s" })
    t.equal(after.read.ios, 4000)
    t.equal(after.read.iops, 4000.0)
    local first = assert(iolua.job { target = d, rw = "randread", iodepth = depth,
      runtime = "1s" })
    t.equal(first.read.ios, 3999)
    t.equal(first.read.iops, 3999.0)
  end
end)

t.case("workers that end apart are rated over the time of all", function()
  local ds = {}
  for i, service in ipairs { "117752ms", "75108ms", "75151ms", "77398ms" } do
    ds[i] = device { service = service, size = "1g" }
  end
  local r = assert(iolua.job { target = ds, rw = "read", bs = "1g", number_ios = 1, numjobs = 4,
    grace = "2min" })
  t.equal(r.read.bytes, 4 << 30)
  t.near(r.read.bytes_per_s / 1024, 35619.8, 0.05)
  t.ok(r.simulated)
  t.equal(r.engine, "sim")
end)

t.case("a closed queue of four channels obeys Little's law", function()
  local d = device { channels = 4, service = "exp:1ms", size = "1g" }
  local r = assert(iolua.job { target = d, rw = "randread", iodepth = 32, ramp_time = "1s",
    runtime = "100s", seed = 9 })
  -- Four busy servers: 4000 a second, with 4 sigma of 400 000 exponential services.
  t.near(r.read.iops, 4000, 4 * math.sqrt(4000 / 100))
  t.near(r.read.lat:mean(), 8e6, 8e6 * 0.01)
  t.near(r.checks.little.ratio, 1, 0.001)
end)

t.case("disks fill their bus and no more", function()
  local u320 = bus { bandwidth = "320MB/s" }
  for n = 1, 10 do
    local disks = {}
    for i = 1, n do disks[i] = device { bandwidth = "70MB/s", bus = u320, size = "1g" } end
    local r = assert(iolua.job { target = disks, rw = "read", bs = "64k", numjobs = n,
      iodepth = 2, ramp_time = "1s", runtime = "10s" })
    t.near(r.read.bytes_per_s, math.min(n * 70e6, 320e6), 0.2e6)
  end
end)

t.case("a bus carries what is read after the disk and what is written before it", function()
  -- One operation of 1.024 MB: 10 ms on the disk, 1 ms on the bus, however it goes.
  local d = device { bandwidth = 102400000, bus = bus { bandwidth = 1024000000 } }
  for _, rw in ipairs { "read", "write" } do
    local r = assert(iolua.job { target = d, rw = rw, bs = 1024000, number_ios = 10 })
    local side = r.read or r.write
    t.equal(side.lat:min(), 11000000)
    t.equal(side.lat:max(), 11000000)
    t.equal(r.elapsed_ns, 110000000)
  end
end)

t.case("seeks cost when an operation does not begin where the last one ended", function()
  local d = device { service = "1ms", seek = "5ms", size = "1g" }
  local straight = assert(iolua.job { target = d, rw = "read", bs = "64k", number_ios = 100 })
  t.equal(straight.elapsed_ns, 100000000)
  local strided = assert(iolua.job { target = d, rw = "read", bs = "64k", number_ios = 100,
    distribution = "stride:2" })
  -- All but the first, which begins where the head is at first.
  t.equal(strided.elapsed_ns, 100 * 1000000 + 99 * 5000000)
end)

t.case("a cache of half the places hits half of the reads", function()
  local d = device { service = "1ms", size = "1m", cache = { size = "512k", line = "4k" } }
  local r = assert(iolua.job { target = d, rw = "randread", bs = "4k", number_ios = 100000,
    seed = 6 })
  -- Hits take no time: the mean is the share of misses, 0.5 within 4 sigma.
  t.near(r.read.lat:mean() / 1e6, 0.5, 4 * math.sqrt(0.25 / 100000) + 0.002)
end)

t.case("service distributions have their means and deviations", function()
  local n = 200000
  for text, want in pairs {
    ["exp:1ms"] = { 1e6, 1e6 }, ["normal:10ms:1ms"] = { 10e6, 1e6 },
    ["uniform:1ms:3ms"] = { 2e6, 2e6 / math.sqrt(12) }, ["2ms"] = { 2e6, 0 },
  } do
    local d = device { service = text, size = "1g" }
    local r = assert(iolua.job { target = d, rw = "randread", number_ios = n, seed = 8 })
    t.near(r.read.lat:mean(), want[1], 4 * want[2] / math.sqrt(n) + 1, text)
    t.near(r.read.lat:stddev(), want[2], 0.02 * want[2] + 1, text)
  end
end)

-- I/O errors set the exit status of the whole run: what meets them runs in its own.
local function child(code)
  local path = os.tmpname()
  local f = assert(io.open(path, "w"))
  f:write('local iolua = require "iolua"\n', code)
  f:close()
  local output, status = t.run(("%s %s"):format(arg[-1], path))
  os.remove(path)
  return output, status
end

t.case("an operation on a bad range fails with its error and place", function()
  local output, status = child [[
    local d = iolua.sim.device { service = "1ms", size = "1m",
      errors = { { offset = 65536, bytes = 512, errno = "EIO" } } }
    local r, message, errno, partial = iolua.job { target = d, rw = "read", bs = "4k" }
    print(r, message, errno, partial.read.ios)
    r = assert(iolua.job { target = d, rw = "read", bs = "4k", continue_on_error = true })
    print(r.read.ios, r.read.errors, r.read.lat:count())
  ]]
  t.equal(output, "nil\tread simulated device at 65536: Input/output error\t5\t16\n"
    .. "255\t1\t255\n")
  t.equal(status, 3)
end)

t.case("an error may be of one kind of operation and go away", function()
  local output = child [[
    local d = iolua.sim.device { service = "1ms", size = "1m",
      errors = { { offset = 0, bytes = 4096, errno = "ENOSPC", kind = "write", count = 2 } } }
    local r = assert(iolua.job { target = d, rw = "write", bs = "4k", number_ios = 1024,
      continue_on_error = true })
    print(r.write.errors, r.write.ios, r.error.errno)
    print(iolua.job({ target = d, rw = "read", bs = "4k" }).read.errors)
  ]]
  t.equal(output, "2\t1022\t28\n0\n")
end)

t.case("a stall by time takes the first operation that begins after it", function()
  local d = device { service = "1ms", stalls = { { at = "5.5ms", time = "100ms" } } }
  local r = assert(iolua.job { target = d, rw = "randread", number_ios = 10 })
  t.equal(r.read.lat:max(), 100000000)
  t.equal(r.elapsed_ns, 109000000)
end)

t.case("the same seed gives the same job, another one another", function()
  local d = device { channels = 3, service = "exp:1ms", seek = { min = "1ms", max = "9ms" } }
  local function run(seed)
    local r = assert(iolua.job { target = d, rw = "randrw", iodepth = 8, numjobs = 3,
      number_ios = 3000, seed = seed })
    return table.concat({ r.read.ios, r.elapsed_ns, r.read.lat:mean(), r.write.lat:stddev(),
      r.read.lat:percentile(99), r.depth_mean }, " ")
  end
  t.equal(run(1), run(1))
  t.ok(run(1) ~= run(2))
end)

t.case("virtual time is thousands of times faster than the clock", function()
  local d = device { service = "4ms", size = "1g" }
  local from = os.clock()
  local r = assert(iolua.job { target = d, rw = "randread", iodepth = 4, runtime = "1h" })
  t.near(r.read.ios, 900000, 1)
  t.ok(os.clock() - from < 3.6 * 5)
end)

t.case("the short end of a device comes as short reads", function()
  local d = device { service = "1ms", size = 10000 }
  local r = assert(iolua.job { target = d, rw = "read", bs = 8192, size = 16384 })
  t.equal(r.read.bytes, 10000)
  t.equal(r.read.short, 1)
end)

t.case("rows of an experiment say that they are simulated, whatever measure gives", function()
  local result = iolua.experiment { name = "sim", factors = { depth = { 1, 2 } }, replicates = 2,
    quiet = true, measure = function(case)
      local r = assert(iolua.job { target = device { service = "1ms", channels = 2 },
        rw = "randread", iodepth = case.depth, number_ios = 100 })
      return { iops = r.read.iops }
    end }
  t.equal(#result.rows >= 4, true)
  for _, row in ipairs(result.rows) do t.equal(row.evidence.simulated, true) end
  t.contains(table.concat(require("iolua.report.summary").remarks(result), "\n"), "simulated")
end)

t.case("misuse names the option", function()
  t.raises("is not a service time", device, { service = "gamma:1ms" })
  t.raises("ends below where it begins", device, { service = "uniform:3ms:1ms" })
  t.raises("bus is a table, not what iolua.sim.bus gives", device, { bus = {} })
  t.raises("stall 1 needs an operation or a moment", device, { stalls = { { time = "1s" } } })
  t.raises("\"EIOX\" is not an error", device, { errors = { { errno = "EIOX" } } })
  t.raises("unknown option \"chanels\"", device, { chanels = 2 })
  t.raises("simulated and real targets cannot be mixed", iolua.job,
    { target = { device {}, "/dev/zero" }, rw = "read", number_ios = 1, numjobs = 2 })
end)

t.done()
