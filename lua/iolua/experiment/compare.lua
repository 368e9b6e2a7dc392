--- result:compare and result:pilot: the levels of a factor against a baseline, within blocks.
local design = require "iolua.design"
local nearest = require "iolua.nearest"
local stats = require "iolua.stats"
local verdict = require "iolua.experiment.verdict"

local compare = {}

local OPTIONS = { "factor", "metric", "baseline", "smallest", "within", "better", "ceiling",
                  "labels", "only" }

local function level_text(level)
  return type(level) == "table" and level.name and tostring(level.name) or tostring(level)
end

local function holds(list, item)
  for _, each in ipairs(list) do
    if each == item then return true end
  end
  return false
end

-- The fault is in the line that called compare.
local function misuse(text, ...)
  error(("compare: " .. text):format(...), 4)
end

-- What to compare: factor, metric and smallest of the options or by default.
local function checked(result, o)
  if type(o) ~= "table" then misuse("options must be a table, not %s", tostring(o)) end
  for key in pairs(o) do
    if not holds(OPTIONS, key) then
      misuse("unknown option %s%s", tostring(key), nearest.hint(key, OPTIONS))
    end
  end
  local factor = o.factor or result.factors[1]
  if not holds(result.factors, factor) then
    misuse("no factor %q%s", tostring(factor), nearest.hint(factor, result.factors))
  end
  for name in pairs(o.within or {}) do
    if not holds(result.factors, name) then
      misuse("within names no factor: %s%s", tostring(name), nearest.hint(name, result.factors))
    end
  end
  local metrics = result:metrics()
  local metric = o.metric or metrics[1]
  if #metrics > 0 and not holds(metrics, metric) then
    misuse("no metric %q%s", tostring(metric), nearest.hint(metric, metrics))
  end
  local smallest, message
  if o.smallest ~= nil then smallest, message = verdict.smallest(o.smallest) end
  if message then misuse("%s", message) end
  return factor, metric, smallest
end

local function levels_match(case, within)
  for name, level in pairs(within or {}) do
    if case[name] ~= level then return false end
  end
  return true
end

-- The levels of a factor in the order of the cases, each with its cases; and their index.
local function arms_of(result, factor, within)
  local arms, index = {}, {}
  for i, case in ipairs(result.cases) do
    if levels_match(case, within) then
      local text = level_text(case[factor])
      if not index[text] then
        arms[#arms + 1] = { label = factor .. "=" .. text, level = case[factor], cases = {} }
        index[text] = #arms
      end
      table.insert(arms[index[text]].cases, i)
    end
  end
  return arms, index
end

local function baseline_of(result, o, factor, index)
  local level = o.baseline
  if level == nil then level = result.cases[result.baseline][factor] end
  local at = index[level_text(level)]
  if not at then
    misuse("%s has no level %s among the cases compared", factor, level_text(level))
  end
  return at
end

-- The arms that are wanted, by block, for verdict.compare.
local function data_of(result, o, metric, arms, base)
  local data, wanted = { arms = {}, blocks = result.replicates }, nil
  if o.only then
    wanted = {}
    for _, level in ipairs(o.only) do wanted[level_text(level)] = true end
  end
  for _, arm in ipairs(arms) do
    if arm == base or not wanted or wanted[level_text(arm.level)] then
      data.arms[#data.arms + 1] = {
        label = o.labels and level_text(arm.level) or arm.label, level = arm.level,
        values = result:by_block(arm.cases, metric, false),
      }
      if arm == base then data.baseline = #data.arms end
    end
  end
  -- The duplicate is of the design's baseline: it says how far to believe all of this.
  if result.duplicate then
    data.duplicate = result:by_block({ result.baseline }, metric, true)
    data.duplicate_base = result:by_block({ result.baseline }, metric, false)
  end
  return data
end

--- Compare the levels of a factor with a baseline, within blocks.
---@param result iolua.result
---@param options? { factor: string, metric: string, baseline: any, smallest: string|number,
---  within: table, only: table, better: string, ceiling: string, labels: boolean }  within: levels
---  of other factors to look at; only: levels of this factor; ceiling: why it cannot matter here;
---  labels: name the arms by their levels alone
---@return table comparison  { arms = { { label, percent, low_percent, high_percent, p,
---  p_corrected, verdict, words } }, baseline, aa, sentence, ... }
function compare.compare(result, options)
  local o = options or {}
  local factor, metric, smallest = checked(result, o)
  local arms, index = arms_of(result, factor, o.within)
  local base = arms[baseline_of(result, o, factor, index)]
  local better = o.better or result.better and result.better[metric]
  local c = verdict.compare(data_of(result, o, metric, arms, base), { metric = metric,
    better = better, smallest = smallest, cannot_matter = o.ceiling or result.ceiling })
  c.factor = factor
  return setmetatable(c, { __tostring = function(self) return self.sentence end })
end

-- Each arm's differences from the baseline, where two blocks or more hold both.
local function differences_of(result, metric, arms, base)
  local first, list = result:by_block(base.cases, metric, false), {}
  for _, arm in ipairs(arms) do
    local differences = arm ~= base and stats.paired(first,
      result:by_block(arm.cases, metric, false), { blocks = result.replicates }).differences
    if differences then list[#list + 1] = differences end
  end
  return list
end

--- From this result as a pilot: how many blocks, runs and how long it takes to see a difference.
---@param result iolua.result
---@param options? table  as of compare; smallest: default "2%"
---@return table pilot  of design.pilot, with `text`
function compare.pilot(result, options)
  local o = {}
  for key, value in pairs(options or {}) do o[key] = value end
  o.smallest = o.smallest or "2%"
  local factor, metric, smallest = checked(result, o)
  local arms, index = arms_of(result, factor, o.within)
  local base = arms[baseline_of(result, o, factor, index)]
  local differences = differences_of(result, metric, arms, base)
  if #differences == 0 then error("pilot: two whole blocks of two arms are needed", 2) end
  local mean = stats.summary(result:values(base.cases[1], metric)).mean
  local pilot = design.pilot { differences = differences, cases = #result.cases,
    smallest = smallest / 100 * math.abs(mean), duplicate = result.duplicate and true or false,
    run_ns = result.elapsed_ns and result.elapsed_ns // math.max(1, #result.rows) }
  pilot.text = require("iolua.experiment.plan").pilot(pilot, metric, smallest)
  return pilot
end

return compare
