--- What the runs allow to be said: per arm a difference with its interval, and one verdict.
--
-- Pure. The unit is the run; arms are compared within blocks. A verdict is one of
--   faster, slower   the difference is real (corrected for the number of arms)
--   equivalent       it lies surely within +-smallest
--   cannot tell      neither; with what could have been seen and how many more blocks it needs
--   inconclusive     the baseline and its duplicate differ: nothing here can be believed
--   cannot matter here   what limits this machine lies elsewhere
local stats = require "iolua.stats"

local verdict = {}

local ALPHA, POWER = 0.05, 0.8

--- A difference in percent as text: signed unless `plain`.
function verdict.percent(value, plain)
  local magnitude = math.abs(value)
  local places = magnitude >= 10 and 1 or magnitude >= 0.1 and 2 or 3
  local text = ("%" .. (plain and "" or "+") .. "." .. places .. "f"):format(value)
  return (text:gsub(",", ".")) .. " %"
end

local percent = verdict.percent

--- Is more of this metric better? By its name: rates up, times and costs down.
---@param metric string
---@return "higher"|"lower"
function verdict.better(metric)
  if metric:find("_per_s$") or metric:find("iops") then return "higher" end
  for _, pattern in ipairs { "_ns$", "_us$", "_ms$", "_s$", "lat", "_per_io$", "_per_op$",
                             "cycles", "seconds", "_time$" } do
    if metric:find(pattern) then return "lower" end
  end
  return "higher"
end

--- "2%", "0.5 %", 2 (percent) -> percent | nil, message.
---@param value string|number
---@return number?
---@return string? message
function verdict.smallest(value)
  local number = value
  if type(value) == "string" then number = tonumber(value:match("^%s*([%d.]+)%s*%%%s*$")) end
  if not math.type(number) or not (number > 0) or number >= 100 then
    return nil, ("smallest = %s is not a percentage above 0; write \"2%%\""):format(
      type(value) == "string" and ("%q"):format(value) or tostring(value))
  end
  return number + 0.0
end

