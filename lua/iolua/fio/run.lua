--- Run the jobs of a plan by iolua.job: each copy in a fiber, in fio's order.
local fiber = require "iolua.fiber"
local files = require "iolua.fio.files"
local job = require "iolua.job"
local plan = require "iolua.fio.plan"

local EINVAL = 22
local run = {}

local function closing(list)
  return setmetatable(list, { __close = function(self)
    for _, f in ipairs(self) do files.close(f) end
  end })
end

-- All files of all jobs, before anything runs. files by job and copy, or nil, message, errno.
local function open_files(jobs, may, opened, made)
  local by_job = {}
  for i, one in ipairs(jobs) do
    local o = one.o
    local bytes = one.each_bytes or o.size and (o.offset or 0) + o.size
    by_job[i] = {}
    for copy, path in ipairs(one.paths) do
      local f, message, errno = files.open(path, { read = o.rw ~= "write" and
        o.rw ~= "randwrite", write = plan.writes(one), bytes = bytes, direct = o.direct,
        overwrite = may.overwrite, destroy = may.destroy, chunk = one.chunk }, made)
      if not f then return nil, message, errno end
      opened[#opened + 1], by_job[i][copy] = f, f
    end
  end
  return by_job
end

-- The options of one copy.
local function options_of(one, copy, file)
  local o = {}
  for key, value in pairs(one.o) do o[key] = value end
  o.target, o.direct = file, nil
  o.seed = o.seed + (copy - 1) * 1000003
  if one.size_percent and not o.size then
    local block = math.max(4096, math.type(o.bs) and o.bs or 4096)
    o.size = (file:size() - (o.offset or 0)) * one.size_percent // 100 // block * block
  end
  if one.cpu_list then
    o.cpus = { one.cpu_list[(copy - 1) % #one.cpu_list + 1] }
    o.cpus_allowed_policy = nil
  end
  if not o.io_size and not o.number_ios and not one.time_based then
    o.io_size = (o.size or file:size() - (o.offset or 0)) * one.loops
  end
  return o
end

-- A value of the file that the job refuses is the file's mistake, not a script's: no traceback.
local function attempt(options)
  local ok, r, message, errno = pcall(job, options)
  if ok then return r, message, errno end
  local refused = type(r) == "string" and r:match("^job: .*$")
  if not refused then error(r, 0) end
  return nil, refused, EINVAL
end

local function start(one, list)
  local fibers = {}
  for copy, file in ipairs(list) do
    fibers[copy] = fiber.spawn(function()
      if one.delay_ns and one.delay_ns > 0 then fiber.sleep(one.delay_ns) end
      if not one.keep_cache then files.drop(file) end
      return attempt(options_of(one, copy, file))
    end)
  end
  return fibers
end

-- Wait for a job's copies: its results, or nil and the first failure.
local function finish(one, fibers, results)
  if results[one] then return true end
  results[one] = {}
  for copy, t in ipairs(fibers) do
    local r, message, errno = t:join()
    if not r then return nil, ("%s, copy %d: %s"):format(one.name, copy, message), errno end
    results[one][copy] = r
  end
  return true
end

local function finish_all(jobs, upto, fibers, results)
  for i = 1, upto do
    local ok, message, errno = finish(jobs[i], fibers[i], results)
    if not ok then return nil, message, errno end
  end
  return true
end

local function wait_before(jobs, i, fibers, results)
  local one = jobs[i]
  if one.stonewall then return finish_all(jobs, i - 1, fibers, results) end
  for k = 1, one.wait_for and i - 1 or 0 do
    if jobs[k].name == one.wait_for then
      local ok, message, errno = finish(jobs[k], fibers[k], results)
      if not ok then return nil, message, errno end
    end
  end
  return true
end

-- Files made here go where the job says so, and all of them when nothing was run.
local function remove_files(jobs, made)
  for _, one in ipairs(jobs) do
    for _, path in ipairs((one.unlink or made.failed) and one.paths or {}) do
      for _, each in ipairs(type(path) == "table" and path or { path }) do
        if made[each] then os.remove(each) end
      end
    end
  end
end

--- Run all jobs.
---@param jobs table     of iolua.fio.plan
---@param may? { overwrite: boolean?, destroy: string? }
---@return { job: table, results: table[] }[]? list  in the file's order
---@return string? message
---@return integer? errno
---@async
function run.jobs(jobs, may)
  local made, opened <close> = {}, closing {}
  local _ <close> = setmetatable({}, { __close = function() remove_files(jobs, made) end })
  local by_job, message, errno = open_files(jobs, may or {}, opened, made)
  if not by_job then
    made.failed = true
    return nil, message, errno
  end
  local fibers, results = {}, {}
  local _ <close> = setmetatable({}, { __close = function()
    for _, list in pairs(fibers) do
      for _, t in ipairs(list) do t:cancel() end
    end
  end })
  for i, one in ipairs(jobs) do
    local ok, why, code = wait_before(jobs, i, fibers, results)
    if not ok then return nil, why, code end
    fibers[i] = start(one, by_job[i])
  end
  local ok, why, code = finish_all(jobs, #jobs, fibers, results)
  if not ok then return nil, why, code end
  local list = {}
  for i, one in ipairs(jobs) do list[i] = { job = one, results = results[one] } end
  return list
end

return run
