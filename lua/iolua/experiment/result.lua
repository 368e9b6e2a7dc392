--- What an experiment found: its rows, and what they allow to be said.
local counts = require "iolua.experiment.counts"
local design = require "iolua.design"
local stats = require "iolua.stats"
local verdict = require "iolua.experiment.verdict"

---@class iolua.result
---@field name string
---@field rows table[]         one a run: { run, block, case, label, values, error?, void?, ... }
---@field cases table[]
---@field factors string[]     names, in order
---@field interrupted string?  "interrupted", "terminated": not all was run
local Result = {}
Result.__index = Result

local result = { class = Result }

--- A result from its parts; rows may come later.
---@param parts table
---@return iolua.result
function result.new(parts)
  return setmetatable(parts, Result)
end

--- Rows that count: not warm-up, not failed, not void.
---@param row table
---@return boolean
function result.counting(row)
  return not row.warm_up and not row.error and not row.void and row.values ~= nil
end

local function each_counting(self, case, duplicate, visit)
  for _, row in ipairs(self.rows) do
    if row.case == case and (row.duplicate or false) == duplicate and result.counting(row) then
      visit(row)
    end
  end
end

--- A metric of one case as a list, the duplicate's runs apart.
---@param case integer
---@param metric string
---@param duplicate? boolean
---@return number[]
function Result:values(case, metric, duplicate)
  local list = {}
  each_counting(self, case, duplicate or false, function(row)
    local value = row.values[metric]
    if math.type(value) then list[#list + 1] = value end
  end)
  return list
end

-- The same by block: the mean over the given cases, where all of them have a value.
local function by_block(self, cases, metric, duplicate)
  local sums, seen = {}, {}
  for _, case in ipairs(cases) do
    each_counting(self, case, duplicate, function(row)
      local value = row.values[metric]
      if math.type(value) then
        sums[row.block] = (sums[row.block] or 0.0) + value
        seen[row.block] = (seen[row.block] or 0) + 1
      end
    end)
  end
  local values = {}
  for block = 1, self.replicates do
    values[block] = seen[block] == #cases and sums[block] / #cases or false
  end
  return values
end

--- Names of the metrics, in order: those the experiment named, then others sorted.
---@return string[]
function Result:metrics()
  local names, seen = {}, {}
  local function add(name)
    if not seen[name] then names[#names + 1], seen[name] = name, true end
  end
  for _, name in ipairs(self.metric_order or {}) do add(name) end
  local rest = {}
  for _, row in ipairs(self.rows) do
    for name, value in pairs(row.values or {}) do
      if math.type(value) and not seen[name] and not rest[name] then
        rest[name] = true
        rest[#rest + 1] = name
      end
    end
  end
  table.sort(rest)
  for _, name in ipairs(rest) do add(name) end
  return names
end

local function levels_match(case, within)
  for name, level in pairs(within or {}) do
    if case[name] ~= level then return false end
  end
  return true
end

local function level_text(level)
  return type(level) == "table" and level.name and tostring(level.name) or tostring(level)
end

-- The levels of a factor in the order of the cases, each with its cases.
local function arms_of(self, factor, within)
  local arms, index = {}, {}
  for i, case in ipairs(self.cases) do
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

local function misuse(text, ...)
  error(("compare: " .. text):format(...), 4)
end

local function check_compare(self, o)
  if type(o) ~= "table" then misuse("options must be a table, not %s", tostring(o)) end
  local nearest = require "iolua.nearest"
  local known = { "factor", "metric", "baseline", "smallest", "within", "better", "ceiling",
    "labels",
                  "only" }
  for key in pairs(o) do
    local found = false
    for _, name in ipairs(known) do found = found or name == key end
    if not found then misuse("unknown option %s%s", tostring(key), nearest.hint(key, known)) end
  end
  local factor = o.factor or self.factors[1]
  local is = false
  for _, name in ipairs(self.factors) do is = is or name == factor end
  if not is then misuse("no factor %q%s", tostring(factor), nearest.hint(factor, self.factors)) end
  for name in pairs(o.within or {}) do
    local known_factor = false
    for _, each in ipairs(self.factors) do known_factor = known_factor or each == name end
    if not known_factor then
      misuse("within names no factor: %s%s", tostring(name), nearest.hint(name, self.factors))
    end
  end
  local metrics = self:metrics()
  local metric = o.metric or metrics[1]
  is = #metrics == 0
  for _, name in ipairs(metrics) do is = is or name == metric end
  if not is then misuse("no metric %q%s", tostring(metric), nearest.hint(metric, metrics)) end
  local smallest, message = nil, nil
  if o.smallest ~= nil then smallest, message = verdict.smallest(o.smallest) end
  if message then misuse("%s", message) end
  return factor, metric, smallest
end

local function baseline_of(self, o, factor, index)
  local level = o.baseline
  if level == nil then level = self.cases[self.baseline][factor] end
  local at = index[level_text(level)]
  if not at then misuse("%s has no level %s among the cases compared", factor,
    level_text(level)) end
  return at
end

--- Compare the levels of a factor with a baseline, within blocks.
---@param options? { factor: string, metric: string, baseline: any, smallest: string|number,
---  within: table, only: table, better: string, ceiling: string }  within: levels of other factors
---  to look at; only: levels of this factor; ceiling: why it cannot matter here
---@return table comparison  { arms = { { label, percent, low_percent, high_percent, p,
---  p_corrected, verdict, words } }, baseline, aa, sentence, ... }
function Result:compare(options)
  local o = options or {}
  local factor, metric, smallest = check_compare(self, o)
  local arms, index = arms_of(self, factor, o.within)
  local base = arms[baseline_of(self, o, factor, index)]
  local wanted
  if o.only then
    wanted = {}
    for _, level in ipairs(o.only) do wanted[level_text(level)] = true end
  end
  local data = { arms = {}, blocks = self.replicates }
  for _, arm in ipairs(arms) do
    if arm == base or not wanted or wanted[level_text(arm.level)] then
      data.arms[#data.arms + 1] = { label = o.labels and level_text(arm.level) or arm.label,
        level = arm.level, values = by_block(self, arm.cases, metric, false) }
      if arm == base then data.baseline = #data.arms end
    end
  end
  -- The duplicate is of the design's baseline: it says how far to believe all of this.
  if self.duplicate then
    data.duplicate = by_block(self, { self.baseline }, metric, true)
    data.duplicate_base = by_block(self, { self.baseline }, metric, false)
  end
  local compared = verdict.compare(data, { metric = metric, better = o.better or self.better
    and self.better[metric], smallest = smallest, cannot_matter = o.ceiling or self.ceiling })
  compared.factor = factor
  return setmetatable(compared, { __tostring = function(c) return c.sentence end })
end

--- Add a percentile of the rows' histograms as a metric, such as "lat_p99_9_us".
---@param p number          0 .. 100
---@param histogram? string  default "lat"
---@return string metric
function Result:percentile(p, histogram)
  if not math.type(p) or not (p >= 0 and p <= 100) then
    error(("percentile: %s is not between 0 and 100"):format(tostring(p)), 2)
  end
  local name = histogram or "lat"
  local metric = ("%s_p%s_us"):format(name, (("%.6g"):format(p):gsub("[.,]", "_")))
  for _, row in ipairs(self.rows) do
    local h = row.histograms and row.histograms[name]
    local ns = h and counts.percentile(h, p)
    if ns and row.values then row.values[metric] = ns / 1000 end
  end
  return metric
end

--- From this result as a pilot: how many blocks, runs and how long it takes to see a difference.
---@param options? { factor: string, metric: string, baseline: any, smallest: string|number }
---@return table pilot  of design.pilot, with `text`
function Result:pilot(options)
  local o = {}
  for key, value in pairs(options or {}) do o[key] = value end
  o.smallest = o.smallest or "2%"
  local factor, metric, smallest = check_compare(self, o)
  local arms, index = arms_of(self, factor, o.within)
  local base = arms[baseline_of(self, o, factor, index)]
  local first, differences = by_block(self, base.cases, metric, false), {}
  for _, arm in ipairs(arms) do
    if arm ~= base then
      local list = stats.paired(first, by_block(self, arm.cases, metric, false),
        { blocks = self.replicates }).differences
      if list then differences[#differences + 1] = list end
    end
  end
  if #differences == 0 then misuse("a pilot needs two whole blocks of two arms") end
  local mean = stats.summary(self:values(base.cases[1], metric)).mean
  local pilot = design.pilot { differences = differences, cases = #self.cases,
    smallest = smallest / 100 * math.abs(mean), duplicate = self.duplicate and true or false,
    run_ns = self.elapsed_ns and self.elapsed_ns // math.max(1, #self.rows) }
  pilot.text = require("iolua.experiment.plan").pilot(pilot, metric, smallest)
  return pilot
end

--- One line a case: its factors, how many runs count, each metric's mean and half-width.
---@return table[] rows
function Result:summary()
  local rows, metrics = {}, self:metrics()
  for i, case in ipairs(self.cases) do
    local row = { case = i, case_label = design.label(case, self.factors), n = 0, failed = 0,
      void = 0 }
    for _, name in ipairs(self.factors) do row[name] = level_text(case[name]) end
    for _, r in ipairs(self.rows) do
      if r.case == i and not r.warm_up then
        if r.error then row.failed, row.note = row.failed + 1, row.note or r.error
        elseif r.void then row.void, row.note = row.void + 1, row.note or "void: " .. r.void
        elseif not r.duplicate then row.n = row.n + 1 end
      end
    end
    for _, metric in ipairs(metrics) do
      local s = stats.summary(self:values(i, metric))
      row[metric], row[metric .. "_half_width"], row[metric .. "_sd"] = s.mean, s.half_width, s.sd
    end
    rows[i] = row
  end
  return rows
end

--- Did any run give a value that counts?
---@return boolean
function Result:measured()
  for _, row in ipairs(self.rows) do
    if result.counting(row) then return true end
  end
  return false
end

--- Rows that failed, and rows that are void.
---@return integer failed
---@return integer void
function Result:lost()
  local failed, void = 0, 0
  for _, row in ipairs(self.rows) do
    if row.error then failed = failed + 1 elseif row.void then void = void + 1 end
  end
  return failed, void
end

function Result:__tostring()
  return ("%s: %d runs%s"):format(self.name, #self.rows,
    self.interrupted and ", " .. self.interrupted or "")
end

-- Everything that turns a result into text or files is in its own module, loaded when asked.
local OUTPUTS = { table = "iolua.report.summary", save = "iolua.store",
  plot = "iolua.report.plot", report = "iolua.report.deliver" }
for method, module in pairs(OUTPUTS) do
  Result[method] = function(self, ...) return require(module)[method](self, ...) end
end

return result
