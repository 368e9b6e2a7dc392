--- What a finished crew measured, as the result of the job.
local checks = require "iolua.job.checks"
local result = require "iolua.job.result"
local watch = require "iolua.job.watch"

local collect = {}

local ECANCELED = 125             -- what a failed hook leaves

-- Engine, notes and what was registered, from the first worker that has them.
local function describe(r, crew, o)
  local engine, note, fixed_file, fixed_buffers, depth, vectors = crew:rig(1)
  r.engine, r.seed = engine, o.seed
  r.note = note ~= "" and note or nil
  r.registered = { file = fixed_file, buffers = fixed_buffers, vectors = vectors }
  if depth ~= o.iodepth then r.iodepth_limited = depth end
  r.simulated = engine == "sim" or nil
end

local function workers_of(crew, n)
  local list = {}
  for i = 1, n do
    list[i] = result.of(crew:result(i))
    result.add_pace(list[i], crew:paced(i))
  end
  return list
end

-- The sentence of the first failed operation: "read /path at 4096: Input/output error".
-- Its target is that of the first worker that met one; it may be closed by now.
local function first_error(r, targets)
  local e, target = r.error, nil
  for i, worker in ipairs(r.workers) do
    if worker.error then
      e, target = worker.error, targets[(i - 1) % math.max(1, #targets) + 1]
      break
    end
  end
  local ok, path = pcall(function() return target and target:path() or "nop" end)
  e.message = ("%s %s at %d: %s"):format(e.operation, ok and path or "a closed file", e.offset,
    e.reason)
  r.error = e
  return e
end

--- The result, or why there is none: nil, message, errno and what was measured all the same.
---@param crew table  joined here
---@param o table     checked options
---@param targets table
---@param mark fun()  called when operations failed
function collect.result(crew, o, targets, mark)
  local joined, message, errno = crew:join()
  if errno == ECANCELED and o.hook then error("job: " .. message, 0) end
  local raw = crew:result()
  if not raw then return nil, "job: " .. message, errno end
  local r = result.of(raw)
  describe(r, crew, o)
  r.workers = workers_of(crew, o.numjobs)
  result.add_pace(r, crew:paced(), r.workers)
  r.intervals = o.interval and watch.intervals(crew) or nil
  if o.rw:find("trim") then
    result.trimmed(r)
    for _, list in ipairs { r.workers, r.intervals } do
      for _, part in ipairs(list) do result.trimmed(part) end
    end
  end
  r.checks = checks.little(r)
  if not joined then return nil, "job: " .. message, errno, r end
  if r.error then
    mark()
    local e = first_error(r, targets)
    if not o.continue_on_error then return nil, e.message, e.errno, r end
  end
  if result.ios(r) == 0 and result.errors(r) == 0 then
    return nil, "job: nothing completed", 62, r
  end
  return r
end

return collect
