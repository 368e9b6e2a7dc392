-- Summaries, intervals and outliers of runs.
local t = require "check"
local stats = require "iolua.stats"

-- Figures from scipy 1.10.1: S.t.ppf(0.975, n - 1) * sd / sqrt(n), S.binom.cdf for the rest.
t.case("three values have their textbook interval", function()
  local s = stats.summary { 10, 12, 14 }
  t.equal(s.n, 3)
  t.equal(s.mean, 12.0)
  t.equal(s.sd, 2.0)
  t.near(s.half_width, 4.968275423687506, 1e-9)
  t.equal(s.min, 10)
  t.equal(s.max, 14)
  t.equal(s.median, 12)
  t.equal(s.confidence, 0.95)
end)

t.case("five values have their textbook interval", function()
  local s = stats.summary { 100, 102, 98, 101, 99 }
  t.equal(s.mean, 100.0)
  t.near(s.sd, 1.5811388300841898, 1e-12)
  t.near(s.half_width, 1.9632431614775607, 1e-9)
end)

t.case("one value has no spread and none has nothing", function()
  t.same(stats.summary { 7 }, { n = 1, mean = 7.0, min = 7, max = 7, median = 7,
    confidence = 0.95 })
  t.same(stats.summary {}, { n = 0, confidence = 0.95 })
end)

t.case("equal values have a spread of exactly 0", function()
  local s = stats.summary { 5, 5, 5 }
  t.equal(s.sd, 0.0)
  t.equal(s.half_width, 0.0)
  t.equal(stats.summary({ 0.1, 0.1, 0.1 }).sd, 0.0)
end)

t.case("a large offset costs no digits", function()
  t.near(stats.summary({ 1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16 }).sd, math.sqrt(30), 1e-12)
end)

t.case("the confidence may be chosen", function()
  local s = stats.summary({ 10, 12, 14 }, { confidence = 0.99 })
  t.near(s.half_width, 9.924843200918293 * 2 / math.sqrt(3), 1e-9)
end)

t.case("the published affinity table has its mean and deviation", function()
  local s = stats.summary { 3859.9, 3856.3, 3850.3, 3853.9, 3853.5, 3856.6, 3854.7, 3855.3,
    3856.2, 3857.0, 3856.5, 3853.7, 3854.8, 3855.1, 3854.9, 3853.4, 3852.2, 3854.0, 3854.8,
    3854.0 }
  t.equal(s.n, 20)
  t.near(s.mean, 3854.855, 1e-9)
  t.near(s.sd, 1.9927, 5e-5)
  t.near((s.max - s.min) / s.max * 100, 0.2487, 5e-5)
end)

t.case("values that are no numbers are named", function()
  t.raises("nan, not a finite number", stats.summary, { 1, 0 / 0 })
  t.raises("value 1 is inf", stats.summary, { math.huge })
  t.raises("value 2 is x, not a finite number", stats.summary, { 1, "x" })
  t.raises("values must be an array of numbers, not nil", stats.summary, nil)
end)

t.case("the median of an even number is between the middle two", function()
  t.equal(stats.summary({ 4, 1, 3, 2 }).median, 2.5)
  t.equal(stats.median_interval({ 4, 1, 3, 2 }).value, 2.5)
end)

t.case("the median's interval has the ranks of the sign test", function()
  local values = {}
  for i = 1, 10 do values[i] = i end
  local m = stats.median_interval(values)
  t.equal(m.low_rank, 2)
  t.equal(m.high_rank, 9)
  t.near(m.coverage, 1 - 2 * 11 / 1024, 1e-12)
  t.equal(m.low, 2)
  t.equal(m.high, 9)
  for i = 11, 20 do values[i] = i end
  m = stats.median_interval(values)
  t.equal(m.low, 6)
  t.equal(m.high, 15)
  t.near(m.coverage, 0.9586105346679688, 1e-12)
end)

t.case("five values cannot bound a median at 95 %, six can", function()
  local m = stats.median_interval { 1, 2, 3, 4, 5 }
  t.equal(m.low, nil)
  t.equal(m.high, nil)
  t.equal(m.coverage, nil)
  m = stats.median_interval { 1, 2, 3, 4, 5, 6 }
  t.equal(m.low, 1)
  t.equal(m.high, 6)
  t.near(m.coverage, 1 - 2 / 64, 1e-12)
end)

t.case("a high percentile is bounded from below only by few values", function()
  local values = {}
  for i = 1, 40 do values[i] = i end
  local p = stats.percentile_interval(values, 90)
  t.equal(p.value, 36)
  t.equal(p.high, 40)
  p = stats.percentile_interval(values, 99)
  t.equal(p.value, 40)
  t.equal(p.high, nil)
  t.ok(p.low)
  t.raises("percentile 0 is not between 0 and 100", stats.percentile_interval, values, 0)
end)

t.case("outliers are marked and nothing is dropped", function()
  local values = { 10, 11, 10, 12, 11, 30 }
  local marks, count = stats.outliers(values)
  t.same(marks, { false, false, false, false, false, true })
  t.equal(count, 1)
  t.equal(#values, 6)
  t.same(stats.outliers { 5, 5, 5, 5 }, { false, false, false, false })
  t.same(stats.outliers { 5, 5, 5, 5, 5, 5, 9 },
    { false, false, false, false, false, false, true })
  t.same(stats.outliers {}, {})
end)

t.done()
