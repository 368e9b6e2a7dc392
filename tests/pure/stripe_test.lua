--- The analysis of a stripe sweep, held to the figures published in 2005.
package.path = "scenarios/?.lua;" .. package.path
local t = require "check"
local analysis = require "stripe.analysis"
local chart = require "stripe.chart"

-- MB/s by KiB a segment and width.
local rates = {}
for line in io.lines("tests/data/stripe-sweep-2005.csv") do
  local width, kib, rate = line:match("^(%d+),(%d+),([%d.]+)")
  if width then
    width, kib = math.tointeger(tonumber(width)), math.tointeger(tonumber(kib))
    rates[kib] = rates[kib] or {}
    rates[kib][width] = tonumber(rate)
  end
end

local function times(width)
  local list = {}
  for row, kib in ipairs { 16, 32, 48, 64 } do
    list[row] = analysis.transfer_us(width, kib * 1024, rates[kib][width])
  end
  return list
end

t.case("times per transfer at 6 disks are 308, 1223, 1592, 1943 us", function()
  local want = { 308, 1223, 1592, 1943 }
  for row, us in ipairs(times(6)) do t.near(us, want[row], 0.5) end
end)

t.case("wrapping costs 555 us once and 360 us a row at 6 disks", function()
  local once, per_row = analysis.wrapping(times(6))
  t.near(per_row, (1943 - 1223) / 2, 1)
  t.near(once, 1223 - 308 - 360, 2)
end)

t.case("the efficiency of the 16 KiB line is 0.9623 at 4 disks, 0.5141 at 10", function()
  t.near(analysis.efficiency(4, rates[16][4], rates[16][1]), 0.9623, 0.00005)
  t.near(analysis.efficiency(10, rates[16][10], rates[16][1]), 0.5141, 0.00005)
end)

t.case("the 16 KiB line bends near 4 disks", function()
  local x, y = {}, {}
  for width = 1, 10 do x[width], y[width] = width, rates[16][width] end
  local fit, sentence = analysis.bend(x, y)
  t.ok(fit.at > 3.5 and fit.at < 6, "bend at " .. fit.at)
  t.ok(sentence:find("^Width stops paying at [345]%.%d members"), sentence)
end)

t.case("a line without a bend has none", function()
  local x, y = {}, {}
  for width = 1, 10 do x[width], y[width] = width, 70.5 * width + (width % 3 - 1) * 0.2 end
  local _, sentence = analysis.bend(x, y)
  t.ok(sentence:find("^No bend is seen up to 10 members: each adds 70%.%d MB/s%.$"), sentence)
end)

t.case("few widths and few rows are not enough, and say so", function()
  local _, sentence = analysis.bend({ 1, 2, 3, 3 }, { 1, 2, 3, 3 })
  t.equal(sentence, "Fewer than four widths do not tell where it stops paying.")
  t.equal(analysis.wrapping { 1, 2 }, nil)
end)

t.case("the verdict on wrapping needs more than noise, and more than 2 % of a row", function()
  local function says(blocks)
    local once, per_row, first = analysis.wrapping_of(blocks)
    return analysis.wrapping_sentence(6, once, per_row, first)
  end
  t.contains(says { { 308, 1223, 1592, 1943 }, { 310, 1225, 1590, 1941 } },
    "wrapping itself costs.")
  t.contains(says { { 100, 200, 300 }, { 100, 200, 300 } }, "no cost of wrapping itself is seen.")
  t.contains(says { { 100, 201, 300 }, { 100, 201, 300 } }, "no cost of wrapping itself is seen.")
  t.contains(says { { 100, 300, 400 } }, "one run cannot tell it from none.")
end)

t.case("the chart has a line a segment, intervals, and the ceiling", function()
  local c = chart.of("t", { "16k" }, { 1, 2 }, { ["16k"] = { { 70, 71 }, { 140, 141 } } },
    { { 72 }, { 144 } })
  t.equal(c.x.max, 2.5)
  t.equal(c.x.label, "Segments per volume")
  t.equal(#c.series, 2)
  t.equal(c.series[1].points[2].y, 140.5)
  t.ok(c.series[1].points[2].error > 0)
  t.equal(c.series[2].line, true)
end)

t.done()
