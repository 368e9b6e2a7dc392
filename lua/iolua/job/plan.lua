--- From checked options and open targets to one table of integers for each worker.
local distribution = require "iolua.distribution"
local sizes = require "iolua.job.sizes"

local plan = {}

local UNBOUNDED = math.maxinteger
local CHAR_REGION = 2^30 | 0       -- what a character device is taken to hold

local function failure(text, ...)
  return nil, ("job: " .. text):format(...), 22
end

-- The region of the options on a target: offset, size.
local function region(o, target)
  if o.rw == "nop" then return 0, 0 end
  local whole, message, errno = target:size()
  if not whole then return nil, message, errno end
  local char = target.type and target:type() == "char"
  local size = o.size or char and CHAR_REGION
  if size and size > math.maxinteger - o.offset then
    return failure("a region that begins at %d and has %d bytes ends beyond %d", o.offset, size,
      math.maxinteger)
  end
  if size then return o.offset, size end
  if whole <= o.offset then
    return failure("%s has %d bytes: nothing from offset %d on%s", target:path(), whole, o.offset,
      o.rw:find("write") and "; give a size to write there" or "")
  end
  return o.offset, whole - o.offset
end

-- Direct I/O goes by whole blocks of the device: refused here, before anything is submitted.
local function check_alignment(o, target)
  if o.rw == "nop" or not target.direct or not target:direct() then return true end
  local block, odd = target:block_size(), nil
  local function check(key, value)
    if value % block ~= 0 then odd = odd or { key, value } end
  end
  sizes.each(o.sizes, function(bytes) check("bs", bytes) end)
  check("offset", o.offset)
  if not odd then return true end
  return failure("%s = %d is no multiple of %d, the block size of %s with direct I/O",
    odd[1], odd[2], block, target:path())
end

local function check_writable(o, target)
  local writes = o.rw:find("write") or o.rw:find("trim") or (o.rw:find("rw$") and o.rwmixread < 100)
  if writes and target.writable and not target:writable() then
    return failure("%s is open for reading only: rw = %q needs write = true", target:path(), o.rw)
  end
  return true
end

-- Share i (from 0) of n of a region, in whole blocks; the last takes what is left over.
local function share(offset, size, bs, i, n)
  if n == 1 then return offset, size end
  local blocks = size // bs
  local each = blocks // n
  local first = each * i
  return offset + first * bs, i == n - 1 and size - first * bs or each * bs
end

