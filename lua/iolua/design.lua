--- Which runs an experiment makes, in which order.
--
-- A case is a table factor -> level. A plan is a list of runs in randomised blocks: each
-- block holds every case once and its baseline twice (A/A: if the two "differ", nothing the
-- experiment found can be believed). The order follows from the seed alone, and more
-- replicates only add blocks at the end.
local nearest = require "iolua.nearest"
local random = require "iolua.random"
local stats = require "iolua.stats"

local design = {}

local function level_text(level)
  if type(level) == "table" and level.name then return tostring(level.name) end
  return tostring(level)
end

-- The factors' names in the order given, else sorted.
local function names_of(factors, order, level)
  if not order then return nearest.keys(factors) end
  local seen = {}
  for _, name in ipairs(order) do
    if not factors[name] or seen[name] then
      error(("order names %q, which is %s"):format(tostring(name), seen[name] and "there twice"
        or "no factor" .. nearest.hint(name, nearest.keys(factors))), level + 1)
    end
    seen[name] = true
  end
  for name in pairs(factors) do
    if not seen[name] then error(("order leaves out %q"):format(name), level + 1) end
  end
  return order
end

local function check_factors(factors, level)
  if type(factors) ~= "table" or not next(factors) then
    error("factors must be a table of name = { level, level ... }", level + 1)
  end
  for name, levels in pairs(factors) do
    if type(name) ~= "string" or type(levels) ~= "table" or #levels == 0 then
      error(("factor %s has no levels; write %s = { level, level ... }"):format(tostring(name),
        tostring(name)), level + 1)
    end
    local seen = {}
    for _, value in ipairs(levels) do
      local text = level_text(value)
      if seen[text] then error(("factor %s has %s twice"):format(name, text), level + 1) end
      seen[text] = true
    end
  end
end

local function matches(case, pattern)
  for name, level in pairs(pattern) do
    if name ~= "reason" and case[name] ~= level then return false end
  end
  return true
end

-- Why a case is left out, or nil. exclude: a function of the case, or a list of patterns.
local function excluded(case, exclude)
  if type(exclude) == "function" then
    local reason = exclude(case)
    return reason and (reason == true and "excluded" or tostring(reason)) or nil
  end
  for _, pattern in ipairs(exclude or {}) do
    if matches(case, pattern) then return pattern.reason or "excluded" end
  end
end

