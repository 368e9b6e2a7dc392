--- Values in order: drift, autocorrelation, and where a line bends.
local describe = require "iolua.stats.describe"
local special = require "iolua.stats.special"

local series = {}

-- Least squares of y on x: intercept, slope, residual sum of squares, sum of squares of x.
local function line(x, y, from, to)
  local n, mean_x, mean_y = to - from + 1, 0.0, 0.0
  for i = from, to do mean_x, mean_y = mean_x + x[i] / n, mean_y + y[i] / n end
  local sxx, sxy = 0.0, 0.0
  for i = from, to do
    sxx = sxx + (x[i] - mean_x)^2
    sxy = sxy + (x[i] - mean_x) * (y[i] - mean_y)
  end
  local slope = sxx > 0 and sxy / sxx or 0.0
  local intercept, residual = mean_y - slope * mean_x, 0.0
  for i = from, to do residual = residual + (y[i] - intercept - slope * x[i])^2 end
  return intercept, slope, residual, sxx
end

--- Does a value drift with the order of the runs? A straight line through them.
---@param values number[]
---@param order? number[]  when each ran; default 1, 2, 3 ...
---@return table? drift  { n, slope, se, t, p, change, percent }: change from the first run to
---  the last, percent of the mean; nil below three values
function series.drift(values, order)
  local n = describe.check(values, 2)
  if n < 3 then return nil end
  local x = order or {}
  if not order then for i = 1, n do x[i] = i end end
  local _, slope, residual, sxx = line(x, values, 1, n)
  local first, last = math.huge, -math.huge
  for i = 1, n do first, last = math.min(first, x[i]), math.max(last, x[i]) end
  local result = { n = n, slope = slope, change = slope * (last - first) }
  local mean = describe.sum(values) / n
  if mean ~= 0 then result.percent = 100 * result.change / math.abs(mean) end
  if residual > 0 and sxx > 0 then
    result.se = math.sqrt(residual / (n - 2) / sxx)
    result.t = slope / result.se
    result.p = 2 * special.t_tail(math.abs(result.t), n - 2)
  end
  return result
end

local function autocovariance(deviations, lag)
  local n, sum = #deviations, 0.0
  for i = 1, n - lag do sum = sum + deviations[i] * deviations[i + lag] end
  return sum / n
end

--- How many independent values an autocorrelated series is worth (Geyer's initial monotone
--- sequence).
---@param values number[]
---@return number? n_effective  between 1 and n; nil without values
---@return number? factor       n / n_effective: by how much the variance of the mean grows
function series.effective_n(values)
  local n = describe.check(values, 2)
  if n == 0 then return nil end
  local mean, squares = describe.moments(values)
  if n < 4 or squares == 0 then return n + 0.0, 1.0 end
  local deviations = {}
  for i = 1, n do deviations[i] = values[i] - mean end
  local variance, total, last = squares / n, -1.0, math.huge
  for lag = 0, n - 2, 2 do
    local pair = (autocovariance(deviations, lag) + autocovariance(deviations, lag + 1))
      / variance
    if pair <= 0 then break end
    last = math.min(last, pair)
    total = total + 2 * last
  end
  local effective = math.max(1, math.min(n, n / math.max(total, 1e-12)))
  return effective, n / effective
end

-- Fit with a bend at x = c: y = a + b x + d max(0, x - c). Returns a, b, d, residual.
local function bent(x, y, c)
  local n = #x
  -- Normal equations of the two regressors about their means.
  local mx, mh, my = 0.0, 0.0, 0.0
  for i = 1, n do
    mx, mh, my = mx + x[i] / n, mh + math.max(0, x[i] - c) / n, my + y[i] / n
  end
  local xx, xh, hh, xy, hy = 0.0, 0.0, 0.0, 0.0, 0.0
  for i = 1, n do
    local u, h, v = x[i] - mx, math.max(0, x[i] - c) - mh, y[i] - my
    xx, xh, hh, xy, hy = xx + u * u, xh + u * h, hh + h * h, xy + u * v, hy + h * v
  end
  local determinant = xx * hh - xh * xh
  if determinant <= 1e-12 * xx * hh then return nil end
  local b, d = (xy * hh - hy * xh) / determinant, (hy * xx - xy * xh) / determinant
  local a, residual = my - b * mx - d * mh, 0.0
  for i = 1, n do
    residual = residual + (y[i] - a - b * x[i] - d * math.max(0, x[i] - c))^2
  end
  return a, b, d, residual
end

-- Where the separate lines of points 1..k and k+1..n meet, if between the two points.
local function meeting(x, y, k)
  local a1, b1 = line(x, y, 1, k)
  local a2, b2 = line(x, y, k + 1, #x)
  if b1 == b2 then return nil end
  local c = (a1 - a2) / (b2 - b1)
  return c > x[k] and c < x[k + 1] and c or nil
end

-- All bends that can be best: at a point, or where two separate lines meet (Hudson 1966).
local function bends(x, y)
  local found = {}
  for k = 2, #x - 1 do
    found[#found + 1] = x[k]
    if k <= #x - 2 then found[#found + 1] = meeting(x, y, k) end
  end
  return found
end

local function sorted_pairs(x, y)
  local order, sx, sy = {}, {}, {}
  for i = 1, #x do order[i] = i end
  table.sort(order, function(i, j) return x[i] < x[j] or x[i] == x[j] and i < j end)
  for i, at in ipairs(order) do sx[i], sy[i] = x[at], y[at] end
  return sx, sy
end

-- The values of c that fit not significantly worse than the best, on a grid.
local function bend_interval(x, y, best, confidence)
  local n, low, high = #x, best.at, best.at
  local limit = best.residual * (1 + special.f_quantile(confidence, 1, n - 4) / (n - 4))
  for i = 0, 400 do
    local c = x[1] + (x[n] - x[1]) * i / 400
    local _, _, _, residual = bent(x, y, c)
    if residual and residual <= limit then low, high = math.min(low, c), math.max(high, c) end
  end
  return low, high
end

--- Two straight lines that meet: where does scaling end? The best continuous fit.
---@param x number[]
---@param y number[]
---@param options? { confidence: number }
---@return table? fit  { at, low, high, intercept, before, after, residual, f, p }: before and
---  after are slopes; p tells a bend from one straight line (conservative: the place was
---  searched); low..high needs 6 points; nil below 4 different x
function series.segmented(x, y, options)
  local n = describe.check(x, 2)
  if describe.check(y, 2) ~= n then error("x and y have different lengths", 2) end
  if n < 4 then return nil end
  local sx, sy = sorted_pairs(x, y)
  local best
  for _, c in ipairs(bends(sx, sy)) do
    local a, b, d, residual = bent(sx, sy, c)
    if residual and (not best or residual < best.residual) then
      best = { at = c, intercept = a, before = b, after = b + d, residual = residual, n = n }
    end
  end
  if not best or n < 6 then return best end
  local _, _, straight = line(sx, sy, 1, n)
  if best.residual > 1e-24 * straight then
    best.f = (straight - best.residual) / 2 / (best.residual / (n - 4))
    best.p = special.f_tail(best.f, 2, n - 4)
    best.low, best.high = bend_interval(sx, sy, best, options and options.confidence or 0.95)
  end
  return best
end

return series
