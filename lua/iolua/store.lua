--- Results on disk: a folder of plain files that can be read without iolua.
--
--   manifest.json   what was run, by which script, in which order, on which machine
--   runs.jsonl      a line a run, written when it ends: metrics, histograms, drift, errors
--   summary.csv     a line a case, the unit in each column's name
--
-- A run's line is whole or it is not there: one that a kill cut short has no newline and is
-- dropped when the folder is opened again.
local core = require "iolua.core"
local csv = require "iolua.report.csv"
local json = require "iolua.report.json"
local results = require "iolua.experiment.result"
local shape = require "iolua.experiment.shape"
local surroundings = require "iolua.experiment.surroundings"

local store = { FORMAT = shape.FORMAT }

local Store = {}
Store.__index = Store

local function failure(what, message)
  return nil, ("%s: %s"):format(what, (tostring(message):gsub("^[^:]*: ", "", 1)))
end

-- Whole or not at all: written beside, then renamed over.
local function write_file(path, text)
  local file, message = io.open(path .. ".new", "wb")
  if not file then return failure("write " .. path, message) end
  local ok, why = file:write(text)
  local closed, late = file:close()
  if not (ok and closed) then return failure("write " .. path, why or late) end
  local renamed, reason = os.rename(path .. ".new", path)
  if not renamed then return failure("write " .. path, reason) end
  return true
end

local function read_file(path)
  local file, message = io.open(path, "rb")
  if not file then return failure("read " .. path, message) end
  local text = file:read("a")
  file:close()
  return text
end

store.write_file, store.read_file = write_file, read_file

--- FNV-1a, 64 bits, of a text: tells one script from another.
---@param text string
---@return string
function store.hash(text)
  local h = 0xcbf29ce484222325
  for i = 1, #text do h = (h ~ text:byte(i)) * 0x100000001b3 end
  return ("fnv1a64:%016x"):format(h)
end

-- [upper, count] pairs: a tenth of the text of the tables.
local function packed(histograms)
  if not histograms then return nil end
  local copy = {}
  for name, h in pairs(histograms) do
    local pairs_of = {}
    for i, bucket in ipairs(h.buckets) do
      pairs_of[i] = json.array { bucket.upper or bucket[1], bucket.count or bucket[2] }
    end
    copy[name] = { count = h.count, min_ns = h.min_ns, max_ns = h.max_ns, mean_ns = h.mean_ns,
                   stddev_ns = h.stddev_ns, buckets = json.array(pairs_of) }
  end
  return copy
end

local ROW_ORDER = { "run", "block", "label", "levels", "duplicate", "warm_up", "started",
                    "elapsed_ns", "error", "void", "values" }

--- A row as it stands in runs.jsonl and in a JSON document.
---@param row table
---@return table
function store.record(row)
  return json.object({
    run = row.run, block = row.block, case = row.case, label = row.label,
    levels = json.object(surroundings.plain(row.levels or {})), duplicate = row.duplicate,
    warm_up = row.warm_up, seed = row.seed, started = row.started, elapsed_ns = row.elapsed_ns,
    values = row.values and json.object(surroundings.plain(row.values)), error = row.error,
    void = row.void, evidence = row.evidence and surroundings.plain(row.evidence),
    drift = row.drift, histograms = packed(row.histograms),
  }, ROW_ORDER)
end

--- Begin a folder: the manifest is written, no run yet.
---@param dir string
---@param manifest table
---@return table? store
---@return string? message
function store.create(dir, manifest)
  local ok, message = core.folder.make(dir)
  if not ok then return nil, message end
  local held = io.open(dir .. "/manifest.json")
  if held then
    held:close()
    return nil, ("%s holds a result already; --resume %s goes on with it"):format(dir, dir)
  end
  ok, message = write_file(dir .. "/manifest.json", json.encode(manifest, { indent = true })
    .. "\n")
  if not ok then return nil, message end
  local file
  file, message = io.open(dir .. "/runs.jsonl", "wb")
  if not file then return failure("write " .. dir .. "/runs.jsonl", message) end
  return setmetatable({ dir = dir, file = file, manifest = manifest }, Store)
end

--- Add a run; on disk when this returns.
---@param row table
---@return true?
---@return string? message
function Store:append(row)
  local ok, message = self.file:write(json.encode(store.record(row)), "\n")
  if ok then ok, message = self.file:flush() end
  if not ok then return failure(("write %s/runs.jsonl"):format(self.dir), message) end
  return true
end

--- The run is over: the summary is written.
---@param result iolua.result
function Store:finish(result)
  self.file:close()
  local ok, message = write_file(self.dir .. "/summary.csv", store.summary(result))
  if not ok then return nil, message end
  return write_file(self.dir .. "/manifest.json",
    json.encode(store.manifest(result, self.manifest), { indent = true }) .. "\n")
end

--- What a folder holds. A line cut short is left out.
---@param dir string
---@return table? manifest
---@return table|string rows  or the message
---@return integer? bytes  of the whole lines
function store.read(dir)
  local text, message = read_file(dir .. "/manifest.json")
  if not text then return nil, message end
  local manifest, rows, bytes
  manifest, message = shape.manifest(text)
  if not manifest then return nil, ("read %s/manifest.json: %s"):format(dir, message) end
  rows, bytes = shape.rows(read_file(dir .. "/runs.jsonl") or "", manifest)
  if not rows then return nil, ("read %s/runs.jsonl: %s"):format(dir, bytes) end
  return manifest, rows, bytes
