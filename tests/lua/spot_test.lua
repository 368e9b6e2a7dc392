-- From the text of a distribution to the blocks drawn. The draws themselves are held to
-- chance in tests/core/spot_test.c.
local t = require "check"
local core = require "iolua.core"
local distribution = require "iolua.distribution"

local DRAWS = 100000

local function counts(text, blocks, scatter)
  local spot = assert(core.spot.new(assert(distribution.parse(text, scatter)), blocks, 1))
  local seen = {}
  for _ = 1, DRAWS do
    local at = spot:next()
    seen[at] = (seen[at] or 0) + 1
  end
  return seen
end

local function near_share(count, share)
  t.near(count, DRAWS * share, 4 * math.sqrt(DRAWS * share * (1 - share)))
end

t.case("the hottest of 1000 blocks has its share, in place or scattered", function()
  for theta, share in pairs { ["0.99"] = 0.129384, ["1.0"] = 0.133592, ["1.2"] = 0.230640 } do
    near_share(counts("zipf:" .. theta, 1000, false)[0], share)
    local most = 0
    for _, count in pairs(counts("zipf:" .. theta, 1000)) do most = math.max(most, count) end
    near_share(most, share)
  end
end)

t.case("zones get their shares", function()
  local zone = { 0, 0, 0 }
  for at, count in pairs(counts("zoned:50/5:30/15:20/80", 1000)) do
    local i = at < 50 and 1 or at < 200 and 2 or 3
    zone[i] = zone[i] + count
  end
  near_share(zone[1], 0.5)
  near_share(zone[2], 0.3)
  near_share(zone[3], 0.2)
end)

t.case("pareto sends four fifths to a fifth, normal two thirds to its deviation", function()
  local hot, middle = 0, 0
  for at, count in pairs(counts("pareto:0.2", 1000, false)) do
    if at < 200 then hot = hot + count end
  end
  near_share(hot, 0.8)
  for at, count in pairs(counts("normal:10", 100000)) do
    if at >= 40000 and at < 60000 then middle = middle + count end
  end
  near_share(middle, 0.682689)
end)

t.case("orders are orders", function()
  local function first(text, blocks, n)
    local spot, list = assert(core.spot.new(distribution.parse(text), blocks, 1)), {}
    for i = 1, n do list[i] = spot:next() end
    return list
  end
  t.same(first("sequential", 3, 4), { 0, 1, 2, 0 })
  t.same(first("stride:2", 5, 6), { 0, 2, 4, 1, 3, 0 })
end)

t.case("what cannot be is said", function()
  local spot, message, errno = core.spot.new(distribution.parse("zoned:50/1:50/99"), 50, 1)
  t.equal(spot, nil)
  t.equal(message, "distribution: a zone has no block")
  t.equal(math.type(errno), "integer")
  t.raises("kind bell is not known", core.spot.new, { kind = "bell" }, 5, 1)
  t.raises("parameter must be a number", core.spot.new, { kind = "zipf", parameter = "1" }, 5, 1)
  t.raises("0 is not in 1..", core.spot.new, { kind = "uniform" }, 0, 1)
  t.raises("bad share", core.spot.new, { kind = "zoned", access = { -1 } }, 5, 1)
  t.raises("as many sizes", core.spot.new, { kind = "zoned", access = { 5 } }, 5, 1)
  t.raises("table expected", core.spot.new, "zipf:1", 5, 1)
end)

t.done()