-- How many operations a worker issues, and bytes where sizes are mixed (0: no limit).
local function operations(o, size)
  if o.number_ios then return o.number_ios, 0 end
  if o.next and not o.io_size then return UNBOUNDED, 0 end
  if o.sizes.mix then return UNBOUNDED, o.io_size or o.runtime and 0 or size end
  if o.io_size then return math.max(1, o.io_size // o.bs) end
  if o.runtime then return UNBOUNDED end
  return size // o.bs
end

-- The fields of an open loop. The bytes of a mix count by its smallest size for the backlog.
local function add_pace(o, worker)
  local rate = o.rate_iops or o.rate
  if not rate then return end
  worker.rate, worker.rate_of_bytes, worker.poisson = rate, o.rate ~= nil, o.arrival == "poisson"
  local iops = o.rate_iops or o.rate / o.bs
  worker.backlog = o.backlog or math.max(o.iodepth, math.ceil(iops))
end

local function add_places(o, worker)
  if not o.distribution then return end
  worker.distribution = distribution.parse(o.distribution, o.scatter)
  worker.distribution.scatter_seed = o.seed
end

-- The functions that run in the worker, as bytes.
local function add_hook(o, worker)
  if not o.hook then return end
  worker.hook = { next = o.next ~= nil, on_complete = o.on_complete ~= nil, code = o.hook.code,
    arrays = o.hook.arrays, path = package.path, workers = o.numjobs,
    may_write = o.rw:find("write") ~= nil or o.rw:find("rw$") ~= nil }
end

local READ_PERCENT = { trim = 0, randtrim = 0, nop = 100, read = 100, randread = 100, write = 0, randwrite = 0 }

-- What all workers share.
local function common(o)
  local every = o.fsync > 0 and o.fsync or o.fdatasync
  local worker = {
    nop = o.rw == "nop", random = o.rw:find("^rand") ~= nil,
    norepeat = o.norepeat and o.rw:find("^rand") ~= nil,
    read_percent = READ_PERCENT[o.rw] or o.rwmixread,
    bs = o.bs, seed = o.seed, engine = o.engine, iodepth = o.iodepth, batch = o.batch or 0,
    ramp_ns = o.ramp_time, runtime_ns = o.runtime or 0, grace_ns = o.grace, fsync_every = every,
    datasync = o.fdatasync > 0, end_fsync = o.end_fsync,
    continue_on_error = o.continue_on_error, clock_each = o.clock == "each",
    node = o.mem.node or -1, sqpoll = o.ring.sqpoll, sq_cpu = o.ring.sq_cpu or -1,
    iopoll = o.ring.iopoll, registered = o.ring.registered,
    sizes = o.sizes.mix,
    bs_max = math.max(o.sizes.max, o.bs_max or 1), interval_ns = o.interval or 0,
    watched = o.on_interval ~= nil,
  }
  if o.rw:find("trim") then             -- the ring has no such operation
    worker.trim = true
    if o.engine == "auto" then worker.engine = o.iodepth > 1 and "threads" or "sync" end
  end
  if o.thinktime then
    worker.think_ns, worker.think_blocks = o.thinktime, o.thinktime_blocks or 1
  end
  add_pace(o, worker)
  add_places(o, worker)
  add_hook(o, worker)
  return worker
end

local function cpu_of(o, i)
  if not o.cpu_list then return nil end
  if o.cpus_allowed_policy == "shared" then return table.concat(o.cpu_list, ",") end
  return tostring(o.cpu_list[i % #o.cpu_list + 1])
end

local function add_target(worker, target)
  if target.volume then
    worker.volume = target.volume
    if target.simulated then worker.engine = "sim" end
  elseif target.simulated then
    worker.engine, worker.sim = "sim", target.handle
    local machine = package.loaded["iolua.machine"]
    worker.sim_distance_ns = machine and machine.distance(target, worker.cpus) or 0
  else
    worker.file = target
  end
end

-- Worker i (from 0) of o.numjobs.
local function worker_for(o, targets, i)
  local worker, target = common(o), targets[i % math.max(1, #targets) + 1]
  worker.stream, worker.cpus = i, cpu_of(o, i)
  worker.number_ios, worker.number_bytes = operations(o, 0)
  if not target then return worker end
  local offset, size, errno = region(o, target)
  if not offset then return nil, size, errno end
  local sharing = (o.numjobs - i % #targets + #targets - 1) // #targets
  worker.offset, worker.size = share(offset, size, o.bs, i // #targets, sharing)
  if o.rw ~= "nop" and worker.size < o.bs then
    return failure("a region of %d bytes has no block of bs = %d", worker.size, o.bs)
  end
  worker.number_ios, worker.number_bytes = operations(o, worker.size)
  add_target(worker, target)
  return worker
end

local function check_target(o, target)
  local ok, message, errno = check_alignment(o, target)
  if not ok then return nil, message, errno end
  return check_writable(o, target)
end

--- Worker tables for core.job.start.
---@param o table         checked options; `cpu_list` is a list of CPU numbers or nil
---@param targets table   open files or simulated devices; may be empty for nop
---@return table? workers
---@return string? message
---@return integer? errno
---@return integer? uncovered  bytes of the regions that are no whole block
function plan.workers(o, targets)
  local workers, uncovered = {}, 0
  for _, target in ipairs(targets) do
    local ok, message, errno = check_target(o, target)
    if not ok then return nil, message, errno end
  end
  for i = 0, o.numjobs - 1 do
    local worker, message, errno = worker_for(o, targets, i)
    if not worker then return nil, message, errno end
    workers[i + 1] = worker
    uncovered = uncovered + (worker.size or 0) % o.bs
  end
  return workers, nil, nil, uncovered
end

return plan
