--- What an experiment found: its rows, and what they allow to be said.
local counts = require "iolua.experiment.counts"
local design = require "iolua.design"
local stats = require "iolua.stats"

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

--- A metric by block: the mean over the given cases, false where one of them has no value.
---@param cases integer[]
---@param metric string
---@param duplicate boolean
---@return table values
function Result:by_block(cases, metric, duplicate)
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

local function level_text(level)
  return type(level) == "table" and level.name and tostring(level.name) or tostring(level)
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

--- Why nothing was measured: a sentence. nil where something was, or where ^C came first.
---@return string?
function Result:nothing()
  if self:measured() or self.interrupted then return nil end
  local first = self.rows[1]
  return "nothing was measured: " .. (first and (first.error or first.void and "void: "
    .. first.void) or "there are no runs")
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

-- What compares a result, or turns it into text or files, is in its own module, loaded when
-- asked.
local OUTPUTS = {
  compare = "iolua.experiment.compare", pilot = "iolua.experiment.compare",
  table = "iolua.report.summary", report = "iolua.report.deliver",
  plot = "iolua.report.plot", save = "iolua.store",
}
for method, module in pairs(OUTPUTS) do
  Result[method] = function(self, ...) return require(module)[method](self, ...) end
end

return result
