-- Question: do two adapters beat one, for a stripe or a mirror over two members?
-- Needs:    nothing (scratch members, all on one adapter: then only CPUs are compared), or --devices,
--           two on one adapter and one on another; --write DEVICE names may lose their data.
--           Takes: under a minute; --runtime 20s --replicates 8 for a finding.
-- Shows:    first the ceiling: can two members fill one adapter at all? Then a row a case, stripe
--           and mirror, one CPU allowed or two, loads as in 1999, and a verdict for each.
local iolua = require "iolua"
local members = require "stripe.members"

local opt = iolua.options {
  "Do two adapters beat one, for a stripe or a mirror over two members?",
  devices = { type = "path", list = true, help = "members; read only unless --write" },
  write = { type = "boolean", default = false, help = "write to them too: their data is lost" },
  runtime = { type = "duration", default = "200ms", help = "time measured in each run" },
  ramp = { type = "duration", default = "20ms", help = "time before it, not counted" },
  replicates = { type = "integer", default = 3, min = 2, help = "runs of each case" },
  bs = { type = "size", default = "64k", min = 4096, help = "bytes a transfer, and the chunk" },
  size = { type = "size", default = "64m", help = "of a scratch member" },
  seed = { type = "integer", default = 1, min = 0, help = "of the order and the places" },
  experiment = true,
}

local function fail(message) iolua.leave(1, message) end
local say = iolua.options.say(opt)

local described = package.loaded["iolua.machine"] and package.loaded["iolua.machine"].current()
local given = opt.devices or described and described.paths
local disks, message
if not given and not opt.plan then
  disks, message = iolua.scratch.disks { count = 2, size = opt.size }
  if not disks then fail(message) end
end

local list
local _ <close> = setmetatable({}, { __close = function()
  for _, m in ipairs(list or {}) do
    if m.writer then m.writer:close() end
  end
  members.close(list or {})
  if disks then disks:close() end
end })
if given or disks then
  list, message = members.open(given or disks)
  if not list then fail(message) end
else                                            -- a plan makes none
  list = { { path = "scratch disk 1", how = "file" }, { path = "scratch disk 2", how = "file" } }
end

-- Scratch members share the disk that holds them, whatever their loop devices are called.
local scratch = not given
if scratch then
  for _, m in ipairs(list) do m.place = "one disk" end
end
local writes = list[1].simulated or scratch or opt.write

-- What jobs use: simulated devices and scratch files as they are, others opened again to write.
for _, m in ipairs(list) do
  m.target = m.file
  if writes and not m.simulated and type(m.device) == "string" then
    members.close { m }
    m.opened = false
    m.writer, message = iolua.open(m.path, { write = true, direct = true,
      destroy = opt.write and m.path or nil })
    if not m.writer then fail(message) end
    m.target = m.writer
  end
end

-- Two on one adapter, and one of them with one on another.
local function pairs_of()
  local first, same, apart
  for i, a in ipairs(list) do
    for k = i + 1, #list do
      local b = list[k]
      if a.place == b.place and not same then first, same = a, b end
    end
  end
  first = first or list[1]
  for _, m in ipairs(list) do
    if m.place ~= first.place then apart = apart or m end
  end
  return first, same, apart
end

if #list < 2 then fail("two members are needed") end
local first, same, apart = pairs_of()
local by_adapters = { same and { first.target, same.target } or false,
                      apart and { first.target, apart.target } or false }

local function job(target, load, cpus, seed, numjobs)
  local random = load == "seeks"
  return iolua.job { target = target, rw = random and "randread" or load, numjobs = numjobs or 1,
    bs = random and 4096 or opt.bs, iodepth = random and 3 or 4, cpus = cpus, seed = seed,
    runtime = opt.runtime, ramp_time = opt.ramp }
end

local function side(r) return r.read or r.write end

-- Each alone, then pairs at once: who limits whom?
local function ceiling()
  local function rate(targets)
    local r, why = job(targets, "read", nil, opt.seed, #targets)
    if not r then fail(why) end
    return side(r).bytes_per_s
  end
  local a = rate { first.target }
  say("%8s %-24s alone %s", "ceiling", first.path, iolua.units.format_rate(a))
  if not same then return end
  local b, both = rate { same.target }, rate { first.target, same.target }
  say("%8s %-24s alone %s, both at once on one adapter %s: %.0f %% of the sum", "", same.path,
    iolua.units.format_rate(b), iolua.units.format_rate(both), 100 * both / (a + b))
  if apart then
    say("%8s %-24s with the first, on two adapters %s", "", apart.path,
      iolua.units.format_rate(rate { first.target, apart.target }))
  end
  return both >= 0.95 * (a + b) and "two members do not fill one adapter here" or nil
end

say("adapter scaling: do two adapters beat one?")
say("%s", members.text(list))
if scratch then
  say("%8s scratch members share one disk and its adapter: good for a try, not for findings", "note")
end
local levels = {}
if by_adapters[1] then levels[#levels + 1] = 1 else say("no two members are on one adapter") end
if by_adapters[2] then levels[#levels + 1] = 2 else
  say("%8s all members are on one adapter: only CPUs are compared", "note")
end
local limit = not opt.plan and ceiling() or nil

local topo <close> = assert(iolua.topo(described and described.topology or nil))
local cpus = {}
for cpu in topo:cpus():each() do cpus[#cpus + 1] = cpu end
local cpu_levels = #cpus > 1 and { 1, 2 } or { 1 }

local loads = { "read", "seeks" }
if writes then table.insert(loads, 1, "write") end

local function volume(case)
  local make = case.raid == "stripe" and iolua.volume.stripe or iolua.volume.mirror
  return make { members = by_adapters[case.adapters], backend = "user", write = writes or nil,
    chunk = case.raid == "stripe" and opt.bs or nil }
end

local gates = list[1].simulated and { steal_percent = false, throttled = false,
  memory_pressure_percent = false } or {}

local result = iolua.experiment {
  name = "adapter-scaling", question = "Do two adapters beat one?", options = opt, gates = gates,
  factors = { raid = { "stripe", "mirror" }, adapters = levels, cpus = cpu_levels, load = loads },
  order = { "load", "raid", "adapters", "cpus" }, replicates = opt.replicates, seed = opt.seed,
  metrics = { "MB_per_s", "us" }, run_time = opt.runtime + opt.ramp,
  writes = writes and (scratch and "scratch members of its own" or given) or nil,
  setup = function(case) return assert(volume(case)) end,
  measure = function(case, v, run)
    local r, why = job(v, case.load, { table.unpack(cpus, 1, case.cpus) }, run.seed)
    if not r then return nil, why end
    return { MB_per_s = side(r).bytes_per_s / 1e6, us = side(r).lat:mean() / 1e3 },
      iolua.experiment.evidence(r)
  end,
}

if opt.plan then return end
assert(result:report(opt, {}))

-- A verdict of one factor for each load and raid level.
local function verdicts(factor, why)
  for _, load in ipairs(loads) do
    for _, raid in ipairs { "stripe", "mirror" } do
      local ok, c = pcall(result.compare, result, { factor = factor, metric = "MB_per_s",
        within = { load = load, raid = raid }, ceiling = why })
      say("%s, %s: %s", load, raid, ok and c.sentence or tostring(c))
    end
  end
end
if #levels == 2 then verdicts("adapters", limit) end
if #cpu_levels == 2 then verdicts("cpus") end
if result:nothing() then fail(result:nothing()) end
