--- Jobs: the C loop. A table says what to do; the result says what happened.
--
-- `iolua.job { target = f, rw = "randread", bs = "4k", iodepth = 32, runtime = "5s" }`. Workers
-- are threads of the core; the fiber that asked waits while other fibers run.
local core = require "iolua.core"
local fiber = require "iolua.fiber"
local open = require "iolua.open"
local OPTIONS = require "iolua.job.options"
local plan = require "iolua.job.plan"
local result = require "iolua.job.result"
local schema = require "iolua.schema"

local job = {}

local function misuse(level, text, ...)
  error(("job: " .. text):format(...), level + 1)
end

-- A list of CPU numbers from anything that names CPUs, and whether they are of a topology
-- that is not this machine.
local function cpu_list(cpus, level)
  if cpus == nil then return nil end
  local ok, set = pcall(core.cpuset.new, cpus)
  if not ok then
    misuse(level + 1, "cpus: %s", tostring(set):match("^bad argument .- %((.*)%)$") or set)
  end
  return set:list(), set:foreign()
end

local function writes(o)
  return o.rw:find("write") ~= nil or o.rw:find("rw$") ~= nil
end

-- Targets of the options as a list: what was open already, and what is opened here from paths.
local function open_targets(o, opened)
  local given, targets = o.target, {}
  if type(given) ~= "table" or getmetatable(given) then given = { given } end
  for i, target in ipairs(given) do
    if type(target) == "string" then
      local f, message, errno = open(target, { write = writes(o), direct = o.direct or false,
        overwrite = writes(o) and o.overwrite or nil, destroy = writes(o) and o.destroy or nil })
      if not f then return nil, message, errno end
      opened[#opened + 1] = f
      target = f
    end
    targets[i] = target
  end
  return targets
end

local function check_targets(o, targets, level)
  if #targets == 0 and o.rw ~= "nop" then misuse(level + 1, "rw = %q needs a target", o.rw) end
  local simulated = 0
  for i, target in ipairs(targets) do
    local class = getmetatable(target)
    if type(target) ~= "userdata" and not (class and target.size) then
      misuse(level + 1, "target %d is a %s, not a file, a path or a device", i, type(target))
    end
    simulated = simulated + (type(target) == "table" and target.simulated and 1 or 0)
  end
  if simulated > 0 and simulated < #targets then
    misuse(level + 1, "simulated and real targets cannot be mixed in one job")
  end
  if o.foreign and simulated == 0 then
    misuse(level + 1, "cpus = %s are of a topology that is not this machine", tostring(o.cpus))
  end
end

local function check_options(options, level)
  local o = schema.check(OPTIONS, options, level + 1, "job")
  if o.engine == "sync" and o.iodepth > 1 then
    misuse(level + 1, "engine = \"sync\" does one operation at a time: iodepth = %d must be 1",
      o.iodepth)
  end
  if o.fsync > 0 and o.fdatasync > 0 then
    misuse(level + 1, "fsync and fdatasync exclude each other")
  end
  if o.batch and o.batch > o.iodepth then
    misuse(level + 1, "batch = %d is more than iodepth = %d", o.batch, o.iodepth)
  end
  if o.ring.sq_cpu and not o.ring.sqpoll then
    misuse(level + 1, "ring.sq_cpu needs sqpoll = true")
  end
  if o.rw == "nop" and not (o.runtime or o.number_ios) then
    misuse(level + 1, "rw = \"nop\" needs a runtime or number_ios")
  end
  o.seed = o.seed or math.random(0) & 0x7fffffffffffffff
  o.cpu_list, o.foreign = cpu_list(o.cpus, level + 1)
  return o
end

-- Engine, notes and what was registered, from the first worker that has them.
local function describe(r, crew, o)
  local engine, note, fixed_file, fixed_buffers, depth = crew:rig(1)
  r.engine, r.seed = engine, o.seed
  r.note = note ~= "" and note or nil
  r.registered = { file = fixed_file, buffers = fixed_buffers }
  if depth ~= o.iodepth then r.iodepth_limited = depth end
  r.simulated = engine == "sim" or nil
end

local function workers_of(crew, n)
  local list = {}
  for i = 1, n do list[i] = result.of(crew:result(i)) end
  return list
end

-- The sentence of the first failed operation: "read /path at 4096: Input/output error".
local function first_error(r, targets)
  local e = r.error
  e.message = ("%s %s at %d: %s"):format(e.operation, targets[1] and targets[1]:path() or "nop",
    e.offset, e.reason)
  return e
end

-- Punts are counted for the whole process, by one counter that stays open.
local punts
local function punt_counter()
  if punts == nil then
    local events = core.events
    punts = events and events.punts and events.punts() or false
  end
  return punts or nil
end

-- What a finished crew measured, or why nothing.
local function collect(crew, o, targets)
  local joined, message, errno = crew:join()
  local raw = crew:result()
  if not raw then return nil, "job: " .. message, errno end
  local r = result.of(raw)
  describe(r, crew, o)
  r.workers = workers_of(crew, o.numjobs)
  if not joined then return nil, "job: " .. message, errno, r end
  if r.error then
    core.run.mark_errors()
    local e = first_error(r, targets)
    if not o.continue_on_error then return nil, e.message, e.errno, r end
  end
  if result.ios(r) == 0 and result.errors(r) == 0 then
    return nil, "job: nothing completed", 62, r
  end
  return r
end

local function run(o, targets)
  local workers, message, errno, uncovered = plan.workers(o, targets)
  if not workers then return nil, message, errno end
  local counter = punt_counter()
  local before = counter and counter:read()
  local crew <close>, failed, code = core.job.start(workers)
  if not crew then return nil, failed, code end
  fiber.wait_readable(crew:fd())
  local r, why, number, partial = collect(crew, o, targets)
  local told = r or partial
  if told then
    told.uncovered_bytes = uncovered > 0 and uncovered or nil
    told.punts = before and counter:read() - before
  end
  return r, why, number, partial
end

local function close_all(opened)
  for _, f in ipairs(opened) do f:close() end
end

--- Run a job and wait for it.
---
--- Misuse raises. A failed operation ends the job unless continue_on_error: then nil, the
--- sentence, errno and the partial result come back.
---@param options table  see iolua.job.options
---@return table? result
---@return string? message
---@return integer? errno
---@return table? partial  what was measured before a failure
---@async
function job.run(options)
  local o = check_options(options, 2)
  local opened <close> = setmetatable({}, { __close = close_all })
  local targets, message, errno = open_targets(o, opened)
  if not targets then return nil, message, errno end
  check_targets(o, targets, 2)
  return run(o, targets)
end

return setmetatable(job, { __call = function(_, options) return job.run(options) end })
