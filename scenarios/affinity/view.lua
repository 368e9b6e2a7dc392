-- The published table as a view of the result, and what it allows to be said.
local csv = require "iolua.report.csv"
local json = require "iolua.report.json"
local stats = require "iolua.stats"
local store = require "iolua.store"
local text = require "iolua.report.text"
local verdict = require "iolua.experiment.verdict"

local view = {}

--- The metrics of one run, of a job's result.
---@param r table
---@return table
function view.metrics(r)
  local bytes, lat, ios = 0.0, nil, 0
  for _, side in ipairs { r.read or false, r.write or false } do
    if side then
      bytes, ios = bytes + (side.bytes_per_s or 0), ios + side.ios
      if lat then lat:merge(side.lat) else lat = require("iolua").hist():merge(side.lat) end
    end
  end
  local mean, deviation = lat and lat:mean(), lat and lat:stddev()
  return {
    MB_per_s = bytes > 0 and bytes / 1e6 or nil, iops = r.elapsed_ns and ios * 1e9 / r.elapsed_ns,
    avg_latency_s = mean and mean / 1e9, stddev_s = deviation and deviation / 1e9,
    p50_us = lat and lat:percentile(50) / 1e3, p99_us = lat and lat:percentile(99) / 1e3,
    p999_us = lat and lat:percentile(99.9) / 1e3,
    cpu_ns_per_io = r.cpu and not r.simulated and r.cpu.ns_per_io or nil, lat = lat,
  }
end

