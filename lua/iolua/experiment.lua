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
local gates = require "iolua.experiment.gates"
local leave = require "iolua.leave"
local progress = require "iolua.progress"
local results = require "iolua.experiment.result"
local schema = require "iolua.schema"

local experiment = {}

local OPTIONS = {
  name = { type = "string", required = true, help = "of the result" },
  question = { type = "string", help = "one line: what it is to tell" },
  factors = { type = "table", required = true, help = "name = { level, level ... }" },
  order = { type = "table", help = "names of the factors, the slowest first" },
  design = { choices = { "factorial", "one at a time" }, default = "factorial",
    help = "every combination, or the baseline and what differs from it in one factor" },
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
  gates = { type = "any", help = "bounds that void a run, see experiment/gates; false: none" },
  targets = { type = "table", help = "files and devices measured, for the record" },
  writes = { type = "any", help = "what is written, for --plan: a list, or a function" },
  changes = { type = "any", help = "what a case changes, for --plan: a function of the case" },
  options = { type = "table", help = "of iolua.options with experiment = true" },
  save = { type = "path", help = "folder of the result, written run by run" },
  resume = { type = "path", help = "folder of a run that was stopped, to go on in" },
  plan = { type = "boolean", default = false, help = "print what would be done, and do nothing" },
  quiet = { type = "boolean", default = false, help = "no progress" },
}

-- 63 bits that differ between runs of one experiment and follow from its seed.
local function seed_of(seed, run)
  return (seed * 0x9E3779B97F4A7C15 + run * 0xBF58476D1CE4E5B9) & math.maxinteger
end

-- Without the place in our own source: the fault is the caller's.
local function caught(level, ok, ...)
  if ok then return ... end
  error("experiment: " .. tostring((...)):gsub("^[^:]+:%d+: ", ""), level + 1)
end

local OBEYED = { "save", "resume", "plan", "quiet" }

-- Command line options that the experiment itself obeys. What was asked for and does not reach
-- it is an error: a --plan without effect would write.
local function from_options(e, given, level)
  local o = e.options or {}
  for _, name in ipairs(OBEYED) do
    if given[name] == nil and o[name] ~= nil then e[name] = o[name] end
  end
  local declared = package.loaded["iolua.options"]
  local asked = declared and declared.experiment or {}
  for _, name in ipairs(OBEYED) do
    if asked[name] and not e[name] and given[name] == nil then
      error(("experiment: --%s does not reach it: options = what iolua.options gave is missing")
        :format(name), level + 1)
    end
  end
end

local function choose_seed(e)
  local first = e.resume and require("iolua.experiment.resume").seed(e.resume)
  e.seed = e.seed or first or math.random(0) & 0xffffffff
end

-- Cases, those left out, and the factors in order.
local function cases_of(e, level)
  if e.design == "one at a time" then
    local base = type(e.baseline) == "table" and e.baseline or nil
    local cases, names = caught(level + 1, pcall(design.one_at_a_time, e.factors, base,
      { order = e.order }))
    return cases, {}, names
  end
  local cases, excluded, names = caught(level + 1, pcall(design.factorial, e.factors,
    { order = e.order, exclude = e.exclude }))
  return cases, excluded, names
end

local function prepared(options, level)
  local e = schema.check(OPTIONS, options, level + 1, "experiment")
  from_options(e, options, level + 1)
  choose_seed(e)
  e.gates = gates.of(e.gates, level + 1)
  e.cases, e.excluded, e.names = cases_of(e, level + 1)
  if #e.cases == 0 then error("experiment: every case is excluded", level + 1) end
  e.runs, e.baseline = caught(level + 1, pcall(design.plan, { cases = e.cases,
    replicates = e.replicates, seed = e.seed, warm_up = e.warm_up, baseline = e.baseline,
    duplicate = e.duplicate }))
  for _, run in ipairs(e.runs) do run.seed = seed_of(e.seed, run.run) end
  return e
end

local function row_of(e, run)
  local case = e.cases[run.case]
  return { run = run.run, block = run.block, case = run.case, duplicate = run.duplicate,
           warm_up = run.warm_up, seed = run.seed, levels = case,
           label = design.label(case, e.names), started = os.date("!%Y-%m-%dT%H:%M:%SZ") }
end

-- The case of each run, the duplicate's negative: the order in short.
local function order_of(e)
  local order = {}
  for i, run in ipairs(e.runs) do order[i] = run.duplicate and -run.case or run.case end
  return order
end

