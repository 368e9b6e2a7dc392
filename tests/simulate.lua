--- Experiments on made-up noise: how often do verdicts claim what is not there, and how often
--- do they find what is? Used by tests/pure/error_rates_test.lua and docs/measuring.lua.
local design = require "iolua.design"
local random = require "iolua.random"
local stats = require "iolua.stats"
local verdict = require "iolua.experiment.verdict"

local simulate = {}

--- Sources of noise: each gives a function of nothing, the next run's deviation.
simulate.NOISES = {
  { name = "normal", of = function(g) return function() return g:normal() end end },
  { name = "log-normal", of = function(g)
    return function() return math.exp(g:normal()) - math.exp(0.5) end
  end },
  { name = "bimodal", of = function(g)
    return function() return (g:below(2) == 1 and -2 or 2) + 0.5 * g:normal() end
  end },
  -- What was is still 0.7 there in the next run.
  { name = "AR(0.7)", of = function(g)
    local last = g:normal()
    return function()
      last = 0.7 * last + math.sqrt(1 - 0.49) * g:normal()
      return last
    end
  end },
}

local CASES = { { arm = "a" }, { arm = "b" } }

--- One experiment: arm b is `effect` faster. Gives the data of verdict.compare.
---@param noise table
---@param blocks integer
---@param effect number
---@param seed integer
---@return table data
function simulate.run(noise, blocks, effect, seed)
  local next_value = noise.of(random.new(seed * 7919 + 13))
  local runs = design.plan { cases = CASES, replicates = blocks, seed = seed }
  local data = { arms = { { label = "a", values = {} }, { label = "b", values = {} } },
                 baseline = 1, blocks = blocks, duplicate = {} }
  for _, run in ipairs(runs) do
    local value = 100 + next_value() + (run.case == 2 and effect or 0)
    if run.duplicate then data.duplicate[run.block] = value
    else data.arms[run.case].values[run.block] = value end
  end
  return data
end

-- The standard deviation of a block's difference, from many blocks.
local function difference_sd(noise)
  local data = simulate.run(noise, 20000, 0, 99)
  return stats.paired(data.arms[1].values, data.arms[2].values, { blocks = 20000 }).sd
end

--- Rates over many experiments.
---@param noise table
---@param options { blocks: integer, count: integer, effect?: number }
---@return table rates  { gate, declared, found, passed, effect }: shares of `count`; found is of
---  those that passed the A/A gate
function simulate.rates(noise, options)
  local n = { gate = 0, declared = 0, passed = 0 }
  for seed = 1, options.count do
    local data = simulate.run(noise, options.blocks, options.effect or 0, seed)
    local c = verdict.compare(data, { metric = "MB_per_s", brief = true })
    if c.aa.differs then n.gate = n.gate + 1 else n.passed = n.passed + 1 end
    if c.arms[1].verdict == "faster" or c.arms[1].verdict == "slower" then
      n.declared = n.declared + 1
    end
  end
  return { gate = n.gate / options.count, declared = n.declared / options.count,
           found = n.declared / n.passed, passed = n.passed, effect = options.effect }
end

--- Rates where the true effect is twice the minimum detectable one.
---@param noise table
---@param options { blocks: integer, count: integer }
---@return table rates
function simulate.power(noise, options)
  local least = stats.minimum_detectable { n = options.blocks, sd = difference_sd(noise) }
  return simulate.rates(noise, { blocks = options.blocks, count = options.count,
                                 effect = 2 * least })
end

return simulate