-- What went wrong with a row's runs, what contradicts its label, or its note.
local function note_of(row, summary, contradiction)
  if row.status ~= "run" then return row.status .. ": " .. row.reason end
  local parts = {}
  if contradiction then parts[1] = "CONTRADICTS ITS LABEL: " .. contradiction end
  if summary and summary.note then parts[#parts + 1] = summary.note end
  parts[#parts + 1] = row.mode:match("%((SQPOLL)%)")
  parts[#parts + 1] = row.reason
  return table.concat(parts, "; ")
end

local COUNTS = { "q_local", "q_remote", "c_local", "c_remote", "c_local_submitter",
  "c_remote_submitter" }

-- By row: what contradicted it first.
local function contradictions(result)
  local found = {}
  for _, run in ipairs(result.rows) do
    local why = run.evidence and run.evidence.contradiction
    local label = result.cases[run.case].row
    if why and not run.void then found[label] = found[label] or why end
  end
  return found
end

--- The 20 rows with what was measured.
---@param rows table[]
---@param result iolua.result
---@return table[]
function view.rows(rows, result)
  local by_label, list, against = {}, {}, contradictions(result)
  for _, summary in ipairs(result:summary()) do by_label[summary.row] = summary end
  for i, row in ipairs(rows) do
    local s = by_label[row.label]
    list[i] = {
      A = row.A or row.label, Q = row.Q, C = row.C, label = row.label,
      status = row.status == "run" and (s and s.n > 0 and "measured" or "nothing measured")
        or row.status,
      reason = row.reason, note = note_of(row, s, against[row.label]), mode = row.mode, runs = s and s.n,
      application_cpu = row.application_cpu, queueing_cpu = row.queueing_cpu,
      MB_per_s = s and s.MB_per_s, MB_per_s_half_width = s and s.MB_per_s_half_width,
      avg_latency_s = s and s.avg_latency_s, stddev_s = s and s.stddev_s,
      rq_affinity = row.rq, completing_cpu = row.complete_cpu,
      contradiction = against[row.label],
    }
    for _, key in ipairs(COUNTS) do
      -- Events are whole ones: the mean of runs is told as such.
      if s and s[key] then list[i][key] = math.floor(s[key] + 0.5) end
    end
  end
  return list
end

local COLUMNS = {
  { key = "A", align = "left" }, { key = "Q", align = "left" }, { key = "C", align = "left" },
  { text = "|" }, { key = "MB_per_s", title = "MBPS", plus_minus = "MB_per_s_half_width" },
  { key = "avg_latency_s", title = "Avg Lat", format = "%.7f" },
  { key = "stddev_s", title = "StdDev", format = "%.7f" },
  { text = "|" }, { key = "q_local", title = "Q-local", align = "right" },
  { key = "q_remote", title = "Q-remote", align = "right" },
  { text = "|" }, { key = "c_local", title = "C-local", align = "right" },
  { key = "c_remote", title = "C-remote", align = "right" },
  { key = "c_local_submitter", title = "at A", align = "right" },
  { key = "c_remote_submitter", title = "not at A", align = "right" },
  { text = "|" }, { key = "note", align = "left" },
}

--- The table for a terminal.
function view.text(list, result)
  local lines = { (text.table(COLUMNS, list)) }
  for _, line in ipairs(require("iolua.report.summary").remarks(result)) do
    lines[#lines + 1] = line .. "\n"
  end
  return table.concat(lines)
end

local CSV = {}
for _, key in ipairs { "A", "Q", "C", "MB_per_s", "avg_latency_s", "stddev_s", "q_local",
  "q_remote", "c_local", "c_remote", "c_local_submitter", "c_remote_submitter", "rq_affinity",
  "runs", "MB_per_s_half_width", "status", "note" } do
  CSV[#CSV + 1] = { key = key }
end

--- The published columns, and how each row came about.
function view.csv(list) return csv.encode(CSV, list) end

-- The groups that may be compared: rows of one mechanism.
local function modes(rows)
  local order, by_mode = {}, {}
  for _, row in ipairs(rows) do
    if row.status == "run" then
      -- Without placement the application submits too.
      local mode = row.mode == "no placement" and "application submits" or row.mode
      if not by_mode[mode] then
        by_mode[mode] = { mode = mode }
        order[#order + 1] = by_mode[mode]
      end
      table.insert(by_mode[mode], row.label)
    end
  end
  return order
end

-- Values of each row by block, for those blocks that hold all of them.
local function grid(result, labels)
  local index, columns = {}, {}
  for i, case in ipairs(result.cases) do index[case.row] = i end
  for block = 1, result.replicates do
    local values, whole = {}, true
    for j, label in ipairs(labels) do
      for _, row in ipairs(result.rows) do
        if row.case == index[label] and row.block == block and not row.duplicate
            and not row.error and not row.void then
          values[j] = row.values.MB_per_s
        end
      end
      whole = whole and values[j] ~= nil
    end
    if whole then columns[#columns + 1] = values end
  end
  return columns
end

-- Mean of each row, deviation of replicates (blocks removed), F of the rows and its bound.
local function spread(columns, k)
  local b, total, means, blocks = #columns, 0.0, {}, {}
  for i, values in ipairs(columns) do
    blocks[i] = 0.0
    for j = 1, k do
      means[j] = (means[j] or 0.0) + values[j] / b
      blocks[i] = blocks[i] + values[j] / k
      total = total + values[j] / (b * k)
    end
  end
  local between, error_squares = 0.0, 0.0
  for j = 1, k do
    between = between + b * (means[j] - total)^2
    for i = 1, b do
      error_squares = error_squares + (columns[i][j] - means[j] - blocks[i] + total)^2
    end
  end
  local df = (k - 1) * (b - 1)
  local s = { best = math.max(table.unpack(means)), worst = math.min(table.unpack(means)),
    mean = total }
  if df > 0 then
    s.sd = math.sqrt(error_squares / df)
    s.critical = stats.f_quantile(0.95, k - 1, df)
    s.f = s.sd > 0 and between / (k - 1) / s.sd^2 or nil
  end
  return s
end

local function spread_sentence(group, result, aa)
  local columns, k = grid(result, group), #group
  if k < 2 then return ("%s: one row, nothing to compare."):format(group.mode) end
  if #columns == 0 then return ("%s: no block holds all %d rows."):format(group.mode, k) end
  local s = spread(columns, k)
  local text_of = verdict.percent
  local line = ("%s: %d rows, %s from best to worst"):format(group.mode, k,
    text_of(100 * (s.best - s.worst) / s.best, true))
  if not s.sd then return line .. "; one run a row says nothing about the error." end
  if aa then line = ("%s; A/A differs by %s"):format(line, text_of(math.abs(aa.percent or 0),
    true)) end
  return ("%s; replicates of one row vary by %s: the rows %s."):format(line,
    text_of(100 * s.sd / s.mean, true), s.f and s.f > s.critical
      and "differ by more than replicates do" or "differ by no more than A/A and replicates do")
end

--- The closing sentences: per mechanism whether the rows differ, and which.
---@return string[] sentences
---@return table[] comparisons
function view.verdicts(rows, result, smallest)
  local lines, comparisons = {}, {}
  if not result:measured() then return { "nothing was measured." }, comparisons end
  for _, group in ipairs(modes(rows)) do
    local c = result:compare { factor = "row", metric = "MB_per_s", baseline = group[1],
      only = group,
                               labels = true, smallest = smallest }
    lines[#lines + 1] = spread_sentence(group, result, c.aa)
    if #c.arms > 0 then lines[#lines + 1] = c.sentence end
    comparisons[#comparisons + 1] = c
  end
  return lines, comparisons
end

--- One JSON document.
function view.json(list, result, sentences, comparisons, about)
  about.rows, about.verdicts = json.array(list), json.array(sentences)
  about.comparisons = json.array(comparisons)
  return json.encode(store.document(result, about), { indent = true }) .. "\n"
end

return view
