-- Open loops, intervals and live control, on simulated devices (arithmetic known beforehand)
-- and on a real file.
local iolua = require "iolua"
local t = require "check"

-- A histogram's value is at most 1/128 above the recorded one.
local function close(got, want, what)
  t.ok(got >= want and got <= want * (1 + 1 / 128), ("%s is %s, want %s"):format(what, got, want))
end

t.case("a stall does not thin the load out: latency counts from the intended start", function()
  local d = iolua.sim.device { service = "1ms", stalls = { { operation = 101, time = "1000ms" } } }
  local r = assert(iolua.job { target = d, rw = "randread", rate_iops = 100, runtime = "10s" })
  local lat, service = r.read.lat, r.read.service
  t.equal(lat:count(), 1000)
  close(lat:percentile(50), 1e6, "p50")
  close(lat:percentile(90), 100e6, "p90")
  close(lat:percentile(95), 550e6, "p95")
  close(lat:percentile(99), 910e6, "p99")
  close(lat:percentile(99.9), 991e6, "p99.9")
  t.equal(lat:max(), 1000000000)
  t.equal(lat:mean(), 56944000.0)
  close(service:percentile(99.9), 1e6, "p99.9 of service")
  t.equal(service:max(), 1000000000)
  t.equal(service:mean(), 1999000.0)
  t.equal(r.slat:max(), 0)
  t.equal(r.slat:count(), 1000)
end)

t.case("missed starts are counted: those that found the only slot in use", function()
  local d = iolua.sim.device { service = "1ms", stalls = { { operation = 101, time = "1000ms" } } }
  local r = assert(iolua.job { target = d, rw = "randread", rate_iops = 100, runtime = "10s" })
  -- Due at 1.01, 1.02 ... 2.10 s: the last that began late began 1 ms late, at 2.110 the
  -- device was idle again.
  t.equal(r.pace.missed, 110)
  t.equal(r.pace.backlog_max, 100)
  t.equal(r.pace.backlog_end, 0)
  t.equal(r.pace.overloaded, false)
  t.equal(r.pace.asked, 100.0)
  t.equal(r.pace.achieved, 100.0)
end)

t.case("an overloaded device is said to be, with numbers, and the run goes on", function()
  local d = iolua.sim.device { service = "2ms" }
  local r = assert(iolua.job { target = d, rw = "randread", rate_iops = 1000, runtime = "10s",
    backlog = 500 })
  t.near(r.pace.achieved, 500, 0.2)
  t.equal(r.pace.asked, 1000.0)
  t.ok(r.pace.overloaded)
  -- In 10 s 10 000 are due and one in 2 ms begins: 5000 never do.
  t.near(r.pace.backlog_end, 5000, 1)
  t.contains(r.pace.message, "overloaded: 1000 operations/s asked")
  t.contains(r.pace.message, "500 allowed")
  t.near(r.read.service:mean(), 2e6, 1)
end)

t.case("a rate of operations does not depend on their sizes, one of bytes does", function()
  local d = iolua.sim.device { channels = 64, service = "1ms", size = "10g" }
  local function run(o)
    o.target, o.rw, o.runtime, o.iodepth, o.seed = d, "randread", "100s", 64, 5
    return assert(iolua.job(o))
  end
  t.near(run { rate_iops = 200, bs = "4k" }.read.iops, 200, 0.1)
  t.near(run { rate_iops = 200, bs = { ["4k"] = 50, ["64k"] = 50 } }.read.iops, 200, 0.1)
  t.near(run { rate = "1MB/s", bs = "4k" }.read.bytes_per_s, 1e6, 1e3)
  local mixed = run { rate = "1MB/s", bs = { ["4k"] = 50, ["64k"] = 50 } }
  t.near(mixed.read.bytes_per_s, 1e6, 2e3)
  t.ok(mixed.pace.of_bytes)
end)

