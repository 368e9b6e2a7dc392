--- What a test could have seen: power, the minimum detectable difference, replicates needed.
--
-- Exact for normal noise: the noncentral t distribution, not its normal approximation.
local special = require "iolua.stats.special"

local power = {}

-- The sum over j of w_j I_x(j + a, b), w_j = e^-lambda lambda^j / gamma(j + 1/2 + a), around
-- its largest terms. From the last j downwards: I_x(a, b) = I_x(a + 1, b) + a positive term,
-- all in logarithms, so that nothing cancels or underflows.
local function poisson_sum(lambda, a, b, x, y)
  local spread = 12 * math.sqrt(lambda) + 30
  local first, last = math.max(0, math.floor(lambda - spread)), math.ceil(lambda + spread)
  local log_lambda, top = math.log(lambda), last + a
  local log_weight = last * log_lambda - lambda - special.lgamma(top + 0.5)
  local log_term = top * math.log(x) + b * math.log(y) + special.lgamma(top + b)
    - special.lgamma(top + 1) - special.lgamma(b)
  local beta, sum = special.beta(top, b, x, y), 0.0
  for j = last, first, -1 do
    sum = sum + math.exp(log_weight) * beta
    local below = j + a - 1
    log_weight = log_weight + math.log((below + 0.5) / lambda)
    log_term = log_term - math.log(x * (below + b) / (below + 1))
    beta = beta + math.exp(log_term)
  end
  return sum
end

local FAR = 10000

--- P(T <= t) of the noncentral t distribution with `df` degrees of freedom.
function power.noncentral_t(t, df, delta)
  if t < 0 then return 1 - power.noncentral_t(-t, df, -delta) end
  if delta == 0 then return 1 - special.t_tail(t, df) end
  if t == 0 then return special.normal(-delta) end
  -- So far out the normal part is a point beside the spread of the chi part; and the sum below
  -- would have as many terms as delta.
  if delta < -FAR then return 1.0 end
  if delta > FAR then return special.f_tail((delta / t)^2, df, 1e9) end
  local lambda, total = delta * delta / 2, df + t * t
  local x, y = t * t / total, df / total
  local even = poisson_sum(lambda, 0.5, df / 2, x, y)
  local odd = poisson_sum(lambda, 1, df / 2, x, y) * delta / math.sqrt(2)
  return math.max(0, math.min(1, special.normal(-delta) + (even + odd) / 2))
end

-- The chance that |t| exceeds its critical value at a true effect of delta standard errors.
local function chance(delta, df, critical)
  return 1 - power.noncentral_t(critical, df, delta) + power.noncentral_t(-critical, df, delta)
end

-- The delta with that chance, to 12 figures.
local function delta_of(wanted, df, alpha)
  local critical = special.t_two_sided(alpha, df)
  local function missed(delta) return 1 - chance(delta, df, critical) end
  return special.falling(missed, 1 - wanted, 0.0, 4.0, 1e-13)
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
  local critical = special.t_two_sided(1 - (options.confidence or 0.95), df)
  return chance(math.abs(options.difference) / se, df, critical)
end

--- The smallest true difference that would be found with this power.
---@param options table  as of power, without difference; power default 0.8
---@return number? difference  nil without degrees of freedom
function power.minimum_detectable(options)
  local ratio, df = plan_of(options, 2)
  local sd = sd_of(options, 2)
  if df < 1 then return nil end
  local alpha, wanted = 1 - (options.confidence or 0.95), options.power or 0.8
  return delta_of(wanted, df, alpha) * sd * ratio
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
