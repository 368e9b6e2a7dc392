-- Designs: every case as often, in an order that follows from the seed.
local t = require "check"
local design = require "iolua.design"

local FACTORS = { width = { 1, 2, 4 }, segment = { "16k", "64k" } }

local function labels(cases, names)
  local all = {}
  for i, case in ipairs(cases) do all[i] = design.label(case, names) end
  return all
end

t.case("a factorial has every combination, the last factor fastest", function()
  local cases, out, names = design.factorial(FACTORS)
  t.same(names, { "segment", "width" })
  t.same(labels(cases, names), { "segment=16k width=1", "segment=16k width=2",
    "segment=16k width=4", "segment=64k width=1", "segment=64k width=2", "segment=64k width=4" })
  t.same(out, {})
  cases = design.factorial(FACTORS, { order = { "width", "segment" } })
  t.same(cases[2], { width = 1, segment = "64k" })
end)

t.case("exclusions are left out with their reason", function()
  local cases, out = design.factorial(FACTORS, { exclude = {
    { width = 1, segment = "64k", reason = "does not wrap" }, { width = 4 } } })
  t.equal(#cases, 3)
  t.same(out[1], { case = { width = 4, segment = "16k" }, reason = "excluded" })
  t.same(out[2], { case = { width = 1, segment = "64k" }, reason = "does not wrap" })
  cases = design.factorial(FACTORS, { exclude = function(case) return case.width > 1 end })
  t.equal(#cases, 2)
end)

t.case("one factor at a time leaves the others at the baseline", function()
  local cases, names = design.one_at_a_time(FACTORS)
  t.same(labels(cases, names), { "segment=16k width=1", "segment=64k width=1",
    "segment=16k width=2", "segment=16k width=4" })
  cases = design.one_at_a_time(FACTORS, { width = 2 })
  t.same(cases[1], { segment = "16k", width = 2 })
end)

t.case("each block holds every case once and the baseline twice", function()
  local cases = design.factorial(FACTORS)
  local runs = design.plan { cases = cases, replicates = 5, seed = 1 }
  t.equal(#runs, 5 * 7)
  for block = 1, 5 do
    local seen, duplicates = {}, 0
    for i = (block - 1) * 7 + 1, block * 7 do
      t.equal(runs[i].block, block)
      t.equal(runs[i].run, i)
      if runs[i].duplicate then
        duplicates = duplicates + 1
        t.equal(runs[i].case, 1)
      else
        t.equal(seen[runs[i].case], nil)
        seen[runs[i].case] = true
      end
    end
    t.equal(duplicates, 1)
    t.equal(#seen, 6)
  end
end)

t.case("the order follows from the seed, and more replicates only add blocks", function()
  local cases = design.factorial(FACTORS)
  local short = design.plan { cases = cases, replicates = 2, seed = 7 }
  local long = design.plan { cases = cases, replicates = 9, seed = 7 }
  for i, run in ipairs(short) do t.same(long[i], run) end
  local other, same = design.plan { cases = cases, replicates = 9, seed = 8 }, true
  for i, run in ipairs(other) do same = same and run.case == long[i].case end
  t.equal(same, false)
end)

t.case("every place in a block is as likely for every case", function()
  local cases, counts = { {}, {}, {} }, {}
  local runs = design.plan { cases = cases, replicates = 3000, duplicate = false }
  for i, run in ipairs(runs) do
    local key = run.case .. "@" .. (i - 1) % 3
    counts[key] = (counts[key] or 0) + 1
  end
  for _, n in pairs(counts) do t.near(n, 1000, 120) end
end)

t.case("a paired comparison is a plan of two cases", function()
  local runs, baseline = design.plan { cases = { { arm = "A" }, { arm = "B" } }, replicates = 3,
                                       baseline = { arm = "B" }, warm_up = 2 }
  t.equal(baseline, 2)
  t.equal(#runs, 2 + 3 * 3)
  t.same(runs[1], { run = 1, block = 0, case = 2, warm_up = true })
end)

t.case("mistakes are named", function()
  t.raises("factors must be a table", design.factorial, {})
  t.raises("factor width has no levels; write width = { level", design.factorial, { width = 4 })
  t.raises("factor width has 2 twice", design.factorial, { width = { 2, 2 } })
  t.raises('order names "widht", which is no factor; did you mean "width"?', design.factorial,
    FACTORS, { order = { "widht" } })
  t.raises('order leaves out "segment"', design.factorial, FACTORS, { order = { "width" } })
  t.raises("there are no cases to run", design.plan, { cases = {} })
  t.raises("replicates = 0 is not an integer of 1 or more", design.plan,
    { cases = { {} }, replicates = 0 })
  t.raises("no case has the baseline width=3", design.plan,
    { cases = design.factorial(FACTORS), baseline = { width = 3 } })
  t.raises("baseline 9 is no case; there are 1", design.plan, { cases = { {} }, baseline = 9 })
end)

t.case("a pilot says how many blocks and how long", function()
  -- sd 1 on 2 degrees of freedom; a difference of 0.7 needs 19 blocks (see compare_test).
  local pilot = design.pilot { differences = { { 1, 2, 3 } }, smallest = 0.7, cases = 2,
                               run_ns = 10 * 1000000000 }
  t.equal(pilot.sd, 1.0)
  t.equal(pilot.df, 2)
  t.equal(pilot.replicates, 19)
  t.equal(pilot.runs, 19 * 3)
  t.equal(pilot.ns, 19 * 3 * 10 * 1000000000)
  -- The upper bound is sd / sqrt(chi2(0.2, 2) / 2) = 1 / sqrt(-ln 0.8).
  -- About (1.96 + 0.8416)^2 sd^2 / 0.7^2 blocks, and 2 for the unknown spread.
  t.near(pilot.cautious, 7.849 / 0.49 / -math.log(0.8) + 2, 1)
  t.ok(design.pilot({ differences = { { 1, 2, 3 } }, smallest = 0.7, cases = 2,
    comparisons = 10 }).replicates > 19)
  t.raises("arm 1 of the pilot has 1 differences", design.pilot,
    { differences = { { 1 } }, smallest = 1, cases = 2 })
end)

t.done()