local function result_of(e)
  return results.new {
    name = e.name, question = e.question, factors = e.names, cases = e.cases,
    excluded = e.excluded, baseline = e.baseline, duplicate = e.duplicate, order = order_of(e),
    replicates = e.replicates, seed = e.seed, planned = #e.runs, rows = {},
    metric_order = e.metrics, better = e.better, started = os.date("!%Y-%m-%dT%H:%M:%SZ"),
    about = require("iolua.experiment.origin").read(),
    environment = require("iolua.experiment.surroundings").read(e.targets),
  }
end

local function fail(message) leave(1, message) end

-- The folder that takes the rows, and the rows it holds already.
local function open_store(e, result)
  if not e.save and not e.resume then return nil, {} end
  local store, resume = require "iolua.store", require "iolua.experiment.resume"
  local manifest = store.manifest(result)
  local s, rows
  if e.resume and resume.exists(e.resume) then
    s, rows = resume.open(e.resume, manifest)
  else
    s, rows = store.create(e.resume or e.save, manifest)
  end
  if not s then fail(rows) end
  return s, type(rows) == "table" and rows or {}
end

-- One run, unless it is on disk already.
local function one(e, run, result, s, done)
  local row = done
  if not row then
    row = row_of(e, run)
    local err = attempt.run(e, run, row)
    if err ~= nil then error(err, 0) end
    row.void = gates.judge(e.gates, row)
    if s then
      local ok, message = s:append(row)
      if not ok then fail(message) end
    end
  end
  result.rows[#result.rows + 1] = row
end

local function run_all(e, result, bar, s, done)
  for _, run in ipairs(e.runs) do
    bar:begin(design.label(e.cases[run.case], e.names))
    one(e, run, result, s, done[run.run])
    bar:step(done[run.run] ~= nil)
  end
end

local function ceiling_of(e)
  if type(e.ceiling) == "function" then return e.ceiling() end
  return e.ceiling
end

-- --plan ends the script as --help does.
local function print_plan(e)
  io.stdout:write(require("iolua.experiment.plan").text(e))
  leave(0)
end

local function moved(side)
  if not side then return nil end
  return { ios = side.ios, bytes = side.bytes, iops = side.iops, bytes_per_s = side.bytes_per_s,
           errors = side.errors, short = side.short }
end

--- What gates and reports want to know of a job: the second result of `measure`.
---@param r table  result of iolua.job
---@return table evidence
function experiment.evidence(r)
  local read, write = moved(r.read), moved(r.write)
  return {
    punts = r.punts, ios = (read and read.ios or 0) + (write and write.ios or 0),
    errors = (read and read.errors or 0) + (write and write.errors or 0), read = read,
    write = write, elapsed_ns = r.elapsed_ns, engine = r.engine, note = r.note,
    registered = r.registered, simulated = r.simulated,
  }
end

-- The page of --html, so that every scenario has it; result:report writes it again with what
-- the script compared.
local function write_page(e, result)
  local path = e.options and e.options.html
  if not path or path == "-" then return end
  local deliver = require "iolua.report.deliver"
  local page = deliver.text(result, "html", deliver.comparisons(result))
  local ok, message = require("iolua.store").write_file(path, page)
  if not ok then fail(message) end
end

-- A folder that is not there is told before the runs, not after hours of them.
local function check_folders(e)
  for _, name in ipairs { "html", "csv", "json" } do
    local path = e.options and e.options[name]
    local above = type(path) == "string" and path:match("^(.*/)[^/]*$")
    local folder, message
    if above then folder, message = io.open(above) end
    if message then fail(("--%s %s: %s"):format(name, path, message)) end
    if folder then folder:close() end
  end
end

--- Run an experiment. Misuse raises; what fails in a case does not.
---@param options table
---@return iolua.result
---@async
function experiment.run(options)
  local e = prepared(options, 2)
  if e.plan then print_plan(e) end
  check_folders(e)
  local result, begin = result_of(e), core.clock.now()
  local s, done = open_store(e, result)
  local bar <close> = progress.new(#e.runs, { quiet = e.quiet, estimate_ns = e.run_time })
  -- A signal may come at any line: what was done until then is kept.
  local ok, err = pcall(function()
    result.ceiling = ceiling_of(e)
    run_all(e, result, bar, s, done)
  end)
  result.elapsed_ns = core.clock.now() - begin
  result.interrupted = core.run.interrupted()
  if not ok and not result.interrupted then error(err, 0) end
  if s then
    local written, message = s:finish(result)
    if not written then fail(message) end
  end
  write_page(e, result)
  return result
end

return setmetatable(experiment,
  { __call = function(_, options) return experiment.run(options) end })
