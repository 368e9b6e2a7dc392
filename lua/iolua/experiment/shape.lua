--- What the files of a result may hold, checked before anything is made of them: folders are
--- kept for years, copied, cut short and edited.
local json = require "iolua.report.json"

local shape = { FORMAT = 1 }

local CASES_MAX, BLOCKS_MAX = 1000000, 10000000

-- Checks: does the value fit? Each has a name to say what would.
local function check(words, fits) return { words = words, fits = fits } end

local function of_type(kind, words)
  return check(words, function(value) return type(value) == kind end)
end

local function integer(low, high)
  return check(("an integer from %d to %d"):format(low, high), function(value)
    return math.type(value) == "integer" and value >= low and value <= high
  end)
end

local text, any_table = of_type("string", "a text"), of_type("table", "an object")
local truth, number = of_type("boolean", "true or false"), of_type("number", "a number")
local whole = integer(math.mininteger, math.maxinteger)
local count = integer(0, math.maxinteger)

local function list_of(item, words)
  return check(words, function(value)
    if type(value) ~= "table" then return false end
    for key, one in pairs(value) do
      if math.type(key) ~= "integer" or key < 1 or key > #value or not item.fits(one) then
        return false
      end
    end
    return true
  end)
end

local function fits_fields(value, fields)
  for name, field in pairs(fields) do
    if not field.fits(value[name]) then return false end
  end
  return true
end

local function object_of(fields, words)
  return check(words, function(value)
    return type(value) == "table" and fits_fields(value, fields)
  end)
end

local function map_of(item, words)
  return check(words, function(value)
    if type(value) ~= "table" then return false end
    for key, one in pairs(value) do
      if type(key) ~= "string" or not item.fits(one) then return false end
    end
    return true
  end)
end

local function optional(item)
  return check(item.words, function(value) return value == nil or item.fits(value) end)
end

local scalar = check("a text or number", function(value)
  return type(value) ~= "table" and value ~= nil
end)

local counts = list_of(count, "counts")
local bucket = check("[ns, count]", function(value) return counts.fits(value) and #value == 2 end)
local HISTOGRAM = { count = count, min_ns = optional(count), max_ns = optional(count),
  mean_ns = optional(number), stddev_ns = optional(number),
  buckets = list_of(bucket, "a list of [ns, count]") }
local histogram = check("a histogram", function(value)
  return type(value) == "table" and fits_fields(value, HISTOGRAM)
    and (value.count == 0 or (value.min_ns ~= nil and value.max_ns ~= nil))
end)

local MANIFEST = {
  name = text, question = optional(text), script = optional(text), script_hash = optional(text),
  arguments = optional(list_of(text, "a list of texts")), started = optional(text),
  elapsed_ns = optional(number), interrupted = optional(text), seed = optional(whole),
  replicates = integer(1, BLOCKS_MAX), planned = count, baseline = optional(count),
  duplicate = optional(truth),
  factors = list_of(object_of({ name = text, levels = list_of(scalar, "a list of levels") },
    "a factor"), "a list of factors: name and levels"),
  cases = list_of(map_of(scalar, "a case"), "a list of cases: a level for each factor"),
  excluded = optional(list_of(object_of({ case = map_of(scalar, "a case"), reason = text },
    "a case left out"), "a list of cases with a reason")),
  order = optional(list_of(whole, "a list of integers")),
  metrics = optional(list_of(text, "a list of names")),
  better = optional(map_of(text, "higher or lower for each metric")), ceiling = optional(text),
  versions = optional(map_of(text, "versions by name")), environment = optional(any_table),
}

local ROW = {
  run = count, block = integer(1, BLOCKS_MAX), case = integer(1, CASES_MAX),
  label = optional(text), levels = optional(map_of(scalar, "a level for each factor")),
  duplicate = optional(truth), warm_up = optional(truth), seed = optional(whole),
  started = optional(text), elapsed_ns = optional(number),
  values = optional(map_of(scalar, "values by name")), error = optional(text),
  void = optional(text), evidence = optional(any_table),
  drift = optional(any_table),
  histograms = optional(map_of(histogram, "histograms by name")),
}

-- The first field that does not fit, in the order of names.
local function misfit(value, fields)
  local names = {}
  for name in pairs(fields) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    if not fields[name].fits(value[name]) then
      return ("%s is %s"):format(name, value[name] == nil and "missing"
        or "not " .. fields[name].words)
    end
  end
end

-- Each case has a level for each factor, and the baseline is one of them.
local function incomplete(manifest)
  for i, case in ipairs(manifest.cases) do
    for _, factor in ipairs(manifest.factors) do
      if case[factor.name] == nil then
        return ("case %d has no level of factor %s"):format(i, factor.name)
      end
    end
  end
  if manifest.baseline and not manifest.cases[manifest.baseline] then
    return ("baseline is %d of %d cases"):format(manifest.baseline, #manifest.cases)
  end
end

--- The manifest in a text.
---@param content string
---@return table? manifest
---@return string? message
function shape.manifest(content)
  local manifest, message = json.decode(content)
  if type(manifest) ~= "table" then return nil, message or "it is no object" end
  if manifest.format ~= shape.FORMAT then
    return nil, ("it is in format %s; this iolua reads format %d"):format(
      tostring(manifest.format), shape.FORMAT)
  end
  local why = misfit(manifest, MANIFEST) or incomplete(manifest)
  if why then return nil, why end
  return manifest
end

--- The row in a line.
---@param line string
---@param manifest table
---@return table? row
---@return string? message
function shape.row(line, manifest)
  local row, message = json.decode(line)
  if type(row) ~= "table" then return nil, message or "it is no object" end
  local why = misfit(row, ROW)
  if not why and row.case > #manifest.cases then
    why = ("case is %d of %d"):format(row.case, #manifest.cases)
  elseif not why and row.block > manifest.replicates then
    why = ("block is %d of %d"):format(row.block, manifest.replicates)
  end
  if why then return nil, why end
  return row
end

--- The rows in a text: a line each. What follows the last newline was cut short and is left out.
---@param content string
---@param manifest table
---@return table[]? rows
---@return integer|string bytes  of the whole lines; or "line 3: what is wrong with it"
function shape.rows(content, manifest)
  local rows, at = {}, 1
  while true do
    local stop = content:find("\n", at, true)
    if not stop then return rows, at - 1 end
    local row, message = shape.row(content:sub(at, stop - 1), manifest)
    if not row then return nil, ("line %d: %s"):format(#rows + 1, message) end
    rows[#rows + 1] = row
    at = stop + 1
  end
end

--- The parts of a result, from a manifest and rows that fit.
---@param m table
---@param rows table[]
---@return table parts  for iolua.experiment.result
function shape.parts(m, rows)
  local factors = {}
  for i, factor in ipairs(m.factors) do factors[i] = factor.name end
  for _, row in ipairs(rows) do row.duplicate = row.duplicate or nil end
  return {
    name = m.name, question = m.question, factors = factors, cases = m.cases, rows = rows,
    baseline = m.baseline, duplicate = m.duplicate, replicates = m.replicates, seed = m.seed,
    planned = m.planned, excluded = m.excluded, interrupted = m.interrupted, started = m.started,
    elapsed_ns = m.elapsed_ns, metric_order = m.metrics, better = m.better, ceiling = m.ceiling,
    environment = m.environment, order = m.order,
    about = { script = m.script, script_hash = m.script_hash, arguments = m.arguments,
              versions = m.versions },
  }
end

return shape