t.case("a poisson process has the asked mean and a coefficient of variation of 1", function()
  -- Counts in intervals of a Poisson process have a variance equal to their mean.
  local d = iolua.sim.device { channels = 4096, service = "1us", size = "1g" }
  local r = assert(iolua.job { target = d, rw = "randread", rate_iops = 100, arrival = "poisson",
    iodepth = 1024, runtime = "2000s", interval = "1s", seed = 3 })
  local n, sum, square = 0, 0, 0
  for _, p in ipairs(r.intervals) do
    local ios = p.read and p.read.ios or 0
    n, sum, square = n + 1, sum + ios, square + ios * ios
  end
  local mean = sum / n
  local variance = (square - n * mean * mean) / (n - 1)
  t.equal(n, 2000)
  t.near(mean, 100, 4 * math.sqrt(100 / n))                 -- 4 sigma
  t.near(variance / mean, 1, 4 * math.sqrt(2 / n))
end)

t.case("queues agree with their closed forms", function()
  -- Load 0.5 of a server of 1 ms: M/M/1 stays 1 / (mu - lambda) = 2 ms, M/D/1 1.5 ms. The
  -- tolerance is 4 standard errors of 10^6 operations that are correlated over some 20.
  for service, mean in pairs { ["exp:1ms"] = 2e6, ["1ms"] = 1.5e6 } do
    local d = iolua.sim.device { service = service, size = "10g" }
    local r = assert(iolua.job { target = d, rw = "randread", rate_iops = 500,
      arrival = "poisson", iodepth = 4096, ramp_time = "10s", runtime = "2000s", seed = 11 })
    t.near(r.read.lat:mean(), mean, 0.02 * mean)
    t.near(r.read.iops, 500, 4 * math.sqrt(500 / 2000))
    t.ok(r.checks.little.agrees)
  end
end)

t.case("intervals add up to the whole, also short ones", function()
  local d = iolua.sim.device { channels = 4, service = "exp:1ms", size = "1g" }
  for _, interval in ipairs { "1s", "50ms" } do
    local r = assert(iolua.job { target = d, rw = "randrw", iodepth = 16, ramp_time = "100ms",
      runtime = "3s", interval = interval, seed = 2 })
    local whole, at, ios, bytes, depth = iolua.hist(), 0, 0, 0, 0
    for _, p in ipairs(r.intervals) do
      t.equal(p.begin_ns, at)
      at = p.end_ns
      for _, name in ipairs { "read", "write" } do
        if p[name] then
          whole:merge(p[name].lat)
          ios, bytes = ios + p[name].ios, bytes + p[name].bytes
        end
      end
      depth = depth + p.depth_mean * p.elapsed_ns
    end
    local both = iolua.hist()
    both:merge(r.read.lat)
    both:merge(r.write.lat)
    t.equal(at, 3000000000)
    t.equal(ios, r.read.ios + r.write.ios)
    t.equal(bytes, r.read.bytes + r.write.bytes)
    t.near(depth / at, r.depth_mean, 1e-6)
    for _, p in ipairs { 1, 50, 99, 99.9, 100 } do
      t.equal(whole:percentile(p), both:percentile(p))
    end
    t.equal(whole:mean(), both:mean())
    t.equal(whole:stddev(), both:stddev())
  end
end)

t.case("intervals of several workers have the depth that there was", function()
  local d = iolua.sim.device { channels = 2, service = "7ms", size = "1g" }
  local r = assert(iolua.job { target = d, rw = "randread", iodepth = 1, numjobs = 2,
    runtime = "1s", interval = "10ms" })
  for _, p in ipairs(r.intervals) do t.near(p.depth_mean, 2, 1e-9) end
  t.near(r.depth_mean, 2, 1e-9)
end)

t.case("a job that is stopped is rated up to that moment", function()
  local d = iolua.sim.device { service = "1ms", size = "1g" }
  local r = assert(iolua.job { target = d, rw = "randread", iodepth = 8, runtime = "10s",
    interval = "1s", on_interval = function(sample)
      if sample.index == 2 then sample:stop() end
    end })
  t.equal(r.elapsed_ns, 2000000000)
  t.equal(r.read.ios, 1999)             -- 1, 2 ... 1999 ms: the eight in flight do not count
  t.equal(r.read.iops, 999.5)
end)

