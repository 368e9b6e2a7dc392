--- What an experiment would do, as text: the runs, what each sets, all that would be written or
--- changed. Nothing is done.
local design = require "iolua.design"
local units = require "iolua.units"

local plan = {}

local function list_of(value, ...)
  if type(value) == "function" then value = value(...) end
  if value == nil then return {} end
  return type(value) == "table" and value or { value }
end

--- The text of --plan.
---@param e table  the experiment, prepared
---@return string
function plan.text(e)
  local lines = {}
  local function say(text, ...) lines[#lines + 1] = text:format(...) end
  say("%s: %d runs of %d cases in %d block%s, seed %d%s", e.name, #e.runs, #e.cases, e.replicates,
    e.replicates == 1 and "" or "s", e.seed,
    e.run_time and ("; about %s"):format(units.format_ns(#e.runs * e.run_time)) or "")
  for _, run in ipairs(e.runs) do
    local case = e.cases[run.case]
    local sets = list_of(e.changes, case)
    say("run %d, block %d: %s%s%s", run.run, run.block, design.label(case, e.names),
      run.duplicate and " (duplicate of the baseline)" or run.warm_up and " (warm-up)" or "",
      #sets > 0 and "; sets " .. table.concat(sets, ", ") or "")
  end
  for _, out in ipairs(e.excluded) do
    say("left out: %s (%s)", design.label(out.case, e.names), out.reason)
  end
  local writes = list_of(e.writes)
  say("written: %s", #writes > 0 and table.concat(writes, ", ") or "nothing")
  if e.save or e.resume then say("result: %s", e.save or e.resume) end
  if not e.changes then say("changed: nothing outside the process") end
  return table.concat(lines, "\n") .. "\n"
end

--- What a pilot says, in a sentence.
---@param pilot table  of design.pilot
---@param metric string
---@param smallest number  percent
---@return string
function plan.pilot(pilot, metric, smallest)
  if not pilot.replicates then
    return ("%s: a difference of %g %% is out of reach: more than 100000 blocks"):format(metric,
      smallest)
  end
  return ("%s: to see a difference of %g %% takes %d blocks (%s to be safe), %d runs%s")
    :format(metric, smallest, pilot.replicates, pilot.cautious or "more than 100000", pilot.runs,
      pilot.ns and ", about " .. units.format_ns(pilot.ns) or "")
end

return plan