--- Every combination of levels; the last factor varies fastest.
---@param factors table  name -> array of levels
---@param options? { order: string[], exclude: function|table[] }  exclude: gives true or a
---  reason for a case, or a list of partial cases with an optional `reason`
---@return table[] cases
---@return table[] excluded  { case =, reason = }
---@return string[] names    of the factors, in order
function design.factorial(factors, options)
  check_factors(factors, 2)
  options = options or {}
  local names, cases, out = names_of(factors, options.order, 2), {}, {}
  local function fill(depth, case)
    if depth > #names then
      local reason = excluded(case, options.exclude)
      local copy = {}
      for name, level in pairs(case) do copy[name] = level end
      if reason then out[#out + 1] = { case = copy, reason = reason }
      else cases[#cases + 1] = copy end
      return
    end
    for _, level in ipairs(factors[names[depth]]) do
      case[names[depth]] = level
      fill(depth + 1, case)
    end
  end
  fill(1, {})
  return cases, out, names
end

--- The baseline and every case that differs from it in one factor.
---@param factors table
---@param baseline? table  default: the first level of each factor
---@param options? { order: string[] }
---@return table[] cases   the baseline first
---@return string[] names
function design.one_at_a_time(factors, baseline, options)
  check_factors(factors, 2)
  local names = names_of(factors, options and options.order, 2)
  local first = {}
  for _, name in ipairs(names) do
    first[name] = baseline and baseline[name]
    if first[name] == nil then first[name] = factors[name][1] end
  end
  local cases = { first }
  for _, name in ipairs(names) do
    for _, level in ipairs(factors[name]) do
      if level ~= first[name] then
        local case = {}
        for key, value in pairs(first) do case[key] = value end
        case[name] = level
        cases[#cases + 1] = case
      end
    end
  end
  return cases, names
end

--- A case in words: "segment=16k width=4".
---@param case table
---@param names? string[]
---@return string
function design.label(case, names)
  local parts = {}
  for i, name in ipairs(names or nearest.keys(case)) do
    parts[i] = ("%s=%s"):format(name, level_text(case[name]))
  end
  return table.concat(parts, " ")
end

-- The index of the baseline: given as an index, a partial case, or not at all (the first).
local function baseline_of(cases, baseline, level)
  if baseline == nil then return 1 end
  if math.type(baseline) == "integer" and cases[baseline] then return baseline end
  if type(baseline) == "table" then
    for i, case in ipairs(cases) do
      if matches(case, baseline) then return i end
    end
    error(("no case has the baseline %s"):format(design.label(baseline)), level + 1)
  end
  error(("baseline %s is no case; there are %d"):format(tostring(baseline), #cases), level + 1)
end

local function count_of(options, name, default, least, level)
  local value = options[name]
  if value == nil then return default end
  local whole = math.type(value) and math.tointeger(value)
  if not whole or whole < least then
    error(("%s = %s is not an integer of %d or more"):format(name, tostring(value), least),
      level + 1)
  end
  return whole
end

--- The runs of an experiment, in order.
---@param options { cases: table[], replicates?: integer, seed?: integer, warm_up?: integer,
---  baseline?: integer|table, duplicate?: boolean }  default: 1 replicate, seed 1, no warm-up
---  runs (they are of the baseline, block 0), the first case, with a duplicate
---@return table[] runs  { run =, block =, case = index, duplicate = true|nil, warm_up = true|nil }
---@return integer baseline  index of the case
function design.plan(options)
  local cases = options.cases
  if type(cases) ~= "table" or #cases == 0 then error("there are no cases to run", 2) end
  local replicates = count_of(options, "replicates", 1, 1, 2)
  local warm_up = count_of(options, "warm_up", 0, 0, 2)
  local baseline = baseline_of(cases, options.baseline, 2)
  local generator, runs = random.new(options.seed or 1), {}
  local function add(run)
    run.run = #runs + 1
    runs[run.run] = run
  end
  for _ = 1, warm_up do add { block = 0, case = baseline, warm_up = true } end
  for block = 1, replicates do
    local members = {}
    for i = 1, #cases do members[i] = { block = block, case = i } end
    if options.duplicate ~= false then
      members[#members + 1] = { block = block, case = baseline, duplicate = true }
    end
    for _, run in ipairs(generator:shuffle(members)) do add(run) end
  end
  return runs, baseline
end

-- The common standard deviation of several arms' differences, and its degrees of freedom.
local function pooled(arms, level)
  local squares, df = 0.0, 0
  for i, arm in ipairs(arms) do
    local summary = stats.summary(arm)
    if summary.n < 2 then
      error(("arm %d of the pilot has %d differences, fewer than 2"):format(i, summary.n),
        level + 1)
    end
    squares, df = squares + summary.sd^2 * (summary.n - 1), df + summary.n - 1
  end
  if df == 0 then error("a pilot needs the differences of at least one arm", level + 1) end
  return math.sqrt(squares / df), df
end

--- From a pilot: how many blocks, runs and how long it takes to see a difference.
---@param options { differences: number[][], smallest: number, cases: integer, run_ns?: integer,
---  confidence?: number, power?: number, comparisons?: integer, duplicate?: boolean }
---  differences: per arm, of the pilot's blocks from the baseline; smallest in their unit;
---  comparisons: how many are judged (default: one an arm), for Holm's correction
---@return table pilot  { sd, df, replicates, runs, ns, cautious }: cautious is the number of
---  blocks if the true spread lies at the upper 80 % bound of what the pilot saw; nil where
---  more than 100000 were needed
function design.pilot(options)
  local sd, df = pooled(options.differences, 2)
  local comparisons = options.comparisons or #options.differences
  local confidence = 1 - (1 - (options.confidence or 0.95)) / comparisons
  local function blocks(spread)
    if spread == 0 then return 2 end
    local n = stats.replicates { sd = spread, difference = options.smallest,
                                 confidence = confidence, power = options.power }
    return n
  end
  local result = { sd = sd, df = df, replicates = blocks(sd) }
  -- sd^2 df / sigma^2 has a chi-square distribution: F with a boundless denominator.
  result.cautious = blocks(sd / math.sqrt(stats.f_quantile(0.2, df, 1e9)))
  if result.replicates then
    local per_block = options.cases + (options.duplicate ~= false and 1 or 0)
    result.runs = result.replicates * per_block
    result.ns = options.run_ns and result.runs * options.run_ns
  end
  return result
end

return design
