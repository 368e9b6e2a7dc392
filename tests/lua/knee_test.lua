-- Knees of simulated queues whose place is known, and steady states of known shape.
local iolua = require "iolua"
local t = require "check"
local steady = require "iolua.steady"

t.case("the knee of M/M/1 lies where the formula says", function()
  -- Time in the system is exponential with rate mu - lambda: p99 = ln 100 / (mu - lambda), so
  -- 20 ms are kept up to 1000 - ln 100 / 0.02 = 769.74 a second.
  local d = iolua.sim.device { service = "exp:1ms", size = "1g" }
  local k = assert(iolua.knee { target = d, rw = "randread", bs = "4k", iodepth = 1024,
    p99 = "20ms", runtime = "100s", ramp_time = "5s", replicates = 8, seed = 4 })
  local known = 1000 - math.log(100) / 0.02
  t.ok(k.low <= known and known <= k.high, k.message)
  t.near(k.knee, known, 0.02 * known)
  t.ok(#k.points > 40, "all that was measured is there")
  t.equal(k.unit, "operations/s")
end)

t.case("the depth of a closed queue that keeps a mean", function()
  -- One server of exactly 1 ms at depth n: each waits for all others, n ms.
  local d = iolua.sim.device { service = "1ms", size = "1g" }
  local k = assert(iolua.knee { target = d, rw = "randread", over = "iodepth", mean = "8.5ms",
    runtime = "20s", ramp_time = "1s", replicates = 3 })
  t.equal(k.depth, 8)
end)

t.case("a bound that is never or always kept is said", function()
  local d = iolua.sim.device { service = "1ms", size = "1g" }
  local never = assert(iolua.knee { target = d, rw = "randread", over = "iodepth",
    mean = "500us", runtime = "1s" })
  t.equal(never.knee, nil)
  t.contains(never.message, "never keeps")
  local always = assert(iolua.knee { target = d, rw = "randread", over = "iodepth", high = 4,
    mean = "1s", runtime = "1s" })
  t.contains(always.message, "still keeps")
end)

t.case("knees need one bound, and fail as jobs do", function()
  t.raises("a bound is needed", iolua.knee, { rw = "nop" })
  t.raises("one bound at a time", iolua.knee, { p50 = "1ms", p99 = "2ms" })
  local k, message, errno = iolua.knee { target = "/nonexistent/x", rw = "read", p99 = "2ms",
    runtime = "1s" }
  t.equal(k, nil)
  t.equal(errno, 2)
  t.contains(message, "knee: ")
end)

-- The shape of a fresh SSD under random writes: high, falling, then level.
local function fresh(rounds, noise)
  local list = {}
  for i = 1, rounds do
    list[i] = 20000 + 80000 * math.exp(-(i - 1) / 2) + (i % 2 == 0 and 1 or -1) * noise
  end
  return list
end

t.case("a fresh SSD is steady once it is level", function()
  local s = steady.of(fresh(25, 200))
  t.ok(s.steady)
  -- Within 20 % and 10 % of the mean, by arithmetic of the curve: rounds 9 to 13.
  local function spread(first)
    local a, b, sum = 0, math.huge, 0
    local v = fresh(25, 200)
    for i = first, first + 4 do a, b, sum = math.max(a, v[i]), math.min(b, v[i]), sum + v[i] end
    return (a - b) / (sum / 5)
  end
  t.ok(spread(s.first) <= 0.20, "in the band")
  t.ok(s.first >= 8 and s.first <= 11, s.message)
  t.near(s.mean, 20000, 1500)
  t.contains(s.message, "steady: rounds")
end)

t.case("what drifts within the band is not steady", function()
  local list = {}
  for i = 1, 25 do list[i] = 10000 * 1.03^i end        -- 12 % over five rounds
  local s = steady.of(list)
  t.equal(s.steady, false)
  t.ok(s.band <= 0.20, "the band alone would have taken it")
  t.contains(s.message, "not steady")
end)

t.case("few rounds are not steady", function()
  t.equal(steady.of({ 1, 1, 1, 1 }).steady, false)
end)

t.case("a load runs until its device is level", function()
  -- Each round is a job of its own on a device that starts anew: level from the first.
  local d = iolua.sim.device { service = "exp:1ms", size = "1g" }
  local s = assert(iolua.steady { target = d, rw = "randwrite", bs = "4k", round = "20s", seed = 1 })
  t.ok(s.steady, s.message)
  t.equal(s.rounds, 5)
  t.near(s.mean, 1000, 30)
end)

t.case("precondition writes twice, then runs the load", function()
  local f <close> = assert(require("iolua.core").file.scratch("/tmp", false))
  assert(f:truncate(4 << 20))
  local s = assert(iolua.precondition { target = f, rw = "randwrite", bs = "4k", iodepth = 4,
    round = "20ms", rounds = 6, band = 100, slope = 100 })
  t.equal(s.passes, 2)
  t.ok(s.discarded)
  t.ok(s.steady)
end)

-- A generator of our own: what the sample must cover is known.
local function normal(rng)
  local sum = -6.0
  for _ = 1, 12 do sum = sum + rng:float() end
  return sum
end

t.case("looks keep the interval's confidence", function()
  local rng, covered, early, n = require("iolua.core").rng.new(5), 0, 0, 1000
  if not rng.float then rng = { float = function() return math.random() end } end
  math.randomseed(5)
  for _ = 1, n do
    local s = steady.sample { stop = "ci:2%", looks = { 5, 10, 20, 40 },
      measure = function() return 100 + 3 * normal(rng) end }
    covered = covered + (math.abs(s.mean - 100) <= s.half_width and 1 or 0)
    early = early + (s.n < 40 and 1 or 0)
  end
  t.ok(covered >= 0.94 * n, ("%d of %d cover"):format(covered, n))
  t.ok(early > n / 2, "it does stop early")
end)

t.case("a sample says what it saw", function()
  local s = steady.sample { stop = "ci:50%", measure = function(i) return 10 + i % 2 end }
  t.equal(s.n, 5)
  t.contains(s.message, "reached: 10.6")
  t.raises("write as in \"ci:1%\"", steady.sample, { stop = "soon", measure = print })
end)

t.done()