t.case("a job with a runtime that runs out of operations counts them all", function()
  local d = iolua.sim.device { service = "1ms", size = "1g" }
  local r = assert(iolua.job { target = d, rw = "randread", iodepth = 8, runtime = "10s",
    number_ios = 1000, interval = "100ms" })
  t.equal(r.read.ios, 1000)
  t.equal(r.elapsed_ns, 1000000000)
  local sum = 0
  for _, p in ipairs(r.intervals) do sum = sum + (p.read and p.read.ios or 0) end
  t.equal(sum, 1000)
end)

t.case("on_interval changes rate and mix, and stops the job, at that very moment", function()
  local d = iolua.sim.device { service = "1ms", size = "1g" }
  local n = 0
  local r = assert(iolua.job { target = d, rw = "randrw", rate_iops = 100, iodepth = 16,
    runtime = "10s", interval = "1s", seed = 4, on_interval = function(sample)
      n = n + 1
      t.equal(sample.index, n)
      if n == 3 then sample:set { rate_iops = 500, rwmixread = 0 } end
      if n == 6 then sample:stop() end
    end })
  t.equal(n, 6)
  t.equal(r.elapsed_ns, 6000000000)
  for i, p in ipairs(r.intervals) do
    local reads, writes = p.read and p.read.ios or 0, p.write and p.write.ios or 0
    t.equal(reads + writes, i <= 3 and 100 or 500)
    if i > 3 then t.equal(reads, 0) end
  end
end)

t.case("on_interval changes the depth of a closed loop", function()
  local d = iolua.sim.device { channels = 32, service = "1ms", size = "1g" }
  local r = assert(iolua.job { target = d, rw = "randread", iodepth = 32, runtime = "4s",
    interval = "1s", on_interval = function(sample)
      if sample.index == 2 then sample:set { iodepth = 4 } end
    end })
  t.near(r.intervals[2].read.ios, 32000, 32)
  t.near(r.intervals[4].read.ios, 4000, 4)
  t.near(r.intervals[4].depth_mean, 4, 1e-6)
end)

t.case("an error in on_interval ends the job and is raised", function()
  local d = iolua.sim.device { service = "1ms" }
  t.raises("no further", iolua.job, { target = d, rw = "randread", runtime = "1h",
    interval = "1s", on_interval = function() error("no further") end })
end)

t.case("a real job is sampled while it runs, and keeps its pace", function()
  local path = os.tmpname()
  local f = assert(io.open(path, "wb"))
  f:write(("x"):rep(1 << 20))
  f:close()
  local seen = 0
  local r = assert(iolua.job { target = path, rw = "randread", rate_iops = 2000, numjobs = 2,
    runtime = "500ms", interval = "50ms", iodepth = 32,
    on_interval = function(sample)
      seen = seen + 1
      t.ok(sample.elapsed_ns > 0)
    end })
  os.remove(path)
  t.equal(seen, 10)
  t.equal(#r.intervals, 10)
  local ios = 0
  for _, p in ipairs(r.intervals) do ios = ios + (p.read and p.read.ios or 0) end
  t.equal(ios, r.read.ios)
  t.equal(r.read.lat:count(), r.read.ios)
  -- Two workers at 2000/s for half a second: 2000 starts, and each is kept or accounted for.
  t.equal(r.pace.asked, 4000.0)
  t.ok(r.read.ios + r.pace.backlog_end + 64 >= 2000 and r.read.ios <= 2000)
  t.equal(r.simulated, nil)
end)

t.case("misuse says what goes with what", function()
  local d = iolua.sim.device {}
  local function raises(text, o)
    o.target, o.rw = d, o.rw or "randread"
    t.raises(text, iolua.job, o)
  end
  raises("rate and rate_iops exclude", { rate = "1MB/s", rate_iops = 5 })
  raises("arrival = \"poisson\" needs a rate", { arrival = "poisson" })
  raises("batch has no meaning under a rate", { rate_iops = 5, batch = 4, iodepth = 4 })
  raises("0 is out of range", { rate_iops = 0 })
  raises("on_interval needs an interval", { on_interval = print })
  raises("not for simulated devices", { rw = "nop", runtime = "1s" })
  t.raises("needs a simulated target", iolua.job, { target = "/dev/zero", engine = "sim",
    rw = "read", runtime = "1s" })
end)

t.done()
