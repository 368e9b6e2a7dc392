--- From the options of a job, as the script wrote them, to checked ones.
local OPTIONS = require "iolua.job.options"
local core = require "iolua.core"
local schema = require "iolua.schema"

local check = {}

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

-- What excludes what: { holds, message ... }.
local function conflicts(o)
  local random, paced = o.rw:find("^rand") ~= nil, (o.rate or o.rate_iops) ~= nil
  local kind = o.distribution and o.distribution:match("^%a+")
  local trims = o.rw:find("trim") ~= nil
  local ordered = kind == "sequential" or kind == "stride"
  return {
    { o.engine == "sync" and o.iodepth > 1,
      "engine = \"sync\" does one operation at a time: iodepth = %d must be 1", o.iodepth },
    { o.engine == "mmap" and o.iodepth > 1,
      "engine = \"mmap\" does one operation at a time: iodepth = %d must be 1", o.iodepth },
    { o.engine == "mmap" and o.rw ~= "read" and o.rw ~= "randread",
      "engine = \"mmap\" reads: not rw = %q", o.rw },
    { o.fsync > 0 and o.fdatasync > 0, "fsync and fdatasync exclude each other" },
    { o.batch and o.batch > o.iodepth, "batch = %s is more than iodepth = %d",
      o.batch, o.iodepth },
    { o.ring.sq_cpu and not o.ring.sqpoll, "ring.sq_cpu needs sqpoll = true" },
    { o.rw == "nop" and not (o.runtime or o.number_ios),
      "rw = \"nop\" needs a runtime or number_ios" },
    { o.rate and o.rate_iops, "rate and rate_iops exclude each other" },
    { o.arrival == "poisson" and not paced, "arrival = \"poisson\" needs a rate or rate_iops" },
    { o.backlog and not paced, "backlog needs a rate or rate_iops" },
    { paced and o.batch, "batch has no meaning under a rate" },
    { o.rate and o.rw == "nop", "rw = \"nop\" moves no bytes: use rate_iops" },
    { kind and not random and not ordered, "distribution = %q needs a random rw, not %q",
      o.distribution, o.rw },
    { kind and o.norepeat, "distribution and norepeat exclude each other" },
    { o.scatter ~= nil and not kind, "scatter needs a distribution" },
    { o.norepeat and random and o.sizes.mix, "norepeat needs operations of one size" },
    { o.next and o.rw == "nop", "rw = \"nop\" has no operations to choose" },
    { o.next and (kind or o.sizes.mix), "next chooses places and sizes itself" },
    { o.next and o.thinktime, "next says itself how long to think: not with thinktime" },
    { o.thinktime_blocks and not o.thinktime, "thinktime_blocks needs thinktime" },
    { o.thinktime and o.batch, "batch has no meaning with thinktime" },
    { o.bs_max and not o.next, "bs_max needs next" },
    { o.verify and o.rw == "nop", "rw = \"nop\" has no data to verify" },
    { o.verify and o.next, "verify needs places of the job's own: not next" },
    { (o.ledger or o.replay) and not o.verify, "%s needs verify = true",
      o.ledger and "ledger" or "replay" },
    { o.ledger and o.replay, "ledger and replay exclude each other" },
    { trims and (o.verify or o.next), "rw = %q has no %s", o.rw, o.verify and "data to verify"
      or "operations to choose" },
    { trims and o.engine ~= "auto" and o.engine ~= "sync" and o.engine ~= "threads",
      "engine = %q does not discard: \"sync\" and \"threads\" do", o.engine },
    { o.on_interval and not o.interval, "on_interval needs an interval" },
  }
end

-- next and on_complete as bytes for the workers' states.
local function hook(o, level)
  if not o.next and not o.on_complete then return nil end
  local functions = { next = o.next, on_complete = o.on_complete }
  local ok, code, arrays = pcall(require("iolua.travel").pack, functions)
  if not ok then misuse(level + 1, "%s", code) end
  return { code = code, arrays = arrays }
