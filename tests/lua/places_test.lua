-- Where and how large operations are, as workers hear of them; over a striped volume too.
local iolua = require "iolua"
local t = require "check"

local BLOCKS = 1000

-- How often each block of a simulated device was read.
local function counts(o, n)
  local seen = iolua.array(BLOCKS)
  o.target = iolua.sim.device { size = BLOCKS * 4096, service = "1us", channels = 64 }
  o.rw, o.bs, o.iodepth, o.number_ios, o.seed = "randread", "4k", 64, n, 5
  o.on_complete = function(_, offset) seen:add(offset // 4096 + 1, 1) end
  assert(iolua.job(o))
  return seen
end

local function near_share(count, n, p)
  t.near(count / n, p, 4 * math.sqrt(p * (1 - p) / n))
end

t.case("the hottest of 1000 zipf ranks has its share, at theta 1 as well", function()
  local n = 200000
  for theta, p in pairs { ["0.99"] = 0.129384, ["1.0"] = 0.133592, ["1.2"] = 0.230640 } do
    near_share(counts({ distribution = "zipf:" .. theta, scatter = false }, n)[1], n, p)
    local scattered, most = counts({ distribution = "zipf:" .. theta }, n), 0
    for i = 1, BLOCKS do most = math.max(most, scattered[i]) end
    near_share(most, n, p)
  end
  near_share(counts({ distribution = "zipf:0" }, n)[1], n, 1 / BLOCKS)
end)

t.case("zones get their shares of the operations", function()
  local n = 1000000
  local seen = counts({ distribution = "zoned:50/5:30/15:20/80" }, n)
  local zone, sum = { 50, 200, 1000 }, { 0, 0, 0 }
  for i = 1, BLOCKS do
    local z = i <= zone[1] and 1 or i <= zone[2] and 2 or 3
    sum[z] = sum[z] + seen[i]
  end
  t.near(sum[1] / n, 0.50, 0.002)
  t.near(sum[2] / n, 0.30, 0.002)
  t.near(sum[3] / n, 0.20, 0.002)
end)

t.case("pareto 0.2 is 80 on 20, normal is around the middle", function()
  local n, hot, middle = 200000, 0, 0
  local seen = counts({ distribution = "pareto:0.2", scatter = false }, n)
  for i = 1, 200 do hot = hot + seen[i] end
  near_share(hot, n, 0.8)
  seen = counts({ distribution = "normal:10" }, n)
  for i = 401, 600 do middle = middle + seen[i] end
  t.near(middle / n, 0.6827, 0.01)              -- one deviation to each side
end)

t.case("a mix of sizes is of the operations, in blocks that fit", function()
  local sums = iolua.array(3)
  local r = assert(iolua.job { target = iolua.sim.device { size = "1m", service = "1us" },
    rw = "randread", bs = { ["4k"] = 60, ["64k"] = 40 }, number_ios = 100000, seed = 2,
    on_complete = function(_, offset, bytes, result)
      assert(result == bytes and offset % 4096 == 0 and offset + bytes <= 1 << 20)
      sums:add(bytes == 4096 and 1 or bytes == 65536 and 2 or 3, 1)
    end })
  near_share(sums[1], 100000, 0.6)
  near_share(sums[2], 100000, 0.4)
  t.equal(sums[3], 0)
  t.equal(r.read.bytes, sums[1] * 4096 + sums[2] * 65536)
  t.equal(r.read.short, 0)
end)

t.case("a sequential mix reads the region once, whole", function()
  local r = assert(iolua.job { target = iolua.sim.device { size = "8m", service = "1us" },
    rw = "read", bs = "4k-32k", seed = 2 })
  t.ok(r.read.bytes >= 8 << 20 and r.read.bytes < (8 << 20) + 32768)
end)

t.case("a random order without repeats favours no member of a striped volume", function()
  local members = {}
  for i = 1, 4 do members[i] = iolua.sim.device { size = "64m", service = "10us", channels = 8 } end
  local v <close> = assert(iolua.volume.stripe { members = members, chunk = "4k",
    backend = "user" })
  local n = 20000
  local r = assert(iolua.job { target = v, rw = "randread", norepeat = true, bs = "4k",
    iodepth = 32, number_ios = n, seed = 3 })
  local chi = 0
  for i = 1, 4 do
    t.ok(r.legs[i].ios > 0)
    chi = chi + (r.legs[i].ios - n / 4) ^ 2 / (n / 4)
  end
  t.ok(chi < 21.1, "chi-square of 3 degrees of freedom is " .. chi)     -- p = 10^-4
end)

t.done()
