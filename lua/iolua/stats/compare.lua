--- Two arms against each other: intervals, t tests, ranks, permutations, equivalence.
--
-- A difference is the second arm minus the first (the baseline). Percentages are of the
-- baseline's mean. p values are two-sided.
local describe = require "iolua.stats.describe"
local random = require "iolua.random"
local special = require "iolua.stats.special"

local compare = {}

-- Exact enumeration up to this many arrangements; beyond it they are drawn.
local ARRANGEMENTS = 100000

-- What all t comparisons give. Without spread t and p are left out.
local function t_result(difference, se, df, baseline, confidence)
  confidence = confidence or 0.95
  local result = { difference = difference, se = se, df = df, confidence = confidence,
                   baseline = baseline }
  result.half_width = special.t_two_sided(1 - confidence, df) * se
  result.low, result.high = difference - result.half_width, difference + result.half_width
  if se > 0 then
    result.t = difference / se
    result.p = 2 * special.t_tail(math.abs(result.t), df)
  end
  if baseline and baseline ~= 0 then
    local scale = 100 / math.abs(baseline)
    result.percent, result.percent_half_width = difference * scale, result.half_width * scale
  end
  return result
end

--- Differences within blocks: b[i] - a[i] where block i has both (false or nil: void).
---@param a table  baseline, by block
---@param b table
---@param options? { confidence: number, blocks: integer }  blocks: default the longer of both
---@return table comparison  n, difference, half_width, low, high, sd, se, df, t, p, percent;
---  with fewer than two whole blocks only n and, with one, difference
function compare.paired(a, b, options)
  local differences, kept = {}, {}
  for i = 1, options and options.blocks or math.max(#a, #b) do
    if a[i] and b[i] then
      differences[#differences + 1] = b[i] - a[i]
      kept[#kept + 1] = a[i]
    end
  end
  local n = describe.check(differences, 2)
  local mean, squares = describe.moments(differences)
  if n < 2 then return { n = n, difference = mean } end
  local sd = math.sqrt(squares / (n - 1))
  local result = t_result(mean, sd / math.sqrt(n), n - 1, describe.sum(kept) / n,
    options and options.confidence)
  result.n, result.sd, result.differences = n, sd, differences
  return result
end

--- Welch's comparison of two arms that share no blocks.
---@param a number[]  baseline
---@param b number[]
---@param options? { confidence: number }
---@return table comparison  as of paired; nil fields where an arm has fewer than two values
function compare.welch(a, b, options)
  local na, nb = describe.check(a, 2), describe.check(b, 2)
  local mean_a, squares_a = describe.moments(a)
  local mean_b, squares_b = describe.moments(b)
  if na < 2 or nb < 2 then
    return { n = na + nb, difference = mean_a and mean_b and mean_b - mean_a or nil }
  end
  local va, vb = squares_a / (na - 1) / na, squares_b / (nb - 1) / nb
  local df = na + nb - 2
  if va + vb > 0 then df = (va + vb)^2 / (va^2 / (na - 1) + vb^2 / (nb - 1)) end
  local result = t_result(mean_b - mean_a, math.sqrt(va + vb), df, mean_a,
    options and options.confidence)
  result.n = na + nb
  return result
end

--- Two one-sided tests: is a difference surely within +-margin?
---@param comparison table  of paired or welch
---@param margin number     above 0, in the unit of the difference
---@param options? { alpha: number }  default 0.05
---@return table verdict  p and equivalent; without a standard error equivalent is nil
function compare.tost(comparison, margin, options)
  if not math.type(margin) or margin <= 0 or margin ~= margin then
    error(("margin %s is not above 0"):format(tostring(margin)), 2)
  end
  local difference, se, df = comparison.difference, comparison.se, comparison.df
  if not se then return {} end
  if se == 0 then return { equivalent = math.abs(difference) < margin } end
  local p = math.max(special.t_tail((difference + margin) / se, df),
    special.t_tail((margin - difference) / se, df))
  return { p = p, equivalent = p < (options and options.alpha or 0.05) }
end

--- Holm's correction of several p values: the chance of even one false finding stays alpha.
---@param values number[]
---@return number[] adjusted  in the same order
function compare.holm(values)
  local n, order, adjusted = describe.check(values, 2), {}, {}
  for i = 1, n do
    if values[i] < 0 or values[i] > 1 then
      error(("p value %d is %s, not between 0 and 1"):format(i, values[i]), 2)
    end
    order[i] = i
  end
  table.sort(order, function(a, b)
    return values[a] < values[b] or values[a] == values[b] and a < b
  end)
  local running = 0.0
  for rank, i in ipairs(order) do
    running = math.max(running, math.min(1, (n - rank + 1) * values[i]))
    adjusted[i] = running
  end
  return adjusted
end

-- n over k as a float, or infinity-like large.
local function choose(n, k)
  local result = 1.0
  for i = 1, k do result = result * (n - k + i) / i end
  return result
end

-- Calls visit(sum) for the sum of every way to take k of the values.
local function each_sum(values, k, visit)
  local n = #values
  local function take(from, left, sum)
    if left == 0 then return visit(sum) end
    for i = from, n - left + 1 do take(i + 1, left - 1, sum + values[i]) end
  end
  take(1, k, 0.0)
end

-- Counts how many of the arrangements reach the observed statistic, all of them or a sample.
local function share(total, exact, drawn, options)
  local reached, of = 0, 0
  local function visit(hit)
    of = of + 1
    if hit then reached = reached + 1 end
  end
  if total <= (options and options.arrangements or ARRANGEMENTS) then
    exact(visit)
    return { p = reached / of, exact = true, arrangements = of }
  end
  local generator = random.new(options and options.seed or 1)
  for _ = 1, options and options.resamples or 10000 do visit(drawn(generator)) end
  -- The observed arrangement is one of them: p is never 0.
  return { p = (reached + 1) / (of + 1), exact = false, arrangements = of }
end

--- Permutation test of the difference of means of two arms.
---@param a number[]
---@param b number[]
---@param options? { seed: integer, resamples: integer, arrangements: integer }
---@return table? result  { p, difference, exact, arrangements }; nil for an empty arm
function compare.permutation(a, b, options)
  local na, nb = describe.check(a, 2), describe.check(b, 2)
  if na == 0 or nb == 0 then return nil end
  local all = table.move(b, 1, nb, na + 1, table.move(a, 1, na, 1, {}))
  local mean = describe.sum(all) / (na + nb)
  for i = 1, #all do all[i] = all[i] - mean end
  local total = describe.sum(all)
  local function difference(sum) return (total - sum) / nb - sum / na end
  local observed = describe.sum(table.move(all, 1, na, 1, {}))
  -- Sums in another order may differ in their last bits: equal ones must count as equal.
  local bound = math.abs(difference(observed)) * (1 - 1e-11)
  local function hit(sum) return math.abs(difference(sum)) >= bound end
  local function exact(visit)
    each_sum(all, na, function(sum) visit(hit(sum)) end)
  end
  local result = share(choose(na + nb, na), exact, function(generator)
    generator:shuffle(all)
    local sum = 0.0
    for i = 1, na do sum = sum + all[i] end
    return hit(sum)
  end, options)
  result.difference = difference(observed)
  return result
end

--- Permutation test of paired differences: every sign as likely.
---@param differences number[]
---@param options? { seed: integer, resamples: integer, arrangements: integer }
---@return table? result  { p, exact, arrangements }; nil without differences
function compare.sign_flip(differences, options)
  local n = describe.check(differences, 2)
  if n == 0 then return nil end
  local bound = math.abs(describe.sum(differences)) * (1 - 1e-11)
  local function exact(visit)
    local function flip(i, sum)
      if i > n then return visit(math.abs(sum) >= bound) end
      flip(i + 1, sum + differences[i])
      flip(i + 1, sum - differences[i])
    end
    flip(1, 0.0)
  end
  local result = share(2.0^n, exact, function(generator)
    local sum = 0.0
    for i = 1, n do
      sum = sum + (generator:next() < 0 and -differences[i] or differences[i])
    end
    return math.abs(sum) >= bound
  end, options)
  return result
end

return compare