local function mean_of(values, blocks)
  local list = {}
  for i = 1, blocks do
    if values[i] then list[#list + 1] = values[i] end
  end
  return stats.summary(list)
end

-- Does the baseline differ from its duplicate? nil where that cannot be asked.
local function aa_of(data)
  if not data.duplicate then return nil end
  local base = data.duplicate_base or data.arms[data.baseline].values
  local c = stats.paired(base, data.duplicate, { blocks = data.blocks })
  if c.n < 2 then return nil end
  local differs
  if c.p then differs = c.p < ALPHA else differs = c.difference ~= 0 end
  return { n = c.n, difference = c.difference, percent = c.percent, p = c.p,
           percent_half_width = c.percent_half_width, differs = differs, of = data.duplicate_of }
end

-- One arm with its comparison c; base_mean scales the percentages.
local function arm_of(label, c, summary, base_mean)
  local result = { label = label, n = c.n, mean = summary.mean, sd = summary.sd,
                   half_width = summary.half_width, difference = c.difference }
  if base_mean and base_mean ~= 0 and c.difference then
    result.percent = 100 * c.difference / math.abs(base_mean)
  end
  if c.se then
    result.p, result.low, result.high = c.p, c.low, c.high
    if c.percent then
      result.percent = c.percent
      result.low_percent = c.percent - c.percent_half_width
      result.high_percent = c.percent + c.percent_half_width
    end
    -- No spread at all: what differs differs surely (devices in virtual time).
    if not c.p then result.p = c.difference == 0 and 1.0 or 0.0 end
    result.same = c.se == 0 and c.difference == 0 or nil
  end
  return result
end

-- The comparison of one arm with the baseline, without its verdict.
local function compared(data, i, base_mean)
  local arm, base = data.arms[i], data.arms[data.baseline]
  local c = stats.paired(base.values, arm.values, { blocks = data.blocks })
  local result = arm_of(arm.label, c, mean_of(arm.values, data.blocks), base_mean)
  result.spread = c.sd and { n = c.n, sd = c.sd }
  return result, c
end

local function tost_p(c, margin)
  if not c.se then return nil end
  local t = stats.tost(c, margin)
  return t.p or (t.equivalent and 0.0 or 1.0)
end

-- Holm over those that have a p.
local function correct(arms, from, to)
  local values, at = {}, {}
  for _, arm in ipairs(arms) do
    if arm[from] then values[#values + 1], at[#at + 1] = arm[from], arm end
  end
  for i, p in ipairs(stats.holm(values)) do at[i][to] = p end
  return #values
end

-- What this many runs could have seen, and how many more the smallest one needs. `spread` is
-- the plan of stats.power: n blocks, or n1 and n2 runs.
local function could_see(arm, base_mean, tests, smallest)
  local spread = arm.spread
  arm.spread = nil
  if not spread or not base_mean or base_mean == 0 then return end
  if spread.sd == 0 then return end
  local scale = 100 / math.abs(base_mean)
  local plan = { confidence = 1 - ALPHA / math.max(1, tests), power = POWER, sd = spread.sd,
                 n = spread.n, n1 = spread.n1, n2 = spread.n2 }
  local seen = stats.minimum_detectable(plan)
  arm.could_have_seen_percent = seen and seen * scale
  if not smallest then return end
  local needed = stats.replicates { sd = spread.sd, difference = smallest / scale,
    confidence = plan.confidence, power = POWER, paired = spread.n ~= nil }
  arm.more_blocks = needed and math.max(0, needed - (spread.n or math.min(spread.n1, spread.n2)))
end

local function judge(arm, result)
  if result.cannot_matter then return "cannot matter here" end
  if result.aa and result.aa.differs then return "inconclusive" end
  if arm.same or arm.p_equivalent and arm.p_equivalent < ALPHA then return "equivalent" end
  if arm.p_corrected and arm.p_corrected < ALPHA then
    return (arm.difference > 0) == (result.better == "higher") and "faster" or "slower"
  end
  return "cannot tell"
end

--- The verdict of one arm in words: "cannot tell (could have seen 3.1 %; ...)".
---@param arm table  of compare
---@param result table  of compare
---@return string
function verdict.words(arm, result)
  if arm.same then return "equivalent (the same in every block)" end
  if arm.verdict == "equivalent" then
    return ("equivalent (within %s)"):format(percent(result.smallest_percent,
      true):gsub("%.0+ ", " "))
  end
  if arm.verdict ~= "cannot tell" then return arm.verdict end
  if not arm.could_have_seen_percent then
    return ("cannot tell (%s)"):format(arm.n < 2 and (arm.n == 1
      and "one block says nothing about the error"
      or "no block holds both") or "no spread to judge by")
  end
  local more = arm.more_blocks and arm.more_blocks > 0
    and ("; needs about %d more block%s"):format(arm.more_blocks, arm.more_blocks == 1 and ""
      or "s") or ""
  return ("cannot tell (could have seen %s%s)"):format(percent(arm.could_have_seen_percent,
    true), more)
end

-- Corrected p values, what could have been seen, a verdict for each arm, and the sentence.
local function conclude(result, base_means, brief)
  local tests = correct(result.arms, "p", "p_corrected")
  correct(result.arms, "p_tost", "p_equivalent")
  for i, arm in ipairs(result.arms) do
    if brief then arm.spread = nil end
    could_see(arm, base_means[i], tests, result.smallest_percent)
    arm.verdict = judge(arm, result)
    arm.words = verdict.words(arm, result)
  end
  result.sentence = require("iolua.experiment.sentence").of(result)
  return result
end

local function margin(smallest, base_mean)
  return smallest and base_mean and base_mean ~= 0 and smallest / 100 * math.abs(base_mean) or nil
end

--- Compare arms with a baseline, within blocks.
---@param data { arms: { label: string, values: table }[], baseline: integer, blocks: integer,
---  duplicate?: table, duplicate_base?: table, duplicate_of?: string }  values by block; false or
---  nil where a block has none; duplicate_base: of what the duplicate repeats (default: the
---  baseline arm), duplicate_of: its name
---@param options { metric: string, better?: string, smallest?: number, cannot_matter?: string,
---  brief?: boolean }  brief: leave out what could have been seen, which takes time
---@return table result  { metric, baseline, arms, aa, blocks, sentence, ... }
function verdict.compare(data, options)
  local base = data.arms[data.baseline]
  local base_mean = mean_of(base.values, data.blocks).mean
  local result = {
    metric = options.metric, baseline = base.label, baseline_mean = base_mean,
    blocks = data.blocks, better = options.better or verdict.better(options.metric),
    smallest_percent = options.smallest, cannot_matter = options.cannot_matter,
    aa = aa_of(data), arms = {},
  }
  local means, bound = {}, margin(options.smallest, base_mean)
  for i in ipairs(data.arms) do
    if i ~= data.baseline then
      local arm, c = compared(data, i, base_mean)
      arm.p_tost = bound and tost_p(c, bound)
      result.arms[#result.arms + 1] = arm
      means[#means + 1] = base_mean
    end
  end
  return conclude(result, means, options.brief)
end

local function pooled_sd(a, b)
  if not a.sd or not b.sd then return nil end
  return math.sqrt(((a.n - 1) * a.sd^2 + (b.n - 1) * b.sd^2) / (a.n + b.n - 2))
end

--- Compare lists that share no blocks: results of different runs or machines.
---@param groups { label: string, base: number[], values: number[] }[]
---@param options { metric: string, baseline: string, better?: string, smallest?: number,
---  aa?: table }
---@return table result  as of compare
function verdict.unpaired(groups, options)
  local result = {
    metric = options.metric, baseline = options.baseline, aa = options.aa, arms = {},
    better = options.better or verdict.better(options.metric), smallest_percent = options.smallest,
  }
  local means = {}
  for i, group in ipairs(groups) do
    local c = stats.welch(group.base, group.values)
    local a, b = stats.summary(group.base), stats.summary(group.values)
    local arm, bound = arm_of(group.label, c, b, a.mean), margin(options.smallest, a.mean)
    local sd = pooled_sd(a, b)
    arm.n, arm.n_baseline, arm.baseline_mean = b.n, a.n, a.mean
    arm.p_tost = bound and tost_p(c, bound)
    arm.spread = sd and { n1 = a.n, n2 = b.n, sd = sd }
    result.arms[i], means[i] = arm, a.mean
  end
  return conclude(result, means)
end

return verdict
