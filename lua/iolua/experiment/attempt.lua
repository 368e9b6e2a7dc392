--- One run of one case: setup, measure, closing; what went wrong is an outcome, not an end.
local core = require "iolua.core"
local env = require "iolua.env"

local attempt = {}

local function close_value(value)
  local meta = debug.getmetatable(value)
  local close = type(meta) == "table" and rawget(meta, "__close")
  if close then return close(value, nil) end
  if type(value) == "table" and type(value.close) == "function" then value:close() end
end

-- What setup gave, closed after the case: itself, or all that a plain table holds, the
-- list part last to first.
local function closer(context)
  return setmetatable({}, { __close = function()
    if type(context) ~= "table" or getmetatable(context) or type(context.close) == "function" then
      return close_value(context)
    end
    for key, value in pairs(context) do
      if math.type(key) ~= "integer" then close_value(value) end
    end
    for i = #context, 1, -1 do close_value(context[i]) end
  end })
end

local function teardown(e, case, context)
  return setmetatable({}, { __close = function()
    if e.teardown then e.teardown(case, context) end
  end })
end

-- values, evidence | nil, message. Raises what setup, measure and closers raise.
local function measured(e, case, run, keep)
  local context
  if e.setup then
    local message
    context, message = e.setup(case, run)
    if context == nil and message ~= nil then return keep(nil, message) end
  end
  local _ <close> = closer(context)
  local _ <close> = teardown(e, case, context)
  keep(e.measure(case, context, run))
end

-- A histogram as plain counts, so that any percentile can be asked later.
local function counts_of(hist)
  return { count = hist:count(), min_ns = hist:min(), max_ns = hist:max(), mean_ns = hist:mean(),
           stddev_ns = hist:stddev(), buckets = hist:buckets() }
end

local function is_hist(value)
  return type(value) == "userdata" and tostring(value):find("^hist") ~= nil
end

-- The metrics of a row: numbers, texts and booleans; histograms beside them.
local function sorted_out(row, values)
  row.values = {}
  for key, value in pairs(values) do
    if type(key) ~= "string" then
      return ("measure gave a table with the key %s; metrics are named"):format(tostring(key))
    elseif is_hist(value) then
      row.histograms = row.histograms or {}
      row.histograms[key] = counts_of(value)
    elseif type(value) == "number" then
      -- Nothing measured is absent, never NaN.
      if value == value and math.abs(value) ~= math.huge then row.values[key] = value end
    elseif type(value) == "string" or type(value) == "boolean" then
      row.values[key] = value
    else
      return ("metric %q is a %s, not a number"):format(key, type(value))
    end
  end
  if not next(row.values) and not row.histograms then return "measure gave no metric" end
end

local function text_of(err)
  if type(err) == "table" and err.message then return tostring(err.message) end
  return tostring(err)
end

-- Not a failed case: the run itself is to end.
local function ends_all(err)
  return core.run.interrupted() ~= nil or type(err) == "table" and err.iolua_exit ~= nil
    or type(err) == "string" and err:find("cancelled$") ~= nil
end

-- Jobs on simulated devices so far: a row that had one says so, whatever measure gives.
local function simulated_jobs()
  local job = package.loaded["iolua.job"]
  return job and job.simulated or 0
end

--- Make one run and fill its row: values, histograms, evidence, drift, elapsed_ns, and error
--- where it failed.
---@param e table    the experiment
---@param run table  of the plan
---@param row table
---@return any? err  an error that ends the whole experiment
---@async
function attempt.run(e, run, row)
  local values, message
  local function keep(first, second)
    values, message = first, second
  end
  local before, begin, simulated = env.sample(), core.clock.now(), simulated_jobs()
  local ok, err = pcall(measured, e, e.cases[run.case], run, keep)
  row.elapsed_ns = core.clock.now() - begin
  row.drift = env.between(before, env.sample())
  if not ok and ends_all(err) then return err end
  if type(values) == "table" then
    row.error = sorted_out(row, values)
    if type(message) == "table" then row.evidence = message end
  elseif ok or message ~= nil then
    row.error = text_of(message or "measure gave nothing")
  end
  if simulated_jobs() > simulated then
    row.evidence = row.evidence or {}
    row.evidence.simulated = true
  end
  if not ok then row.error = text_of(err) end
  return nil
end

return attempt