end

--- Go on in a folder: rows so far, and a store that appends.
---@param dir string
---@return table? store
---@return table[]|string rows  or the message
function store.open(dir)
  local manifest, rows, bytes = store.read(dir)
  if not manifest then return nil, rows end
  local path = dir .. "/runs.jsonl"
  local text = read_file(path) or ""
  if bytes < #text then
    local ok, message = write_file(path, text:sub(1, bytes))
    if not ok then return nil, message end
  end
  local file, message = io.open(path, "ab")
  if not file then return failure("write " .. path, message) end
  return setmetatable({ dir = dir, file = file, manifest = manifest }, Store), rows
end

local function factor_list(result)
  local list = {}
  for i, name in ipairs(result.factors) do
    local levels, seen = {}, {}
    for _, case in ipairs(result.cases) do
      local level = surroundings.plain(case[name])
      local text = type(level) == "table" and tostring(level.name) or tostring(level)
      if not seen[text] then
        seen[text] = true
        levels[#levels + 1] = type(level) == "table" and text or level
      end
    end
    list[i] = json.object({ name = name, levels = json.array(levels) }, { "name", "levels" })
  end
  return json.array(list)
end

local function case_list(result)
  local list = {}
  for i, case in ipairs(result.cases) do
    local copy = {}
    for name, level in pairs(case) do
      level = surroundings.plain(level)
      copy[name] = type(level) == "table" and tostring(level.name) or level
    end
    list[i] = json.object(copy, result.factors)
  end
  return json.array(list)
end

local MANIFEST_ORDER = { "format", "name", "question", "script", "script_hash", "arguments",
  "started", "elapsed_ns", "finished", "interrupted", "seed", "replicates", "planned", "baseline",
  "duplicate", "factors", "cases", "excluded", "order", "metrics", "better", "versions",
  "environment" }

--- The manifest of a result; `first` is the one its folder began with.
---@param result iolua.result
---@param first? table
---@return table
function store.manifest(result, first)
  local m = {}
  for key, value in pairs(first or {}) do m[key] = value end
  m.format, m.name, m.question = store.FORMAT, result.name, result.question
  m.seed, m.replicates, m.planned = result.seed, result.replicates, result.planned
  m.baseline, m.duplicate = result.baseline, result.duplicate and true or false
  m.factors, m.cases = factor_list(result), case_list(result)
  m.metrics = result.metric_order and json.array(result.metric_order)
  m.better, m.ceiling = result.better, result.ceiling
  m.started = m.started or result.started
  m.elapsed_ns = result.elapsed_ns
  m.finished = #result.rows >= result.planned
  m.interrupted = result.interrupted
  m.order = result.order and json.array(result.order) or m.order
  m.excluded = {}
  for i, out in ipairs(result.excluded or {}) do
    m.excluded[i] = { case = surroundings.plain(out.case), reason = out.reason }
  end
  json.array(m.excluded)
  local about = result.about or {}
  m.script, m.script_hash = m.script or about.script, m.script_hash or about.script_hash
  m.arguments = m.arguments or about.arguments and json.array(about.arguments)
  m.versions = m.versions or about.versions
  m.environment = m.environment or result.environment
  return json.object(m, MANIFEST_ORDER)
end

--- A result from what a folder holds: `iolua report` and `iolua compare` work on it.
---@param dir string
---@return iolua.result?
---@return string? message
function store.load(dir)
  local m, rows = store.read(dir)
  if not m then return nil, rows end
  local parts = shape.parts(m, rows)
  parts.dir = dir
  return results.new(parts)
end

--- The columns of the summary, and its rows.
---@param result iolua.result
---@return table[] columns
---@return table[] rows
function store.summary_columns(result)
  local columns = {}
  local function add(key) columns[#columns + 1] = { key = key } end
  for _, name in ipairs(result.factors) do add(name) end
  add "n"
  for _, metric in ipairs(result:metrics()) do
    add(metric)
    add(metric .. "_half_width")
    add(metric .. "_sd")
  end
  add "failed"
  add "void"
  add "note"
  return columns, result:summary()
end

--- summary.csv as text.
---@param result iolua.result
---@return string
function store.summary(result) return csv.encode(store.summary_columns(result)) end

--- Everything about a result as one table for JSON.
---@param result iolua.result
---@param extra? table  further fields
---@return table
function store.document(result, extra)
  local document = store.manifest(result)
  for key, value in pairs(extra or {}) do document[key] = value end
  local rows = {}
  for i, row in ipairs(result.rows) do rows[i] = store.record(row) end
  document.interrupted = result.interrupted and true or false
  document.signal = result.interrupted
  document.simulated = require("iolua.experiment.checks").simulated(result) or nil
  document.summary, document.runs = json.array(result:summary()), json.array(rows)
  return document
end

--- result:save(dir): the whole result in a new folder.
---@param result iolua.result
---@param dir string
---@return true?
---@return string? message
function store.save(result, dir)
  if type(dir) ~= "string" or dir == "" then error("save: a folder's path is needed", 2) end
  local s, message = store.create(dir, store.manifest(result))
  if not s then return nil, message end
  for _, row in ipairs(result.rows) do
    local ok, why = s:append(row)
    if not ok then return nil, why end
  end
  return s:finish(result)
end

return store
