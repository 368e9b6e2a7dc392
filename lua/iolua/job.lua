--- Jobs: the C loop. A table says what to do; the result says what happened.
--
-- `iolua.job { target = f, rw = "randread", bs = "4k", iodepth = 32, runtime = "5s" }`. Workers
-- are threads of the core; the fiber that asked waits while other fibers run.
local buffered = require "iolua.job.buffered"
local check = require "iolua.job.check"
local checks = require "iolua.job.checks"
local collect = require "iolua.job.collect"
local core = require "iolua.core"
local fiber = require "iolua.fiber"
local open = require "iolua.open"
local plan = require "iolua.job.plan"
local verify = require "iolua.job.verify"
local volumes = require "iolua.job.volumes"
local watch = require "iolua.job.watch"

local job = {
  --- How many jobs have run on simulated devices so far: what came of them is marked by it.
  simulated = 0,
}

local function open_options(o)
  local writes = check.writes(o)
  return { write = writes, direct = o.direct or false, overwrite = writes and o.overwrite or nil,
    destroy = writes and o.destroy or nil }
end

-- Targets of the options as a list: what was open already, and what is opened here from paths.
local function open_targets(o, opened, level)
  local given, targets = o.target, {}
  if type(given) ~= "table" or getmetatable(given) then given = { given } end
  check.given(o, given, level + 1)
  for i, target in ipairs(given) do
    if type(target) == "string" then
      local f, message, errno = open(target, open_options(o))
      if not f then return nil, message, errno end
      opened[#opened + 1] = f
      target = f
    end
    local handle, message, errno = volumes.handle(target)
    if not handle then return nil, message, errno end
    targets[i] = handle
  end
  return targets
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

-- The workers of other options on the same targets.
local function plan_of(options, targets)
  return plan.workers(check.options(options, 2), targets)
end

-- Wait for the workers. A ^C raises, but for a job that was typed: it ends, and the word for it
-- comes back. The next wait raises all the same.
local function wait(crew, o)
  local typed = o.typed and not core.run.interrupted()
  local ok, err = pcall(function()
    if o.on_interval then
      watch.wait(crew, o)
    else
      fiber.wait_readable(crew:fd())
    end
  end)
  if ok then return nil end
  local word = typed and core.run.interrupted()
  if not word then error(err, 0) end
  crew:stop()
  return word
end

local function run(o, targets)
  local workers, message, errno, uncovered = plan.workers(o, targets)
  if not workers then return nil, message, errno end
  local claim <close>, taken, busy = verify.claim(o, targets, workers)
  if not claim then return nil, taken, busy end
  local ok, unfit, why_errno = verify.prepare(o, targets, workers, plan_of)
  if not ok then return nil, unfit, why_errno end
  local bound <close>, unbound, bound_errno = buffered.bound(o.memory)
  if bound == nil then return nil, unbound, bound_errno end
  local cached, undropped, errno_of = buffered.watch(targets, o.drop_cache)
  if cached == nil then return nil, undropped, errno_of end
  local counter = punt_counter()
  local before = counter and counter:read()
  local counters = not o.rw:find("trim") and checks.counters(targets) or nil
  local kernel = checks.kernel_bytes(counters)
  local crew <close>, failed, code = core.job.start(workers)
  if not crew then return nil, failed, code end
  local interrupted = wait(crew, o)
  local r, why, number, partial = collect.result(crew, o, targets, core.run.mark_errors)
  local told = r or partial
  if told then
    told.interrupted = interrupted
    job.simulated = job.simulated + (told.simulated and 1 or 0)
    local _, moved = crew:progress()
    checks.diskstats(told, moved, kernel, checks.kernel_bytes(counters))
    told.uncovered_bytes = uncovered > 0 and uncovered or nil
    told.punts = before and counter:read() - before
    told.buffered = cached and buffered.told(cached, told, moved) or nil
  end
  if interrupted and told and not told.error then return told end
  if not o.verify then return r, why, number, partial end
  return verify.finish(o, targets, workers, r, why, number, partial)
end

local function close_all(opened)
  for _, f in ipairs(opened) do f:close() end
end

-- Was the call typed at the prompt, with nothing of iolua's own between? What a user has in
-- hand is then worth having in part; a function that measures would take it for the whole.
local function typed()
  local repl = package.loaded["iolua.repl"]
  for level = 3, repl and math.maxinteger or 0 do
    local frame = debug.getinfo(level, "Sf")
    if not frame or frame.func == repl.run then return frame ~= nil end
    if frame.what ~= "C" and frame.source ~= "=stdin" then return false end
  end
  return false
end

--- Run a job and wait for it.
---
--- Misuse raises. A failed operation ends the job unless continue_on_error: then nil, the
--- sentence, errno and the partial result come back. ^C raises; of a job typed at the prompt it
--- gives what was measured until then, with `interrupted` set.
---@param options table  see iolua.job.options
---@return table? result
---@return string? message
---@return integer? errno
---@return table? partial  what was measured before a failure
---@async
function job.run(options)
  local o = check.options(options, 2)
  o.typed = typed()
  local opened <close> = setmetatable({}, { __close = close_all })
  local targets, message, errno = open_targets(o, opened, 2)
  if not targets then return nil, message, errno end
  check.targets(o, targets, 2)
  local machine = package.loaded["iolua.machine"]
  if machine then return volumes.watch(o.target)(machine.job(run, o, targets)) end
  return volumes.watch(o.target)(run(o, targets))
end

return setmetatable(job, { __call = function(_, options) return job.run(options) end })
