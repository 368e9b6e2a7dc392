--- What is to be known about the runs of a result beside their means: drift with the order,
--- outliers (marked, never dropped), whether devices were simulated.
local stats = require "iolua.stats"
local results = require "iolua.experiment.result"

local checks = {}

-- Each counting run with its value over its case's mean, in order.
local function relative(result, metric)
  local list = {}
  for i in ipairs(result.cases) do
    local values, rows = {}, {}
    for _, row in ipairs(result.rows) do
      if row.case == i and results.counting(row) and math.type(row.values[metric]) then
        values[#values + 1], rows[#rows + 1] = row.values[metric], row
      end
    end
    local mean = stats.summary(values).mean
    if mean and mean ~= 0 and #values > 1 then
      for k, row in ipairs(rows) do
        list[#list + 1] = { row = row, run = row.run, share = values[k] / mean }
      end
    end
  end
  table.sort(list, function(a, b) return a.run < b.run end)
  return list
end

--- Drift of a metric with the order of the runs, cases apart.
---@param result iolua.result
---@param metric string
---@return table? drift  of stats.drift, percent from the first run to the last
function checks.drift(result, metric)
  local values, order = {}, {}
  for i, point in ipairs(relative(result, metric)) do values[i], order[i] = point.share,
    point.run end
  return stats.drift(values, order)
end

--- Runs far from the others of their case.
---@param result iolua.result
---@param metric string
---@return table[] rows
function checks.outliers(result, metric)
  local values, rows, list = {}, {}, {}
  for i, point in ipairs(relative(result, metric)) do
    values[i], rows[i] = point.share, point.row
  end
  if #values < 6 then return list end
  for i, far in ipairs((stats.outliers(values))) do
    if far then list[#list + 1] = rows[i] end
  end
  return list
end

--- Were simulated devices measured?
---@param result iolua.result
---@return boolean
function checks.simulated(result)
  for _, row in ipairs(result.rows) do
    if row.evidence and row.evidence.simulated then return true end
  end
  return false
end

--- Sentences about all of it, for the first metric.
---@param result iolua.result
---@return string[]
function checks.remarks(result)
  local lines, metric = {}, result:metrics()[1]
  if checks.simulated(result) then
    lines[1] = "simulated devices: times are virtual"
  end
  if not metric then return lines end
  local drift = checks.drift(result, metric)
  if drift and drift.p and drift.p < 0.01 then
    lines[#lines + 1] = ("%s drifts with the order of the runs: %s from the first to the last")
      :format(metric, require("iolua.experiment.verdict").percent(drift.percent))
  end
  local far = checks.outliers(result, metric)
  if #far > 0 then
    local names = {}
    for i = 1, math.min(5, #far) do names[i] = ("run %d (%s)"):format(far[i].run, far[i].label) end
    lines[#lines + 1] = ("%s: %d outlier%s, counted like the others: %s%s"):format(metric, #far,
      #far == 1 and "" or "s", table.concat(names, ", "), #far > 5 and ", ..." or "")
  end
  return lines
end

return checks
