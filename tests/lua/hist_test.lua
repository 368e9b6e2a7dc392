-- iolua.hist as scripts see it. Right values: textbook ranks and closed forms; the histogram
-- itself is held to a sorted array in tests/core/hist_test.c.
local t = require "check"
local core = require "iolua.core"

local function filled(...)
  local h = core.hist.new()
  for _, ns in ipairs { ... } do h:record(ns) end
  return h
end

t.case("one to ten has the ranks of the textbook", function()
  local h = filled(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
  t.equal(h:count(), 10)
  t.equal(h:sum(), 55)
  t.equal(h:min(), 1)
  t.equal(h:max(), 10)
  t.equal(h:mean(), 5.5)
  t.near(h:stddev(), math.sqrt(10 * 11 / 12), 1e-12)
  t.equal(h:percentile(25), 3)
  t.equal(h:percentile(50), 5)
  t.equal(h:percentile(75), 8)
  t.equal(h:percentile(99.0), 10)
  t.equal(h:percentile(0), 1)
end)

t.case("an empty histogram knows nothing, not zero", function()
  local h = core.hist.new()
  t.equal(h:count(), 0)
  t.equal(h:sum(), 0)
  for _, method in ipairs { "min", "max", "mean", "stddev" } do
    t.equal(h[method](h), nil, method)
  end
  t.equal(h:percentile(50), nil)
  t.same(h:buckets(), {})
  t.equal(tostring(h), "hist: empty")
end)

t.case("a percentile out of range is an error also when empty", function()
  for _, h in ipairs { core.hist.new(), filled(5) } do
    t.raises("-1 is not in 0..100", h.percentile, h, -1)
    t.raises("100.5 is not in 0..100", h.percentile, h, 100.5)
    t.raises("nan is not in 0..100", h.percentile, h, 0 / 0)
    t.raises("number expected, got string", h.percentile, h, "50")
    t.raises("number expected, got no value", h.percentile, h)
  end
end)

t.case("many values are recorded at once and merge exactly", function()
  local a, b = filled(7):record(1000, 3), filled(1 << 40)
  t.equal(a:merge(b), a)
  t.equal(a:count(), 5)
  t.equal(a:sum(), 7 + 3000 + (1 << 40))
  t.equal(a:max(), 1 << 40)
  t.equal(b:count(), 1)
  t.equal(a:merge(a):count(), 10)
end)

t.case("buckets are those with values, in order", function()
  local h = filled(3, 3, 200, 1000)
  t.same(h:buckets(), {
    { upper = 3, count = 2 }, { upper = 200, count = 1 }, { upper = 1003, count = 1 },
  })
end)

t.case("reset forgets all", function()
  local h = filled(3, 4)
  t.equal(h:reset(), h)
  t.equal(h:count(), 0)
  t.equal(h:min(), nil)
end)

t.case("the largest integers stay exact or become floats, never negative", function()
  local h = core.hist.new():record(math.maxinteger, 2)
  t.equal(h:max(), math.maxinteger)
  t.equal(h:sum(), 2.0 * math.maxinteger)
  t.equal(h:mean(), 0x1p63)
  t.equal(h:stddev(), 0.0)
  h:record(math.maxinteger, math.maxinteger)
  t.equal(h:count(), 0x1p63 + 1)
  t.raises("more than 2^64 - 1 values", h.record, h, 1, math.maxinteger)
  t.raises("more than 2^64 - 1 values", h.merge, h, h)
end)

t.case("misuse is named", function()
  local h = core.hist.new()
  t.raises("-1 is not in 0..9223372036854775807", h.record, h, -1)
  t.raises("-1 is not in", h.record, h, 1, -1)
  t.raises("no integer representation", h.record, h, 1.5)
  t.raises("iolua.hist expected", h.record, {}, 1)
  t.raises("iolua.hist expected", h.merge, h, 5)
  t.equal(h:record(5, 0):count(), 0)
  t.equal(getmetatable(h), false)
end)

t.case("tostring sums it up", function()
  t.equal(tostring(filled(10, 20)), "hist: 2 values, mean 15.0 ns, 10..20 ns")
  t.equal(tostring(filled(10, 10, 11)), "hist: 3 values, mean 10.3 ns, 10..11 ns")
end)

t.done()
