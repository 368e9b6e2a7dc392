--- iolua: everything under one name, each part loaded when it is first used.
--
-- `iolua.job` needs the module iolua.job and nothing else, so a script that only reads a file
-- starts in a few milliseconds. PARTS says which module holds a name; an entry
-- { module, field } names a field of it, a plain string is the module itself.
local PARTS = {
  -- Pure parts.
  units = "iolua.units",
  schema = "iolua.schema",
  stats = "iolua.stats",
  design = "iolua.design",
  strict = "iolua.strict",
  options = "iolua.options",
  leave = "iolua.leave",
  show = "iolua.show",
  -- Files, buffers and what was measured.
  open = "iolua.open",
  buffer = "iolua.buffer",
  -- A histogram of latencies: h = iolua.hist(); h:record(ns), h:percentile(99), h:merge(other),
  -- h:count(), h:min(), h:max(), h:mean(), h:stddev(), h:buckets(). At the prompt, `h` draws it.
  hist = { "iolua.core", "hist", "new" },
  -- now() gives ns of the monotonic clock, also where a described machine has a clock of its own.
  now = { "iolua.core", "clock", "now" },
  fs = "iolua.fs",
  device = "iolua.device",
  devices = { "iolua.device", "list" },
  -- Fibers.
  fiber = "iolua.fiber",
  spawn = { "iolua.fiber", "spawn" },
  sleep = { "iolua.fiber", "sleep" },
  timeout = { "iolua.fiber", "timeout" },
  channel = { "iolua.fiber", "channel" },
  semaphore = { "iolua.fiber", "semaphore" },
  barrier = { "iolua.fiber", "barrier" },
  wrap = { "iolua.fiber", "wrap" },
  -- Loads and where they run.
  job = "iolua.job",
  run = "iolua.run",
  sim = "iolua.sim",
  -- array(n) gives n integers, 0 at first, that hooks of all workers share: a[i], a:add(i, n), #a.
  array = { "iolua.core", "array", "new" },
  workload = "iolua.workload",
  program = "iolua.program",
  knee = "iolua.knee",
  steady = "iolua.steady",
  precondition = { "iolua.steady", "precondition" },
  sample = { "iolua.steady", "sample" },
  topo = "iolua.topo",
  cpuset = { "iolua.topo", "cpuset" },
  pin = { "iolua.topo", "pin" },
  pinned = { "iolua.topo", "pinned" },
  -- Volumes, settings, witnesses.
  volume = "iolua.volume",
  dm = "iolua.dm",
  scratch = "iolua.scratch",
  settings = "iolua.settings",
  trace = "iolua.trace",
  locality = "iolua.locality",
  memory = "iolua.memory",
  env = "iolua.env",
  machine = "iolua.machine",
  -- Experiments.
  experiment = "iolua.experiment",
  store = "iolua.store",
  report = "iolua.report",
  fio = "iolua.fio",
  doctor = "iolua.doctor",
}

local function load_part(self, name)
  local where = PARTS[name]
  if not where then return nil end
  if type(where) == "string" then where = { where } end
  local value = require(where[1])
  for i = 2, #where do value = value[where[i]] end
  rawset(self, name, value)
  return value
end

local iolua = setmetatable({}, {
  __index = load_part,
  -- For completion at the prompt: the names that can be used, loaded or not.
  __parts = PARTS,
})

return iolua