end

--- Checked options: sizes and durations as integers, `sizes` and `bs` apart, a seed, a list of
--- CPUs. Raises on misuse.
---@param options table
---@param level integer  whose fault it is, as in error()
---@return table o
function check.options(options, level)
  local o = schema.check(OPTIONS, options, level + 1, "job")
  o.sizes, o.bs = o.bs, o.bs.bytes
  for _, c in ipairs(conflicts(o)) do
    if c[1] then misuse(level + 1, table.unpack(c, 2)) end
  end
  o.hook = hook(o, level + 1)
  o.seed = o.seed or math.random(0) & 0x7fffffffffffffff
  o.cpu_list, o.foreign = cpu_list(o.cpus, level + 1)
  return o
end

-- A file, volume or simulated device: those have a path or a backend, buffers have neither.
local function is_target(value)
  local kind = type(value)
  return (kind == "userdata" or kind == "table" and getmetatable(value)) and value.size
    and (value.path or value.backend) and true or false
end

--- Is there something to run on, each a thing that can be opened or is?
---@param o table  checked options
---@param targets any[]  as given
---@param level integer
function check.given(o, targets, level)
  for i, target in pairs(targets) do
    if math.type(i) ~= "integer" then
      misuse(level + 1, "target: a list has no entry %q", tostring(i))
    end
    if type(target) ~= "string" and not is_target(target) then
      misuse(level + 1, "target %d is %s, not a file, a path or a device", i,
        type(target) == "userdata" and tostring(target) or "a " .. type(target))
    end
    if type(target) == "userdata" and not pcall(target.size, target) then
      misuse(level + 1, "target %d is closed", i)
    end
  end
  if #targets == 0 and o.rw ~= "nop" then misuse(level + 1, "rw = %q needs a target", o.rw) end
end

local function any_buffered(targets)
  for _, target in ipairs(targets) do
    if require("iolua.job.buffered").is(target) then return true end
  end
  return false
end

--- Can a job run on these targets together?
---@param o table  checked options
---@param targets table  opened
---@param level integer
function check.targets(o, targets, level)
  local simulated = 0
  for _, target in ipairs(targets) do
    simulated = simulated + (type(target) == "table" and target.simulated and 1 or 0)
  end
  if simulated > 0 and simulated < #targets then
    misuse(level + 1, "simulated and real targets cannot be mixed in one job")
  end
  if simulated > 0 and o.rw == "nop" then
    misuse(level + 1, "rw = \"nop\" is of the engine alone: not for simulated devices")
  end
  if o.engine == "sim" and simulated == 0 then
    misuse(level + 1, "engine = \"sim\" needs a simulated target: iolua.sim.device")
  end
  if simulated > 0 and o.engine ~= "sim" and o.engine ~= "auto" then
    misuse(level + 1, "engine = %q cannot do a simulated device", o.engine)
  end
  for _, target in ipairs(o.rw:find("trim") and targets or {}) do
    if type(target) ~= "userdata" then
      misuse(level + 1, "rw = %q needs a file or a device: a volume in user space and a simulated "
        .. "device discard nothing", o.rw)
    end
  end
  for _, target in ipairs(o.engine == "mmap" and targets or {}) do
    if type(target) ~= "userdata" or target:direct() then
      misuse(level + 1, "engine = \"mmap\" goes through the page cache: a file or device "
        .. "that is not opened with direct")
    end
  end
  if o.memory and not any_buffered(targets) then
    misuse(level + 1, "memory bounds the page cache: no target goes through it")
  end
  if o.foreign and simulated == 0 then
    misuse(level + 1, "cpus = %s are of a topology that is not this machine", tostring(o.cpus))
  end
end

--- Does the job write?
function check.writes(o)
  return o.rw:find("trim") ~= nil or o.rw:find("write") ~= nil or o.rw:find("rw$") ~= nil
end

return check
