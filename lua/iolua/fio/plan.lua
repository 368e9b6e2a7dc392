--- From the sections of a job file to what is run: jobs, their copies, files, and who waits.
local nearest = require "iolua.nearest"
local options = require "iolua.fio.options"

local plan = {}

-- What fio takes where a job file is silent.
local function new_job(section)
  return { name = section.name, clones = 1, loops = 1, kb_base = 1024, ring = {},
    o = { rw = "read", bs = 4096, direct = false, engine = "sync" } }
end

-- kb_base changes how the options before it are read.
local function find_base(job, list)
  for _, option in ipairs(list) do
    if option.key == "kb_base" then options.SUPPORTED.kb_base(job, option.value) end
  end
end

-- What a mistyped option was to be. fio has longer and shorter names of its own kind (thinktime,
-- thinktime_spin), so only what has about the same length is a slip.
local function slip(key)
  local near = nearest.find(key, nearest.keys(options.SUPPORTED))
  if not near or #near < 5 or math.abs(#near - #key) > 1 then return "" end
  return ("; did you mean %s?"):format(near)
end

-- Options into the job; those that cannot be had into `refused`.
local function translate(job, list, refused)
  find_base(job, list)
  for _, option in ipairs(list) do
    local run = options.SUPPORTED[option.key]
    local why = run and run(job, option.value, option)
    if not run and not options.IGNORED[option.key] then
      why = "not supported" .. slip(option.key)
    end
    if why then
      refused[#refused + 1] = { job = job.name, key = option.key, value = option.value,
        line = option.line, path = option.path, why = why }
    end
  end
end

local function in_folder(job, name)
  if name:sub(1, 1) == "/" or not job.directory then return name end
  return job.directory .. "/" .. name
end

-- The path of copy `copy` (from 0), or a list of several.
local function path_of(job, copy)
  local names = job.files or { ("%s.%d.0"):format(job.name, copy) }
  if #names == 1 then return in_folder(job, names[1]) end
  local list = {}
  for i, name in ipairs(names) do list[i] = in_folder(job, name) end
  return list
end

