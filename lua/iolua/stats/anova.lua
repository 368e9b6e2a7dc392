--- One-way analysis of variance: do groups of runs differ by more than their replicates?
local describe = require "iolua.stats.describe"
local special = require "iolua.stats.special"

local function grouped(values, labels)
  local groups, by_label = {}, {}
  for i, value in ipairs(values) do
    local label = labels[i]
    if label == nil then error(("value %d has no label"):format(i), 3) end
    if not by_label[label] then
      by_label[label] = { label = label }
      groups[#groups + 1] = by_label[label]
    end
    table.insert(by_label[label], value)
  end
  return groups
end

-- Sums of squares between and within the groups.
local function decompose(groups)
  local all, within = {}, 0.0
  for _, group in ipairs(groups) do
    local _, squares = describe.moments(group)
    within = within + (squares or 0)
    table.move(group, 1, #group, #all + 1, all)
  end
  local mean = describe.moments(all)
  local between = 0.0
  for _, group in ipairs(groups) do
    local group_mean = describe.moments(group)
    if group_mean then between = between + #group * (group_mean - mean)^2 end
  end
  return #all, mean, between, within
end

--- Groups of replicates compared. Groups of one run say nothing about the error, but are
--- compared by it.
---@param values number[]|number[][]  an array of groups, or values with `labels`
---@param labels? any[]
---@param options? { confidence: number }
---@return table result  { n, groups, mean, f, p, df_between, df_within, error_sd, critical };
---  without replicates f, p and error_sd are nil
local function anova(values, labels, options)
  local groups = labels and grouped(values, labels) or values
  for _, group in ipairs(groups) do describe.check(group, 2) end
  local n, mean, between, within = decompose(groups)
  local result = { n = n, groups = #groups, mean = mean, df_between = #groups - 1,
                   df_within = n - #groups }
  if result.df_within < 1 or result.df_between < 1 then return result end
  local error_variance = within / result.df_within
  result.error_sd = math.sqrt(error_variance)
  result.critical = special.f_quantile(options and options.confidence or 0.95,
    result.df_between, result.df_within)
  if error_variance > 0 then
    result.f = between / result.df_between / error_variance
    result.p = special.f_tail(result.f, result.df_between, result.df_within)
  end
  return result
end

return { anova = anova }
