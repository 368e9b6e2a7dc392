-- The protocol: distance of the submitter from the interrupt x rq_affinity x mode of submission,
-- for three loads. Cells are compared with the baseline of their load and mode, within blocks;
-- a duplicate of the first cell in every block (A/A) says how far to believe it.
local cells = require "affinity.cells"
local iolua = require "iolua"
local nearest = require "iolua.nearest"
local tables = require "affinity.tables"
local view = require "affinity.view"

local protocol = {}

local PEAK = { 1, 2, 4, 8, 16, 32, 64, 128 }

local function usage(message) iolua.leave(2, message) end

local function check_words(option, words, known)
  for _, word in ipairs(words) do
    if not known[word] then
      usage(("--%s: %q is none of them%s"):format(option, word,
        nearest.hint(word, nearest.keys(known))))
    end
  end
end

local function job_of(s, load, cell, options)
  local o = s.options
  local job = {
    target = s.targets, numjobs = #s.targets, rw = o.rw, bs = load.bs, iodepth = load.iodepth,
    cpus = cell.cpus, mem = { node = cell.node }, ring = cell.ring, continue_on_error = true,
  }
  for key, value in pairs(options) do job[key] = value end
  return iolua.job(job)
end

-- The least depth within 2 % of the best IOPS of one submitter at the baseline.
local function best_depth(s, load, cell)
  local found, best = {}, 0
  for i, depth in ipairs(PEAK) do
    local r = job_of(s, { bs = load.bs, iodepth = depth }, cell,
      { runtime = math.min(s.options.runtime, 200000000), seed = s.options.seed + i })
    found[i] = r and view.metrics(r).iops or 0
    best = math.max(best, found[i])
  end
  for i, depth in ipairs(PEAK) do
    if best > 0 and found[i] >= 0.98 * best then return depth, found[i] end
  end
  return 32
end

-- The largest control transfer that no disk splits: splits are punted.
local function control_bytes(s)
  local bytes = 256 * 1024
  for _, each in ipairs(s.control.disks) do
    local found = iolua.settings.get(each.target)
    if found and found.max_sectors_kb then bytes = math.min(bytes, found.max_sectors_kb * 1024) end
  end
  return math.max(bytes // 4096 * 4096, s.options.bs)
end

local function simulated(s) return type(s.targets[1]) == "table" end

local LOADS = {
  single = function(s)
    return { name = "single", bs = s.options.bs, iodepth = 1, metric = "p50_us" }
  end,
  peak = function(s, cell)
    local load = { name = "peak", bs = s.options.bs, metric = simulated(s) and "iops" or "busy_us_per_op" }
    load.iodepth = s.options.iodepth
    if not load.iodepth and not s.options.plan then
      load.iodepth, load.pilot_iops = best_depth(s, load, cell)
    end
    return load
  end,
  control = function(s)
    return { name = "control", bs = control_bytes(s), iodepth = 16, metric = "MB_per_s" }
  end,
}

local function measure(s, load, cell, run)
  local ok, message = s.control:apply(cell.rq)
  if not ok then return nil, message end
  local r, seen = s.witness:watch(load.bs, function()
    return job_of(s, load, cell, { runtime = s.options.runtime, ramp_time = s.options.ramp,
      seed = run.seed })
  end)
  if not r then return nil, seen end
  local values, evidence = view.metrics(r), iolua.experiment.evidence(r)
  local irq = not (cell.ring and cell.ring.iopoll) and s.place:interrupted(cell.queueing_cpu)
    or nil
  local counts, against = s.witness:judge(seen, cell, irq)
  for key, value in pairs(counts) do values[key] = value end
  -- Of all CPUs and the whole run: interrupts and kernel threads count, others' work too.
  if simulated(s) then
    seen.busy_ns = nil                  -- time there is not ours
  elseif seen.busy_ns and (seen.own_bytes or 0) > 0 then
    values.busy_us_per_op = seen.busy_ns / 1e3 / (seen.own_bytes / load.bs)
  elseif values.iops and seen.busy_ns then
    values.busy_us_per_op = seen.busy_ns / 1e3
      / (values.iops * (s.options.runtime + s.options.ramp) / 1e9)
  end
  values.cpu_us_per_op = values.cpu_ns_per_io and values.cpu_ns_per_io / 1e3
  s.evidence(evidence, seen, cell.rq, against)
  return values, evidence
end

local function sets(s, cell)
  local list = { "worker on CPU " .. cell.application_cpu,
    cell.ring and cell.ring.sqpoll and "submission thread on CPU " .. cell.ring.sq_cpu
      or cell.ring and "polled completions" or nil }
  table.move(s.control:plan(cell.rq), 1, 64, #list + 1, list)
  return list
end

local function by_name(list)
  local found, names = {}, {}
  for i, item in ipairs(list) do found[item.name], names[i] = item, item.name end
  return found, names
end

--- Run it.
---@param s table  the session of affinity_matrix.lua
---@return iolua.result result
---@return table report  { text, json, csv }
function protocol.run(s)
  local o = s.options
  check_words("modes", o.modes, cells.MODES)
  check_words("loads", o.loads, LOADS)
  local list, left_out = cells.all(s.place, o.modes, o.aliases)
  if #list == 0 then
    return usage("no cell can be made here: " .. (left_out[1] and left_out[1].reason or ""))
  end
  local loads = {}
  for i, name in ipairs(o.loads) do loads[i] = LOADS[name](s, list[1]) end
  local cell_of, cell_names = by_name(list)
  local load_of, load_names = by_name(loads)
  if o.plan then s.say(tables.left_out(left_out)) end
  local result = iolua.experiment {
    name = "affinity-distance", question = s.question, duplicate = false,
    factors = { load = load_names, cell = cell_names }, order = { "load", "cell" },
    replicates = o.replicates, seed = o.seed, options = o,
    metrics = { "iops", "p50_us", "p99_us", "p999_us", "busy_us_per_op", "cpu_us_per_op",
      "MB_per_s" },
    run_time = o.runtime + o.ramp, targets = s.targets,
    changes = function(case) return sets(s, cell_of[case.cell]) end,
    writes = s.writes, gates = s.gates { contradictions = true },
    measure = function(case, _, run)
      return measure(s, load_of[case.load], cell_of[case.cell], run)
    end,
  }
  return result, tables.report(s, result, loads, list, left_out)
end

return protocol