local function refuse(refused, job, key, why)
  refused[#refused + 1] = { job = job.name, key = key, why = why }
end

-- Several files: fio visits them in turn, block by block, or one after the other. Both are a
-- volume over them; a size is of all together.
local function finish_files(job, refused)
  local n, o = #job.files, job.o
  if type(o.bs) ~= "number" or o.bs % 512 ~= 0 then
    return refuse(refused, job, "filename", "several files need one block size, of whole sectors")
  end
  if o.offset and o.offset > 0 then
    return refuse(refused, job, "offset", "not with several files")
  end
  job.chunk = job.service ~= "sequential" and o.bs or nil
  if o.size then
    local each = o.size // n // o.bs * o.bs
    if each == 0 then return refuse(refused, job, "size", "less than a block of each file") end
    job.each_bytes, o.size = each, each * n
  end
end

-- What the region, the time and the loops mean together.
local function finish_length(job, refused)
  local o = job.o
  if job.time_based and not o.runtime then refuse(refused, job, "time_based", "needs runtime") end
  if job.size_percent == 100 then job.size_percent = nil end
  if not job.time_based and not o.io_size and not o.number_ios and o.size then
    o.io_size = o.size * job.loops
  elseif job.loops > 1 and not job.time_based then
    if not o.size then refuse(refused, job, "loops", "needs size") end
  end
end

-- Random places visit each block once unless told otherwise; not where places are hot or
-- sizes are mixed.
local function finish_places(job)
  local o = job.o
  local random = o.rw:find("^rand") ~= nil
  if not random then o.norepeat = nil
  elseif o.distribution or type(o.bs) ~= "number" then o.norepeat = nil
  elseif o.norepeat == nil then o.norepeat = true end
  if o.engine == "sync" and (o.iodepth or 1) > 1 then
    job.notes[#job.notes + 1] = ("iodepth=%d has no effect with this ioengine"):format(o.iodepth)
    o.iodepth = 1
  end
  if not o.rw:find("rw$") then o.rwmixread = nil end
end

local CPUS_MAX = 65536

-- "0,2-4" as a list; nil where it names more CPUs than any machine has, or none.
local function cpu_list(text)
  local list = {}
  for first, last in text:gmatch("(%d+)%-?(%d*)") do
    local from, to = tonumber(first), tonumber(last) or tonumber(first)
    if to >= CPUS_MAX then return nil end
    for cpu = from, to do list[#list + 1] = cpu end
  end
  return #list > 0 and #list <= CPUS_MAX and list or nil
end

-- Split: each copy has a CPU of its own.
local function splits(job)
  return job.o.cpus and job.o.cpus_allowed_policy == "split" and job.clones > 1
end

-- What a job has written is read back and checked at its end. What another run has written
-- cannot be: its stamps are not known here.
local function finish_verify(job, refused)
  local o = job.o
  if not o.verify then return end
  if not plan.writes(job) or o.rw:find("trim") then
    return refuse(refused, job, "verify", "of a job that does not write is not to be had")
  end
  o.do_verify = job.do_verify
  job.notes[#job.notes + 1] = "verify: blocks have iolua's stamps and sums, which fio does not know"
end

local function finish(job, refused, known)
  job.notes = {}
  finish_verify(job, refused)
  if job.files and #job.files > 1 then finish_files(job, refused) end
  finish_length(job, refused)
  finish_places(job)
  if job.o.thinktime == 0 then job.o.thinktime = nil end
  if not job.o.thinktime or job.o.thinktime_blocks == 0 then job.o.thinktime_blocks = nil end
  if splits(job) then
    job.cpu_list = cpu_list(job.o.cpus)
    if not job.cpu_list then refuse(refused, job, "cpus_allowed", "is no list of CPUs") end
  end
  if next(job.ring) then job.o.ring = job.ring end
  for _, key in ipairs(options.unknown(job.o, known)) do
    refuse(refused, job, key, "not supported")
  end
  job.paths = {}
  for copy = 0, job.clones - 1 do job.paths[copy + 1] = path_of(job, copy) end
end

-- Groups of reports: a new one at each stonewall or new_group; jobs in group_reporting share.
local function group(jobs)
  local n = 0
  for i, job in ipairs(jobs) do
    if i == 1 or job.stonewall or job.new_group then n = n + 1 end
    job.group = n
  end
end

local function check_waits(jobs, refused)
  local seen = {}
  for _, job in ipairs(jobs) do
    if job.wait_for and not seen[job.wait_for] then
      refuse(refused, job, "wait_for", ("no job %s is before it"):format(job.wait_for))
    end
    seen[job.name] = true
  end
end

--- What to run, and what of the file cannot be had.
---@param sections table   as iolua.fio.parse gives them
---@param known table      the options of iolua.job, by name
---@return table jobs      { name, clones, paths, o, stonewall, wait_for, delay_ns, ... }
---@return table refused   { job, key, value, line, path, why }
function plan.jobs(sections, known)
  local jobs, refused = {}, {}
  for i, section in ipairs(sections) do
    local job = new_job(section)
    translate(job, section.options, refused)
    finish(job, refused, known)
    job.o.seed = job.o.seed or i
    jobs[i] = job
  end
  group(jobs)
  check_waits(jobs, refused)
  return jobs, refused
end

--- The sentence of one refusal.
function plan.sentence(r)
  local where = r.line and ("%s:%d"):format(r.path, r.line) or ("job %s"):format(r.job)
  local what = r.value and ("%s=%s"):format(r.key, r.value) or r.key
  return ("%s: %s: %s"):format(where, what, r.why)
end

--- Does a job write?
function plan.writes(job)
  return job.o.rw:find("write") ~= nil or job.o.rw:find("trim") ~= nil or job.o.rw:find("rw$") ~= nil
end

return plan
