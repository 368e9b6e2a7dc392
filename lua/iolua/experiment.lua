--- Run a design: every case in randomised blocks, with a duplicate of the baseline (A/A).
--
--   local result = iolua.experiment {
--     name = "depth", factors = { depth = { 1, 2, 4 } }, replicates = 5, seed = 1,
--     setup = function(case) return assert(iolua.scratch.file()) end,   -- closed after the case
--     measure = function(case, file) ... return { iops = r.read.iops } end,
--   }
--
-- A case that fails is a row with its error and the others go on. ^C keeps what was done and
-- marks it: the call returns, result.interrupted says so, and every later wait raises.
local attempt = require "iolua.experiment.attempt"
local core = require "iolua.core"
local design = require "iolua.design"
local progress = require "iolua.progress"
local results = require "iolua.experiment.result"
local schema = require "iolua.schema"

local experiment = {}

local OPTIONS = {
  name = { type = "string", required = true, help = "of the result" },
  question = { type = "string", help = "one line: what it is to tell" },
  factors = { type = "table", required = true, help = "name = { level, level ... }" },
  order = { type = "table", help = "names of the factors, the slowest first" },
  exclude = { type = "any", help = "cases left out: function(case) -> reason, or a list" },
  baseline = { type = "any", help = "the case others are compared with: a partial case or index" },
  duplicate = { type = "boolean", default = true, help = "run the baseline twice a block (A/A)" },
  replicates = { type = "integer", default = 1, min = 1, max = 100000, help = "blocks" },
  warm_up = { type = "integer", default = 0, min = 0,
    help = "runs of the baseline that count nothing" },
  seed = { type = "integer", min = 0, help = "of the order; default: drawn, and told" },
  setup = { type = "function", help = "function(case, run) -> context, closed after the case" },
  measure = { type = "function", required = true,
              help = "function(case, context, run) -> metrics, evidence" },
  teardown = { type = "function", help = "function(case, context), before the context is closed" },
  metrics = { type = "table", help = "names in the order to show" },
  better = { type = "table", help = "metric = \"higher\" or \"lower\"" },
  ceiling = { type = "any", help = "why no difference can matter here, or a function that tells" },
  run_time = { type = "duration", help = "about how long a run takes" },
  quiet = { type = "boolean", default = false, help = "no progress" },
}

-- 63 bits that differ between runs of one experiment and follow from its seed.
local function seed_of(seed, run)
  return (seed * 0x9E3779B97F4A7C15 + run * 0xBF58476D1CE4E5B9) & math.maxinteger
end

local function prepared(options, level)
  local e = schema.check(OPTIONS, options, level + 1, "experiment")
  e.seed = e.seed or math.random(0) & 0xffffffff
  local ok, cases, excluded, names = pcall(design.factorial, e.factors,
    { order = e.order, exclude = e.exclude })
  if not ok then error("experiment: " .. tostring(cases):gsub("^[^:]+:%d+: ", ""), level + 1) end
  if #cases == 0 then error("experiment: every case is excluded", level + 1) end
  e.cases, e.excluded, e.names = cases, excluded, names
  local planned, runs, baseline = pcall(design.plan, { cases = cases, replicates = e.replicates,
    seed = e.seed, warm_up = e.warm_up, baseline = e.baseline, duplicate = e.duplicate })
  if not planned then error("experiment: " .. tostring(runs):gsub("^[^:]+:%d+: ", ""),
    level + 1) end
  e.runs, e.baseline = runs, baseline
  for _, run in ipairs(runs) do run.seed = seed_of(e.seed, run.run) end
  return e
end

local function row_of(e, run)
  local case = e.cases[run.case]
  return { run = run.run, block = run.block, case = run.case, duplicate = run.duplicate,
           warm_up = run.warm_up, seed = run.seed, levels = case,
           label = design.label(case, e.names), started = os.date("!%Y-%m-%dT%H:%M:%SZ") }
end

local function result_of(e)
  return results.new {
    name = e.name, question = e.question, factors = e.names, cases = e.cases,
    excluded = e.excluded, baseline = e.baseline, duplicate = e.duplicate,
    replicates = e.replicates, seed = e.seed, planned = #e.runs, rows = {},
    metric_order = e.metrics, better = e.better, started = os.date("!%Y-%m-%dT%H:%M:%SZ"),
  }
end

local function run_all(e, result, bar)
  for _, run in ipairs(e.runs) do
    local row = row_of(e, run)
    bar:begin(row.label)
    local err = attempt.run(e, run, row)
    if err ~= nil then error(err, 0) end
    result.rows[#result.rows + 1] = row
    bar:step()
  end
end

local function ceiling_of(e)
  if type(e.ceiling) == "function" then return e.ceiling() end
  return e.ceiling
end

--- Run an experiment. Misuse raises; what fails in a case does not.
---@param options table
---@return iolua.result
---@async
function experiment.run(options)
  local e = prepared(options, 2)
  local result, begin = result_of(e), core.clock.now()
  local bar <close> = progress.new(#e.runs, { quiet = e.quiet, estimate_ns = e.run_time })
  -- A signal may come at any line: what was done until then is kept.
  local ok, err = pcall(function()
    result.ceiling = ceiling_of(e)
    run_all(e, result, bar)
  end)
  result.elapsed_ns = core.clock.now() - begin
  result.interrupted = core.run.interrupted()
  if not ok and not result.interrupted then error(err, 0) end
  return result
end

return setmetatable(experiment,
  { __call = function(_, options) return experiment.run(options) end })
