--- What a handful of runs say: mean, spread, intervals, outliers.
--
-- The unit is the run: operations within a run are not replicates. Nothing measured is nil,
-- never 0 or NaN.
local special = require "iolua.stats.special"

local describe = {}

--- Raise, at `level`, unless values is an array of finite numbers.
---@param values any
---@param level integer  as in error(), counted from the caller
---@return integer n
function describe.check(values, level)
  level = (level or 1) + 1
  if type(values) ~= "table" then
    error(("values must be an array of numbers, not %s"):format(tostring(values)), level)
  end
  for i = 1, #values do
    local v = values[i]
    if not math.type(v) or v ~= v or v == math.huge or v == -math.huge then
      error(("value %d is %s, not a finite number"):format(i, tostring(v)), level)
    end
  end
  return #values
end

--- The sum, compensated so that its error does not grow with n.
function describe.sum(values)
  local sum, lost = 0.0, 0.0
  for i = 1, #values do
    local v = values[i]
    local total = sum + v
    if math.abs(sum) >= math.abs(v) then lost = lost + (sum - total + v)
    else lost = lost + (v - total + sum) end
    sum = total
  end
  return sum + lost
end

--- Mean and sum of squared deviations from it; nil when there are no values.
function describe.moments(values)
  local n = #values
  if n == 0 then return nil end
  local mean = describe.sum(values) / n
  local squares, deviations = {}, {}
  for i = 1, n do
    deviations[i] = values[i] - mean
    squares[i] = deviations[i] * deviations[i]
  end
  local slip = describe.sum(deviations)
  return mean, math.max(0, describe.sum(squares) - slip * slip / n)
end

--- A sorted copy.
function describe.sorted(values)
  local copy = table.move(values, 1, #values, 1, {})
  table.sort(copy)
  return copy
end

local function median_of(sorted)
  local n = #sorted
  if n == 0 then return nil end
  if n % 2 == 1 then return sorted[n // 2 + 1] end
  local low, high = sorted[n // 2], sorted[n // 2 + 1]
  return low + (high - low) / 2
end

function describe.median(values) return median_of(describe.sorted(values)) end

--- n, mean, sample standard deviation, half-width of the t interval, min, max, median.
---@param values number[]
---@param options? { confidence: number }  default 0.95
---@return table summary  what cannot be said of so few values is nil
function describe.summary(values, options)
  local n = describe.check(values, 2)
  local confidence = options and options.confidence or 0.95
  local sorted = describe.sorted(values)
  local mean, squares = describe.moments(values)
  local sd = n > 1 and math.sqrt(squares / (n - 1)) or nil
  local factor = sd and special.t_two_sided(1 - confidence, n - 1)
  return {
    n = n, mean = mean, sd = sd, half_width = sd and factor * sd / math.sqrt(n),
    min = sorted[1], max = sorted[n], median = median_of(sorted), confidence = confidence,
  }
end

--- The percentile p (nearest rank) with a distribution-free interval between two of the
--- values. Its ends are nil where so few values cannot bound the percentile.
---@param values number[]
---@param p number            0 < p < 100
---@param options? { confidence: number }
---@return table interval  { n, value, low, high, low_rank, high_rank, coverage }
function describe.percentile_interval(values, p, options)
  local n = describe.check(values, 2)
  if not math.type(p) or not (p > 0 and p < 100) then
    error(("percentile %s is not between 0 and 100"):format(tostring(p)), 2)
  end
  local half = (1 - (options and options.confidence or 0.95)) / 2
  local sorted, share = describe.sorted(values), p / 100
  -- The value of rank r is below the percentile unless fewer than r values are.
  local low, high = 0, 0
  while low < n and special.binomial(low, n, share) <= half do low = low + 1 end
  while high < n and special.binomial(high, n, share) < 1 - half do high = high + 1 end
  high = high + 1
  local result = { n = n, value = p == 50 and median_of(sorted)
    or sorted[math.max(1, math.ceil(n * share - 1e-9))] }
  if low >= 1 then result.low, result.low_rank = sorted[low], low end
  if high <= n then result.high, result.high_rank = sorted[high], high end
  if low >= 1 and high <= n then
    result.coverage = special.binomial(high - 1, n, share)
      - special.binomial(low - 1, n, share)
  end
  return result
end

--- percentile_interval at 50 %, whose value is the median.
function describe.median_interval(values, options)
  describe.check(values, 2)
  local result = describe.percentile_interval(values, 50, options)
  return result
end

--- Marks, one a value, for those far from the median: more than 3.5 robust standard
--- deviations (1.4826 times the median absolute deviation). To be shown, never dropped.
---@param values number[]
---@return boolean[] marks
---@return integer count
function describe.outliers(values)
  local n = describe.check(values, 2)
  local median, deviations = describe.median(values), {}
  for i = 1, n do deviations[i] = math.abs(values[i] - median) end
  local scale = n > 0 and 1.482602218505602 * describe.median(deviations) or 0
  -- More than half equal: the mean absolute deviation is what is left to judge by.
  if scale == 0 and n > 0 then scale = 1.2533141373155001 * describe.sum(deviations) / n end
  local marks, count = {}, 0
  for i = 1, n do
    marks[i] = scale > 0 and deviations[i] > 3.5 * scale
    if marks[i] then count = count + 1 end
  end
  return marks, count
end

return describe
