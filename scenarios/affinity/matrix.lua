-- The table of 2008: twenty rows of A, Q and C, each run where it can be made, and whether they
-- differ.
local iolua = require "iolua"
local rows = require "affinity.rows"
local view = require "affinity.view"

local matrix = {}

-- What a row sets, of itself and of the machine.
local function sets(s, row)
  local list = { row.cpus and "worker on CPU " .. row.cpus[1] or "no placement",
                 row.ring and "submission thread on CPU " .. row.ring.sq_cpu or nil }
  table.move(s.control:plan(row.rq), 1, 64, #list + 1, list)
  return list
end

-- One run: set, measure while the witness counts, look again.
local function measure(s, row, run)
  local o = s.options
  local ok, message = s.control:apply(row.rq)
  if not ok then return nil, message end
  local r, seen = s.witness:watch(o.bs, function()
    return iolua.job {
      target = s.targets, numjobs = #s.targets, rw = o.rw, bs = o.bs, iodepth = o.iodepth,
      runtime = o.runtime, ramp_time = o.ramp, seed = run.seed, cpus = row.cpus,
      mem = { node = row.node }, ring = row.ring, continue_on_error = true,
    }
  end)
  if not r then return nil, seen end
  local values, evidence = view.metrics(r), iolua.experiment.evidence(r)
  local irq = s.place:interrupted(row.queueing_cpu or s.place.i)
  local counts, against = s.witness:judge(seen, row, irq)
  for key, value in pairs(counts) do values[key] = value end
  s.evidence(evidence, seen, row.rq, against)
  return values, evidence
end

local function plan_of(all)
  local lines = {}
  for _, row in ipairs(all) do
    if row.status ~= "run" then
      lines[#lines + 1] = ("%-6s %s: %s"):format(row.label, row.status, row.reason)
    end
  end
  return lines
end

--- Why rows have no counts, once for all of them.
local function uncounted(s, list)
  local measured, counted = false, false
  for _, row in ipairs(list) do
    measured, counted = measured or row.runs and row.runs > 0, counted or row.c_local_submitter
  end
  return measured and not counted and s.uncounted or nil
end

--- Run it.
---@param s table  the session of affinity_matrix.lua
---@return iolua.result result
---@return table report  { text, json, csv }
function matrix.run(s)
  local o = s.options
  local all = rows.all(s.place)
  local runnable, labels = rows.runnable(all)
  if o.plan then s.say(plan_of(all)) end
  local result = iolua.experiment {
    name = "affinity-matrix", question = s.question,
    factors = { row = labels }, replicates = o.replicates, seed = o.seed, options = o,
    metrics = { "MB_per_s", "avg_latency_s", "stddev_s" }, run_time = o.runtime + o.ramp,
    targets = s.targets, changes = function(case) return sets(s, runnable[case.row]) end,
    writes = s.writes, gates = s.gates { contradictions = false },
    measure = function(case, _, run) return measure(s, runnable[case.row], run) end,
  }
  local list = view.rows(all, result)
  local sentences, comparisons = view.verdicts(all, result, o.smallest)
  local why = uncounted(s, list)
  return result, {
    text = view.text(list, result) .. (why and "counters: " .. why .. "\n" or "") .. "\n"
      .. table.concat(sentences, "\n") .. "\n",
    json = view.json(list, result, sentences, comparisons, s.about),
    csv = view.csv(list),
  }
end

return matrix
