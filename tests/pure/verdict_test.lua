-- Verdicts, on published tables whose answers are known and on arms made by hand.
local t = require "check"
local csv = require "iolua.report.csv"
local locality_data = "tests/data/affinity-2008.csv"
local stats = require "iolua.stats"
local verdict = require "iolua.experiment.verdict"

local function read(path)
  local file = assert(io.open(path))
  local text = file:read("a")
  file:close()
  return text
end

local function compare(arms, options)
  local data = { arms = {}, baseline = 1, blocks = #arms[1] }
  for i, values in ipairs(arms) do data.arms[i] = { label = "arm " .. i, values = values } end
  data.duplicate = options and options.duplicate
  return verdict.compare(data, { metric = "MB_per_s", smallest = options and options.smallest,
    better = options and options.better, cannot_matter = options and options.cannot_matter })
end

t.case("E4: 110.101 against 92.6969 is +18.78 %, one run an arm: cannot tell", function()
  local c = compare { { 92.6969 }, { 110.101 } }
  t.near(c.arms[1].percent, 18.78, 0.005)
  t.equal(c.arms[1].verdict, "cannot tell")
  t.contains(c.sentence, "with one run an arm nobody can tell")
end)

-- Rows that are one configuration: with A = I, "A" and "I" name the same CPU.
local function configuration(row)
  if row.A ~= "I" then return ("%s%s%s"):format(row.A, row.Q or "", row.C or "") end
  local function same(letter) return letter == "A" and "I" or letter end
  return "I" .. same(row.Q) .. same(row.C)
end

t.case("E5: twenty rows, 0.25 % from best to worst, no difference found", function()
  local values, labels, first18, configurations = {}, {}, {}, {}
  for i, row in ipairs(csv.rows(read(locality_data))) do
    values[i], labels[i] = row.MB_per_s, configuration(row)
    if i <= 18 then first18[i], configurations[i] = values[i], labels[i] end
  end
  local s = stats.summary(values)
  t.equal(s.n, 20)
  t.near(s.mean, 3854.855, 1e-9)
  t.near(s.sd, 1.9927, 5e-5)
  t.near(100 * (s.max - s.min) / s.max, 0.2487, 5e-5)
  local a = stats.anova(first18, configurations)
  t.equal(a.groups, 13)
  t.equal(a.df_within, 5)
  t.near(a.error_sd, 1.42, 0.005)
  t.near(a.f, 2.65, 0.005)
  t.ok(a.f < a.critical, "no difference found")
  t.near(a.critical, 4.68, 0.005)
end)

t.case("E1: efficiency 0.9623 at 4 disks and 0.5141 at 10; first dips at 9 and 6", function()
  local lines = {}
  for _, row in ipairs(csv.rows(read("tests/data/stripe-sweep-2005.csv"))) do
    lines[row.kib_per_segment] = lines[row.kib_per_segment] or {}
    lines[row.kib_per_segment][row.segments] = row.MB_per_s
  end
  local function efficiency(n) return lines[16][n] / (n * lines[16][1]) end
  t.near(efficiency(4), 0.9623, 5e-5)
  t.near(efficiency(10), 0.5141, 5e-5)
  local function first_dip(line)
    for n = 2, #line do
      if line[n] < line[n - 1] then return n end
    end
  end
  t.equal(first_dip(lines[16]), 9)
  for _, k in ipairs { 32, 48, 64 } do t.equal(first_dip(lines[k]), 6) end
end)

t.case("faster and slower follow the metric's direction", function()
  local slow, fast = { 10, 11, 12, 10, 11 }, { 20, 21.5, 21.8, 20.2, 21 }
  t.equal(compare({ slow, fast }).arms[1].verdict, "faster")
  t.equal(compare({ slow, fast }, { better = "lower" }).arms[1].verdict, "slower")
  t.equal(verdict.better("p99_us"), "lower")
  t.equal(verdict.better("MB_per_s"), "higher")
  t.equal(verdict.better("iops"), "higher")
  t.equal(verdict.better("cpu_ns_per_io"), "lower")
end)

t.case("differences in blocks are paired: a drift common to both arms is no noise", function()
  local a, b = {}, {}
  for i = 1, 6 do a[i], b[i] = 100 + 20 * i, 102 + 20 * i + i % 2 / 10 end
  local c = compare { a, b }
  t.equal(c.arms[1].verdict, "faster")
  t.near(c.arms[1].difference, 2.05, 1e-9)
end)

t.case("surely within the smallest difference: equivalent, and it says within what", function()
  local c = compare({ { 100, 101, 100.5, 99.8 }, { 100.2, 100.9, 100.4, 100.1 } },
    { smallest = 2 })
  t.equal(c.arms[1].verdict, "equivalent")
  t.equal(c.arms[1].words, "equivalent (within 2 %)")
  t.contains(c.sentence, "equivalent to arm 1 within 2 %")
end)

t.case("cannot tell says what could have been seen and how many more blocks it needs", function()
  local c = compare({ { 100, 120, 90, 110 }, { 110, 100, 105, 95 } }, { smallest = 2 })
  local arm = c.arms[1]
  t.equal(arm.verdict, "cannot tell")
  local differences = { 10, -20, 15, -15 }
  local sd = stats.summary(differences).sd
  t.near(arm.could_have_seen_percent,
    100 / 105 * stats.minimum_detectable { n = 4, sd = sd }, 1e-9)
  t.equal(arm.more_blocks, stats.replicates { sd = sd, difference = 2.1 } - 4)
  t.ok(arm.words:find("^cannot tell %(could have seen [%d.]+ %%; needs about %d+ more blocks%)$"))
end)

t.case("a baseline that differs from its duplicate makes everything inconclusive", function()
  local c = compare({ { 100, 101, 102, 100 }, { 200, 201, 202, 200 } },
    { duplicate = { 110, 111, 112, 110.5 } })
  t.equal(c.aa.differs, true)
  t.equal(c.arms[1].verdict, "inconclusive")
  t.contains(c.sentence, "nothing here can be believed")
end)

t.case("a duplicate of another arm is named as that arm's", function()
  local base, other = { 100, 101, 100, 101 }, { 50, 51, 50, 51 }
  local c = verdict.compare({ arms = { { label = "far", values = other }, { label = "near",
    values = other } }, baseline = 1, blocks = 4, duplicate = { 120, 121.1, 120, 121 },
    duplicate_base = base, duplicate_of = "inline same" }, { metric = "us" })
  t.contains(c.sentence, "inconclusive: inline same and its own duplicate differ by")
end)

t.case("a ceiling elsewhere: cannot matter here, with the reason", function()
  local c = compare({ { 1, 2, 3 }, { 2, 3, 4.1 } },
    { cannot_matter = "the disk is full long before a CPU is" })
  t.equal(c.arms[1].verdict, "cannot matter here")
  t.contains(c.sentence, "cannot matter here: the disk is full long before a CPU is")
end)

t.case("several arms are corrected together (Holm)", function()
  local base = { 10.0, 10.4, 9.8, 10.1, 9.9 }
  local arms = { base }
  for k = 1, 4 do
    arms[k + 1] = {}
    for i, v in ipairs(base) do arms[k + 1][i] = v + 0.3 + ((i * k * 7) % 5 - 2) / 5 end
  end
  local c = compare(arms)
  local raw = {}
  for i, arm in ipairs(c.arms) do raw[i] = arm.p end
  for i, p in ipairs(stats.holm(raw)) do t.equal(c.arms[i].p_corrected, p) end
end)

t.case("devices without noise: any difference is real, none is equivalent", function()
  t.equal(compare({ { 5, 5, 5 }, { 6, 6, 6 } }).arms[1].verdict, "faster")
  t.equal(compare({ { 5, 5, 5 }, { 5, 5, 5 } }, { smallest = 1 }).arms[1].verdict, "equivalent")
  local c = compare { { 5, 5, 5 }, { 5, 5, 5 } }
  t.equal(c.arms[1].words, "equivalent (the same in every block)")
  t.contains(c.sentence, "arm 2 is the same as arm 1 in every block")
end)

t.case("blocks that a void or failed run left incomplete are left out", function()
  local c = compare { { 10, 11, false, 12 }, { 20, false, 22, 22.5 } }
  t.equal(c.arms[1].n, 2)
end)

t.case("a verdict that some blocks had no part in says how many had", function()
  local c = compare { { 100, 100.1, 99.9, 100 }, { 150, false, 150.2, 149.9 } }
  t.equal(c.arms[1].verdict, "faster")
  t.contains(c.sentence, "; 3 of 4 blocks)")
  t.equal(compare { { 100, 101, 99 }, { 150, 151, 149.5 } }.sentence:find("blocks", 1, true), nil)
end)

t.case("smallest is a percentage, in words or as a number", function()
  t.equal(verdict.smallest("2%"), 2.0)
  t.equal(verdict.smallest("0.5 %"), 0.5)
  t.equal(verdict.smallest(3), 3.0)
  for _, wrong in ipairs { "2", "%", "-1%", 0, "0%", "200%" } do
    t.equal((verdict.smallest(wrong)), nil, tostring(wrong))
  end
end)

t.case("results of two runs share no blocks: Welch, and runs an arm are asked for", function()
  local c = verdict.unpaired({ { label = "case", base = { 100, 101, 99 }, values = { 110, 111,
    109.5 } },
    { label = "other", base = { 100, 130, 80 }, values = { 110, 90, 120 } } },
    { metric = "MB_per_s", baseline = "first", smallest = 2 })
  t.equal(c.arms[1].verdict, "faster")
  t.equal(c.arms[2].verdict, "cannot tell")
  t.ok(c.arms[2].more_blocks > 100)
end)

t.done()
