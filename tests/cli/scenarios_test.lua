-- Every scenario as a user starts it: as root and as nobody, on this machine and on described
-- ones. With FULL=1 without arguments, as a newcomer does; else the smallest run of each.
local t = require "check"
local scenarios = require "scenarios"

if not os.getenv("IOLUA"):find("/release/", 1, true) then
  print("0 passed, 0 failed, 0 skipped")    -- what scenarios are made of has tests of its own
  os.exit(0)
end

local full = (os.getenv("FULL") or "") ~= ""
scenarios.cases(full and {} or scenarios.SMALL, full and 120 or 60)

-- The same rows in less time.
local SHORT = {
  adapter_scaling = " --runtime 50ms --replicates 2",
  affinity_matrix = " --runtime 20ms --ramp 5ms --replicates 2",
  stripe_sweep = " --runtime 50ms --ramp 5ms --replicates 2 --widths 1,2",
}

-- A row's times of day differ; nothing else may.
local function rows(name, machine, folder)
  local output, status = scenarios.run(name, "--csv -" .. (full and "" or SHORT[name] or ""),
    { folder = folder, machine = machine })
  return output:gsub("%d%d%d%d%-%d%d%-[%dT:]+Z", ""), status
end

-- What does not run on a described machine says so itself.
local REFUSALS = {
  "a described machine has no device-mapper",               -- bitmap_chunk
  "has no scratch disks: jobs on its devices run there, and nothing else",
}

local function refused(output)
  for _, text in ipairs(REFUSALS) do
    if output:find(text, 1, true) then return true end
  end
  return false
end

-- These have no rows: they are loads by fibers, or print a tree.
local NO_ROWS = { copy = "", hello = "", log_writer = "", pointer_chase = "", topology = "" }

-- These are of jobs on devices, or of a topology, and run on every machine.
local RUN = { adapter_scaling = true, affinity_matrix = true, stripe_sweep = true, topology = true }

local folder = scenarios.folder()
for _, name in ipairs(scenarios.list()) do
  for _, machine in ipairs(scenarios.machines()) do
    t.case(("%s on %s: the same rows twice, or why not"):format(name, machine), function()
      local first, status
      if NO_ROWS[name] then
        first, status = scenarios.run(name, "", { folder = folder, machine = machine })
      else
        first, status = rows(name, machine, folder)
      end
      t.equal(refused(first), not RUN[name], first)
      if refused(first) then return end
      t.equal(status, 0, first)
      t.ok(#first > 100, first)
      local second = NO_ROWS[name] and scenarios.run(name, "", { folder = folder,
        machine = machine }) or rows(name, machine, folder)
      t.equal(second, first)
    end)
  end
end
t.run("rm -rf " .. folder)
t.done()
