--- Distribution functions: normal, t, F and binomial, with their quantiles.
--
-- Everything is within about 1e-12 of the true value in the middle and keeps its relative
-- precision far into the tails: tails are computed as such and never as 1 minus the rest.
local special = {}

local exp, log, sqrt, abs, pi = math.exp, math.log, math.sqrt, math.abs, math.pi
local TINY, EPSILON = 1e-300, 1e-16

-- Stirling's series for lgamma(z) - ((z - 1/2) log z - z + log(2 pi)/2), z >= 10: the
-- first term left out is below 1e-17.
local STIRLING = { 1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156,
                   -3617 / 122400 }

local function stirling(z)
  local sum, power = 0.0, 1 / z
  for _, coefficient in ipairs(STIRLING) do
    sum = sum + coefficient * power
    power = power / (z * z)
  end
  return sum
end

--- The logarithm of the gamma function, x > 0.
function special.lgamma(x)
  local product = 1.0
  while x < 10 do
    product = product * x
    x = x + 1
  end
  return (x - 0.5) * log(x) - x + 0.5 * log(2 * pi) + stirling(x) - log(product)
end

local lgamma = special.lgamma

-- lgamma(z + 1) less Stirling's leading terms; the small number that survives when large
-- factorials are divided by each other.
local function stirling_error(z)
  if z >= 10 then return stirling(z) end
  return lgamma(z + 1) - (z + 0.5) * log(z) + z - 0.5 * log(2 * pi)
end

-- x log(x / m) + m - x without cancellation where x is near m.
local function deviance(x, m)
  local v = (x - m) / (x + m)
  if abs(v) >= 0.1 then return x * log(x / m) + m - x end
  local term, sum = 2 * x * v, (x - m) * v
  for k = 3, 99, 2 do
    term = term * v * v
    if abs(term) < 1e-20 * abs(sum) then break end
    sum = sum + term / k
  end
  return sum
end

-- x^a y^b / B(a, b) where x + y = 1: by deviances, since for large a and b the two
-- logarithms nearly cancel.
local function beta_front(a, b, x, y)
  local n = a + b
  local exponent = stirling_error(n) - stirling_error(a) - stirling_error(b)
    - deviance(a, n * x) - deviance(b, n * y)
  return exp(exponent) * sqrt(a * b / (2 * pi * n))
end

local function guarded(v) return abs(v) < TINY and TINY or v end

-- The even part of the incomplete beta function's continued fraction (DLMF 8.17.22), by
-- Lentz's method; lambda = a y - b x >= 0 is taken from both so that nothing cancels.
local function beta_fraction(a, b, x, y)
  local lambda = a * y - b * x
  local f = guarded((1 + lambda) * a / (a + 1))
  local c, d = f, 0.0
  for n = 1, 100000 do
    local step = a + 2 * n - 1
    local w = n * (b - n) * x
    local numerator = (a + n - 1) / step * ((a + b + n - 1) / step) * w * x
    local denominator = n + w / step + (a + n) / (step + 2) * (1 + lambda + n * (1 + y))
    d = 1 / guarded(denominator + numerator * d)
    c = guarded(denominator + numerator / c)
    f = f * c * d
    if abs(c * d - 1) < EPSILON * 4 then break end
  end
  return 1 / f
end

--- The regularised incomplete beta function I_x(a, b). y = 1 - x may be given exactly.
function special.beta(a, b, x, y)
  y = y or 1 - x
  if x <= 0 then return 0.0 elseif y <= 0 then return 1.0 end
  local front = beta_front(a, b, x, y)
  if a * y >= b * x then return front * beta_fraction(a, b, x, y) end
  return 1 - front * beta_fraction(b, a, y, x)
end

local beta = special.beta

-- erfc(x) for x >= 2 by its continued fraction, evaluated from the far end.
local function erfc_far(x)
  local fraction = 0.0
  for k = 200, 1, -1 do fraction = k / 2 / (x + fraction) end
  return exp(-x * x) / sqrt(pi) / (x + fraction)
end

-- erf(x) by its series with positive terms only.
local function erf_near(x)
  local term, sum = x, x
  for k = 1, 200 do
    term = term * 2 * x * x / (2 * k + 1)
    sum = sum + term
    if abs(term) < EPSILON * abs(sum) then break end
  end
  return 2 / sqrt(pi) * exp(-x * x) * sum
end

--- P(Z > z) of the standard normal distribution.
function special.normal_tail(z)
  local x = z / sqrt(2)
  if x >= 2 then return 0.5 * erfc_far(x) end
  if x <= -2 then return 1 - 0.5 * erfc_far(-x) end
  return 0.5 - 0.5 * erf_near(x)
end

--- P(Z <= z) of the standard normal distribution.
function special.normal(z) return special.normal_tail(-z) end

--- P(T > t) of Student's distribution.
function special.t_tail(t, df)
  local half = 0.5 * beta(df / 2, 0.5, df / (df + t * t), t * t / (df + t * t))
  return t >= 0 and half or 1 - half
end

--- P(F > f) of the F distribution.
function special.f_tail(f, df1, df2)
  if f <= 0 then return 1.0 end
  local total = df1 * f + df2
  return beta(df2 / 2, df1 / 2, df2 / total, df1 * f / total)
end

--- P(X <= k) of n trials with probability p each.
function special.binomial(k, n, p)
  if k < 0 then return 0.0 elseif k >= n then return 1.0 end
  return beta(n - k, k + 1, 1 - p, p)
end

--- The x in [low, high] at which the falling function f comes down to `target`. high is
--- doubled until it is far enough. Bisection, to the last bit or a relative `tolerance`: slow,
--- and never wrong.
function special.falling(f, target, low, high, tolerance)
  while f(high) > target and high < 1e300 do low, high = high, high * 2 end
  while true do
    local middle = low + (high - low) / 2
    if middle <= low or middle >= high or high - low <= (tolerance or 0) * middle then
      return middle
    end
    if f(middle) > target then low = middle else high = middle end
  end
end

-- A symmetric distribution's quantile from its upper tail.
local function symmetric(p, tail)
  if p == 0.5 then return 0.0 end
  local x = special.falling(tail, math.min(p, 1 - p), 0.0, 1.0)
  return p < 0.5 and -x or x
end

--- The z with P(Z <= z) = p, 0 < p < 1.
function special.normal_quantile(p) return symmetric(p, special.normal_tail) end

--- The t with P(T <= t) = p, 0 < p < 1.
function special.t_quantile(p, df)
  return symmetric(p, function(t) return special.t_tail(t, df) end)
end

-- Factors found already, by alpha and whole df: the search for one takes a millisecond.
local factors = {}

--- The t with P(|T| > t) = alpha: the factor of a two-sided interval.
function special.t_two_sided(alpha, df)
  local known = factors[alpha] and factors[alpha][df]
  if known then return known end
  local t = special.falling(function(x) return special.t_tail(x, df) end, alpha / 2, 0.0, 1.0)
  if df == math.floor(df) and df < 1000 then
    factors[alpha] = factors[alpha] or {}
    factors[alpha][df] = t
  end
  return t
end

--- The f with P(F <= f) = p, 0 < p < 1.
function special.f_quantile(p, df1, df2)
  return special.falling(function(f) return special.f_tail(f, df1, df2) end, 1 - p, 0.0, 1.0)
end

return special
