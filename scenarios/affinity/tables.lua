-- The protocol's result as tables, one a load, with verdicts and the closing sentences.
local ceiling = require "affinity.ceiling"
local csv = require "iolua.report.csv"
local iolua = require "iolua"
local json = require "iolua.report.json"
local sentence = require "iolua.experiment.sentence"
local stats = require "iolua.stats"
local store = require "iolua.store"
local text = require "iolua.report.text"
local verdict = require "iolua.experiment.verdict"

local tables = {}

local METRICS = { "iops", "p50_us", "p99_us", "p999_us", "busy_us_per_op", "cpu_us_per_op",
  "MB_per_s", "q_local", "q_remote", "c_local", "c_remote", "c_local_submitter",
  "c_remote_submitter" }

local function counts(row) return not row.error and not row.void and row.values ~= nil end

-- The runs of one load and cell.
local function runs_of(result, load, cell)
  local list = {}
  for _, row in ipairs(result.rows) do
    local case = result.cases[row.case]
    if case.load == load.name and case.cell == cell.name then list[#list + 1] = row end
  end
  return list
end

-- A metric by block; false where a block has none.
local function by_block(result, load, cell, metric)
  local values = {}
  for block = 1, result.replicates do values[block] = false end
  for _, row in ipairs(runs_of(result, load, cell)) do
    if counts(row) and row.values[metric] then values[row.block] = row.values[metric] end
  end
  return values
end

-- One line of a table: means over the runs that count, what became of the others.
local function line_of(result, load, cell)
  local line = { load = load.name, mode = cell.mode, distance = cell.distance,
    rq_affinity = cell.rq_affinity, cell = cell.name, twin = cell.twin, runs = 0, bs_bytes = load.bs,
    iodepth = load.iodepth, application_cpu = cell.application_cpu,
    queueing_cpu = cell.queueing_cpu, completing_cpu = cell.complete_cpu }
  local lost, why = 0, nil
  for _, row in ipairs(runs_of(result, load, cell)) do
    if counts(row) then line.runs = line.runs + 1
    else lost, why = lost + 1, why or row.error or row.void end
  end
  if why then
    line.note = ("%d of %d runs lost: %s"):format(lost, lost + line.runs, why)
  end
  for _, metric in ipairs(METRICS) do
    local list = {}
    for _, value in ipairs(by_block(result, load, cell, metric)) do
      if value then list[#list + 1] = value end
    end
    local s = stats.summary(list)
    line[metric], line[metric .. "_half_width"] = s.mean, s.half_width
  end
  return line
end

local function percent_at(here, away)
  if not here or not away or here + away == 0 then return nil end
  return 100 * here / (here + away)
end

-- The arms of one load and mode with the first cell as baseline.
local function comparison(result, load, group, twin, smallest, cannot)
  local data = { arms = {}, baseline = 1, blocks = result.replicates }
  for i, cell in ipairs(group) do
    data.arms[i] = { label = cell.name, values = by_block(result, load, cell, load.metric) }
  end
  if twin then
    data.duplicate = by_block(result, load, twin, load.metric)
    data.duplicate_base = by_block(result, load, { name = twin.twin }, load.metric)
    data.duplicate_of = twin.twin
  end
  local c = verdict.compare(data, { metric = load.metric, smallest = smallest,
    cannot_matter = cannot })
  c.load, c.mode = load.name, group[1].mode
  return c
end

local function groups_of(cells)
  local order, by_mode, twin = {}, {}, nil
  for _, cell in ipairs(cells) do
    if cell.twin then
      twin = cell
    elseif by_mode[cell.mode] then
      table.insert(by_mode[cell.mode], cell)
    else
      by_mode[cell.mode] = { cell }
      order[#order + 1] = by_mode[cell.mode]
    end
  end
  return order, twin
end

local function format_percent(value) return ("%.4g %%"):format(value) end

local function shown_mode(value, line) return line.twin and value .. " again" or value end

local function columns_of(load)
  local function number(key, title, places)
    return { key = key, title = title, format = places and "%." .. places .. "f" or nil,
      plus_minus = key == load.metric and key .. "_half_width" or nil, align = "right" }
  end
  return {
    { key = "mode", align = "left", format = shown_mode }, { key = "distance", align = "left" },
    { key = "rq_affinity", title = "rq", align = "right" },
    { key = "cpus", title = "A>Q>C", align = "left" }, { text = "|" },
    load.metric == "MB_per_s" and number("MB_per_s", "MB/s", 1) or number("iops", "IOPS", 0),
    number("p50_us", "p50 us", 1), number("p99_us", "p99 us", 1),
    number("p999_us", "p99.9 us", 1), number("busy_us_per_op", "all CPUs us/op", 2),
    number("cpu_us_per_op", "own us/op", 2), { text = "|" },
    { key = "q_at_a", title = "Q at A", format = format_percent, align = "right" },
    { key = "c_at_i", title = "C at I", format = format_percent, align = "right" },
    { key = "c_at_a", title = "C at A", format = format_percent, align = "right" },
    { text = "|" }, { key = "words", title = "verdict", align = "left" },
  }
end

local function title_of(load)
  local u = iolua.units
  local depth = load.iodepth and tostring(load.iodepth) or "of best IOPS, found before"
  return ("%s: %s, depth %s%s; judged by %s"):format(load.name, u.format_size(load.bs), depth,
    load.pilot_iops and " (the least within 2 % of the best IOPS)"
      or load.name == "control" and " (bound by the device: nothing should differ)" or "",
    load.metric:gsub("_per_", "/"):gsub("_", " "))
end

local function shown_cpus(cell)
  return ("%d>%d>%s"):format(cell.application_cpu, cell.queueing_cpu, cell.complete_cpu or "?")
end

-- What stands in the last column: the verdict, the baseline, A/A; and what went wrong.
local function words_of(line, cell, c)
  local words = cell == c.first and "baseline"
  for _, arm in ipairs(c.arms) do
    if arm.label == cell.name then
      local few = sentence.blocks(arm, c)
      words = (arm.percent and verdict.percent(arm.percent) .. ", " or "") .. arm.verdict
        .. (few and ", " .. few or "")
    end
  end
  if cell.twin then
    words = c.aa and c.aa.percent and "A/A: " .. verdict.percent(c.aa.percent)
      .. (c.aa.differs and ", DIFFERS" or "") or "A/A"
  end
  return line.note and (words or "") .. "; " .. line.note or words
end

local function of_mode_lines(lines, mode)
  local list = {}
  for _, line in ipairs(lines) do
    if line.mode == mode then list[#list + 1] = line end
  end
  return list
end

-- Lines of one load with their comparisons.
local function load_lines(result, load, cells, smallest)
  local groups, twin = groups_of(cells)
  local comparisons, lines, of_mode = {}, {}, {}
  for i, cell in ipairs(cells) do lines[i] = line_of(result, load, cell) end
  for i, group in ipairs(groups) do
    local cannot = ceiling.why(load, of_mode_lines(lines, group[1].mode), smallest)
    local c = comparison(result, load, group, twin, smallest, cannot)
    comparisons[i], of_mode[group[1].mode] = c,
      { arms = c.arms, aa = c.aa, blocks = c.blocks, first = group[1] }
  end
  for i, cell in ipairs(cells) do
    local line = lines[i]
    line.cpus = shown_cpus(cell)
    line.q_at_a = percent_at(line.q_local, line.q_remote)
    line.c_at_i = percent_at(line.c_local, line.c_remote)
    line.c_at_a = percent_at(line.c_local_submitter, line.c_remote_submitter)
    line.words = words_of(line, cell, of_mode[cell.mode])
  end
  return lines, comparisons
end

--- What cannot be made here, a line a reason.
---@param left_out table[]
---@return string[]
function tables.left_out(left_out)
  local lines = {}
  for i, entry in ipairs(left_out) do
    local first = entry.cells[1]
    lines[i] = ("left out: %s%s: %s"):format(first,
      #entry.cells > 1 and (" and %d more"):format(#entry.cells - 1) or "", entry.reason)
  end
  return lines
end

local CSV = {}
for _, key in ipairs { "load", "bs_bytes", "iodepth", "mode", "distance", "rq_affinity",
  "application_cpu", "queueing_cpu", "completing_cpu", "runs", "iops", "iops_half_width",
  "MB_per_s", "p50_us", "p50_us_half_width", "p99_us", "p999_us", "busy_us_per_op",
  "busy_us_per_op_half_width", "cpu_us_per_op", "q_local", "q_remote", "c_local", "c_remote",
  "c_local_submitter", "c_remote_submitter", "words" } do
  CSV[#CSV + 1] = { key = key }
end

-- What is bound by the device should not differ: where it does, something else did.
local function doubts(comparisons)
  local lines = {}
  for _, c in ipairs(comparisons) do
    for _, arm in ipairs(c.load == "control" and c.arms or {}) do
      if arm.verdict == "faster" or arm.verdict == "slower" then
        lines[#lines + 1] = ("the control differs (%s): what else was found with %s is doubtful")
          :format(arm.label, c.mode)
      end
    end
  end
  return lines
end

local function about_lines(s, result, left_out, comparisons)
  local lines = tables.left_out(left_out)
  table.move(doubts(comparisons), 1, #comparisons * 64, #lines + 1, lines)
  local n, why = 0, nil
  for _, row in ipairs(result.rows) do
    local reason = row.evidence and row.evidence.not_counted
    n, why = n + (reason and 1 or 0), why or reason
  end
  if why then
    lines[#lines + 1] = ("who did the work was not counted in %d of %d runs: %s"):format(n,
      #result.rows, why)
  end
  for _, line in ipairs(require("iolua.report.summary").remarks(result)) do
    lines[#lines + 1] = line
  end
  if result.replicates < 8 or s.options.runtime < 30000000000 then
    lines[#lines + 1] = "short form: for a finding --replicates 8 --runtime 30s --ramp 10s"
  end
  return lines
end

--- Everything for the terminal and for files.
---@param s table  the session
---@param result iolua.result
---@param loads table[]
---@param cells table[]
---@param left_out table[]
---@return table report  { text, json, csv }
function tables.report(s, result, loads, cells, left_out)
  local smallest, message = verdict.smallest(s.options.smallest)
  if not smallest then error("--smallest: " .. message, 0) end
  local parts, all, comparisons, sentences = {}, {}, {}, {}
  for _, load in ipairs(loads) do
    local lines, compared = load_lines(result, load, cells, smallest)
    parts[#parts + 1] = title_of(load) .. "\n" .. text.table(columns_of(load), lines) .. "\n"
    table.move(lines, 1, #lines, #all + 1, all)
    for _, c in ipairs(compared) do
      comparisons[#comparisons + 1] = c
      if #c.arms > 0 then
        sentences[#sentences + 1] = ("%s, %s: %s"):format(c.load, c.mode, c.sentence)
      end
    end
  end
  local about = s.about
  about.rows, about.verdicts = json.array(all), json.array(sentences)
  about.comparisons, about.left_out = json.array(comparisons), json.array(left_out)
  return {
    text = table.concat(parts) .. table.concat(sentences, "\n") .. "\n\n"
      .. table.concat(about_lines(s, result, left_out, comparisons), "\n") .. "\n",
    csv = csv.encode(CSV, all),
    json = json.encode(store.document(result, about), { indent = true }) .. "\n",
  }
end

return tables
