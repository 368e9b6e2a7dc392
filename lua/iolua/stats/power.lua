--- What a test could have seen: power, the minimum detectable difference, replicates needed.
--
-- Exact for normal noise: the noncentral t distribution, not its normal approximation.
local special = require "iolua.stats.special"

local power = {}

-- Sum of the two Poisson-like series of the noncentral t around their largest terms.
local function noncentral_sum(t, df, delta)
  local lambda, x = delta * delta / 2, t * t / (df + t * t)
  local y = df / (df + t * t)
  local spread = 12 * math.sqrt(lambda) + 30
  local first, sum = math.max(0, math.floor(lambda - spread)), 0.0
  local log_lambda = lambda > 0 and math.log(lambda) or -math.huge
  for j = first, math.ceil(lambda + spread) do
    local power_term = j == 0 and 0 or j * log_lambda
    local even = math.exp(power_term - lambda - special.lgamma(j + 1))
    local odd = math.exp(power_term - lambda - special.lgamma(j + 1.5)) * delta / math.sqrt(2)
    sum = sum + even * special.beta(j + 0.5, df / 2, x, y)
      + odd * special.beta(j + 1, df / 2, x, y)
  end
  return sum / 2
end

--- P(T <= t) of the noncentral t distribution with `df` degrees of freedom.
function power.noncentral_t(t, df, delta)
  if t < 0 then return 1 - power.noncentral_t(-t, df, -delta) end
  return math.max(0, math.min(1, special.normal(-delta) + noncentral_sum(t, df, delta)))
end

-- The chance that a two-sided t test at alpha finds a true effect of delta standard errors.
local function chance(delta, df, alpha)
  local critical = special.t_two_sided(alpha, df)
  return 1 - power.noncentral_t(critical, df, delta) + power.noncentral_t(-critical, df, delta)
end

-- Standard error over sd and degrees of freedom of a plan: n pairs, or n1 and n2 runs.
local function plan_of(options, level)
  if options.n1 and options.n2 then
    local df = options.df or options.n1 + options.n2 - 2
    return math.sqrt(1 / options.n1 + 1 / options.n2), df
  end
  if not options.n then error("n, or n1 and n2, must be given", level + 1) end
  return 1 / math.sqrt(options.n), options.df or options.n - 1
end

local function sd_of(options, level)
  local sd = options.sd
  if not math.type(sd) or sd < 0 or sd ~= sd then
    error(("sd %s is not a number of 0 or more"):format(tostring(sd)), level + 1)
  end
  return sd
end

--- The chance of finding a true difference.
---@param options { difference: number, sd: number, n?: integer, n1?: integer, n2?: integer,
---  df?: integer, confidence?: number }  sd: of a block's difference (n), or of a run (n1, n2)
---@return number? chance  nil without degrees of freedom
function power.power(options)
  local ratio, df = plan_of(options, 2)
  local se = sd_of(options, 2) * ratio
  if df < 1 then return nil end
  if se == 0 then return options.difference ~= 0 and 1.0 or 0.0 end
  return chance(math.abs(options.difference) / se, df, 1 - (options.confidence or 0.95))
end

--- The smallest true difference that would be found with this power.
---@param options table  as of power, without difference; power default 0.8
---@return number? difference  nil without degrees of freedom
function power.minimum_detectable(options)
  local ratio, df = plan_of(options, 2)
  local sd = sd_of(options, 2)
  if df < 1 then return nil end
  local alpha, wanted = 1 - (options.confidence or 0.95), options.power or 0.8
  local delta = special.falling(function(d) return 1 - chance(d, df, alpha) end, 1 - wanted,
    0.0, 4.0)
  return delta * sd * ratio
end

--- The number of blocks (paired = true, default) or of runs an arm that finds a difference.
---@param options { difference: number, sd: number, paired?: boolean, confidence?: number,
---  power?: number, most?: integer }
---@return integer? n  nil where more than `most` (default 100000) were needed
function power.replicates(options)
  local wanted, most = options.power or 0.8, options.most or 100000
  local sd = sd_of(options, 2)
  if not math.type(options.difference) or options.difference == 0 then
    error(("difference %s is not a number other than 0"):format(tostring(options.difference)), 2)
  end
  local function enough(n)
    local plan = { difference = options.difference, sd = sd, confidence = options.confidence }
    if options.paired == false then plan.n1, plan.n2 = n, n else plan.n = n end
    return power.power(plan) >= wanted
  end
  local low, high = 1, 2
  while not enough(high) do
    if high >= most then return nil end
    low, high = high, math.min(most, high * 2)
  end
  while high - low > 1 do
    local middle = (low + high) // 2
    if enough(middle) then high = middle else low = middle end
  end
  return high
end

return power
