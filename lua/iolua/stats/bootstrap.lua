--- Bootstrap intervals, bias-corrected and accelerated (BCa), from a seed.
local describe = require "iolua.stats.describe"
local random = require "iolua.random"
local special = require "iolua.stats.special"

local function mean(values) return describe.sum(values) / #values end

-- The statistic of many resamples, sorted.
local function resampled(values, statistic, count, generator)
  local n, results, sample = #values, {}, {}
  for r = 1, count do
    for i = 1, n do sample[i] = values[generator:below(n)] end
    results[r] = statistic(sample)
  end
  table.sort(results)
  return results
end

-- How far the statistic's spread changes with its value, from leaving each value out.
local function acceleration(values, statistic)
  local n, without = #values, {}
  for i = 1, n do
    local rest = table.move(values, 1, i - 1, 1, {})
    table.move(values, i + 1, n, i, rest)
    without[i] = statistic(rest)
  end
  local center, square, cube = mean(without), 0.0, 0.0
  for i = 1, n do
    local d = center - without[i]
    square, cube = square + d^2, cube + d^3
  end
  return square > 0 and cube / (6 * square^1.5) or 0.0
end

-- The normal score of the share of resamples below the observed statistic, ties half.
local function bias(sorted, observed)
  local below, equal = 0, 0
  for _, value in ipairs(sorted) do
    if value < observed then below = below + 1 elseif value == observed then equal = equal + 1 end
  end
  local share = (below + equal / 2) / #sorted
  -- All on one side: as far as this many resamples can tell.
  share = math.max(0.5 / #sorted, math.min(1 - 0.5 / #sorted, share))
  return special.normal_quantile(share)
end

local function quantile(sorted, p)
  local at = 1 + p * (#sorted - 1)
  local low = math.max(1, math.min(#sorted, math.floor(at)))
  local high = math.min(#sorted, low + 1)
  return sorted[low] + (at - low) * (sorted[high] - sorted[low])
end

--- A BCa bootstrap interval of any statistic of the runs.
---@param values number[]
---@param options? { statistic: function, resamples: integer, confidence: number,
---  seed: integer, random: table }  default: the mean, 2000, 0.95, 1
---@return table? interval  { value, low, high, n, confidence, resamples, seed }; nil below two
local function bootstrap(values, options)
  local n = describe.check(values, 2)
  if n < 2 then return nil end
  options = options or {}
  local statistic, count = options.statistic or mean, options.resamples or 2000
  local confidence, seed = options.confidence or 0.95, options.seed or 1
  local observed = statistic(values)
  local sorted = resampled(values, statistic, count, options.random or random.new(seed))
  local z0, a = bias(sorted, observed), acceleration(values, statistic)
  local function adjusted(p)
    local z = z0 + special.normal_quantile(p)
    return special.normal(z0 + z / (1 - a * z))
  end
  local tail = (1 - confidence) / 2
  return {
    value = observed, n = n, confidence = confidence, resamples = count, seed = seed,
    low = quantile(sorted, adjusted(tail)), high = quantile(sorted, adjusted(1 - tail)),
  }
end

return { bootstrap = bootstrap }
