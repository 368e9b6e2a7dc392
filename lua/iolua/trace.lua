--- Who did the work: the block layer's own events, counted per CPU or joined request by request.
--
-- The kernel counts, so what is counted is what happened; the price is some hundred ns for each
-- event that fires (trace.cost measures it on your load). Use the same counters in every arm of
-- a comparison. Counters are on the whole disk: another program's I/O to it is counted too.
-- Needs root, or CAP_PERFMON and a readable tracefs.
local events = require("iolua.core").events
local record = require("iolua.core").record
local clock = require("iolua.core").clock
local schema = require "iolua.schema"

local trace = {}

-- What is counted, in the order of a request's life.
local KINDS = {
  { name = "queue", event = "block/block_bio_queue" },
  { name = "split", event = "block/block_split" },
  { name = "backmerge", event = "block/block_bio_backmerge" },
  { name = "frontmerge", event = "block/block_bio_frontmerge" },
  { name = "issue", event = "block/block_rq_issue" },
  { name = "complete", event = "block/block_rq_complete" },
  { name = "bio_complete", event = "block/block_bio_complete" },
}

local COUNT_OPTIONS = {
  punts = { type = "boolean", default = true, help = "count io_uring's punts of this process" },
  irq = { type = "any", help = "interrupt vectors to count: a list, or true for the disks' own" },
}

local RECORD_OPTIONS = {
  legs = { type = "boolean", default = false, help = "record the disks under a volume instead" },
  buffer = { type = "size", min = 1, max = 1 << 30, help = "bytes of each CPU's buffer" },
}

--- Can events be counted here?
---@param event? string  "system/name"; default: the block layer's
---@return true? yes
---@return string? why  the reason when not
---@return integer? errno
function trace.available(event)
  return events.available(event)
end

local function path_of(target, level)
  if type(target) == "string" then return target end
  local path = (type(target) == "table" or type(target) == "userdata") and target.path
  if type(path) == "function" then path = path(target) end
  if type(path) ~= "string" then
    error(("trace: %s is no file, volume or path"):format(type(target)), level + 1)
  end
  return path
end

-- A list of targets: paths, files, volumes. A table without a path is a list.
local function paths_of(target, level)
  if type(target) ~= "table" or target.path then return { path_of(target, level + 1) } end
  local paths = {}
  for i, each in ipairs(target) do paths[i] = path_of(each, level + 1) end
  if #paths == 0 then error("trace: an empty list of targets", level + 1) end
  return paths
end

local function add_disk(list, known, disk)
  if known[disk.dev] then return end
  known[disk.dev] = true
  list[#list + 1] = { dev = disk.dev, name = disk.name }
end

-- The whole disks of the targets, and the disks under those that are volumes.
local function disks_of(target, level)
  local disks, legs, known = {}, {}, {}
  local volumes = {}
  for _, path in ipairs(paths_of(target, level + 1)) do
    local disk, message, errno = events.disk(path)
    if not disk then return nil, message, errno end
    add_disk(disks, known, disk)
    volumes[#volumes + 1] = disk
  end
  for _, disk in ipairs(volumes) do
    for _, leg in ipairs(disk.legs) do add_disk(legs, known, leg) end
  end
  return { disks = disks, legs = legs }
end

local function filter_of(disks)
  local terms = {}
  for i, disk in ipairs(disks) do terms[i] = ("dev == %d"):format(disk.dev) end
  return table.concat(terms, " || ")
end

-- Plan of the counters: each spec with the table and key its counts go to.
local function plan_of(where, vectors)
  local specs, slots = {}, {}
  local function add(group, key, event, filter)
    specs[#specs + 1] = { event = event, filter = filter }
    slots[#slots + 1] = { group = group, key = key }
  end
  for _, kind in ipairs(KINDS) do
    add("disks", kind.name, kind.event, filter_of(where.disks))
    if #where.legs > 0 then add("legs", kind.name, kind.event, filter_of(where.legs)) end
  end
  for _, vector in ipairs(vectors) do
    add("irq", vector, "irq/irq_handler_entry", ("irq == %d"):format(vector))
  end
  return specs, slots
end

local function difference(after, before)
  local counts, total = {}, 0
  for cpu, n in pairs(after) do
    counts[cpu] = n - before[cpu]
    total = total + counts[cpu]
  end
  return counts, total
end

-- Counts by group; each group has a total by the same key.
local function gather(slots, after, before)
  local groups = { disks = { total = {} }, legs = { total = {} }, irq = { total = {} } }
  for i, slot in ipairs(slots) do
    local group = groups[slot.group]
    group[slot.key], group.total[slot.key] = difference(after[i], before[i])
  end
  return groups
end

local function check_vectors(irq, level)
  if irq == nil or irq == false then return {} end
  if irq == true then return true end
  if type(irq) == "number" then irq = { irq } end
  if type(irq) ~= "table" then
    error("trace: irq must be true or a list of vectors", level + 1)
  end
  for _, vector in ipairs(irq) do
    if math.type(vector) ~= "integer" or vector < 0 then
      error(("trace: irq %s is not a vector's number"):format(tostring(vector)), level + 1)
    end
  end
  return irq
end

-- The vectors that carry the I/O of these disks; one without any (loop, zram) adds none.
local function own_vectors(where)
  local settings = require "iolua.settings"
  local list, known = {}, {}
  for _, group in ipairs { where.disks, where.legs } do
    for _, disk in ipairs(group) do
      local found = settings.irq("/dev/" .. disk.name:gsub("!", "/"))
      for _, vector in ipairs(found and found.vectors or {}) do
        if vector.io and not known[vector.irq] then
          known[vector.irq] = true
          list[#list + 1] = vector.irq
        end
      end
    end
  end
  return list
end

-- What fn returned after the counts, or its error as it was.
local function finish(counts, ok, ...)
  if not ok then error((...), 0) end
  return counts, ...
end

local function names_of(disks)
  local names = {}
  for i, disk in ipairs(disks) do names[i] = disk.name end
  return names
end

---@class iolua.trace.counter  counters that stay open over many runs
local counter = {}
counter.__index = counter

--- Counters on the disks of a target, for many runs: closing them takes some 40 ms for each
--- event (the kernel waits), so an experiment opens one and uses it in every arm.
---@param target string|table|userdata  path, file or volume, or a list of them
---@param options? table  punts = false; irq = { vectors } or true
---@return iolua.trace.counter?
---@return string? message
---@return integer? errno
function trace.counter(target, options)
  return trace.open(target, options, "trace.counter", 2)
end

-- The same for a caller `level` levels up that is called `what`.
function trace.open(target, options, what, level)
  local opt = schema.check(COUNT_OPTIONS, options or {}, level + 1, what)
  local vectors = check_vectors(opt.irq, level + 1)
  local where, message, errno = disks_of(target, level + 1)
  if not where then return nil, message, errno end
  if vectors == true then vectors = own_vectors(where) end
  local specs, slots = plan_of(where, vectors)
  local counters, reason, code = events.count(specs)
  if not counters then return nil, reason, code end
  local self = { counters = counters, slots = slots, where = where, vectors = #vectors }
  if opt.punts then
    self.punts, self.punts_why = events.punts()
  else
    self.punts_why = "not asked for"
  end
  return setmetatable(self, counter)
end

--- Count while fn runs; see trace.count.
---@param fn function
---@return table counts
---@return any ...  what fn returned
function counter:count(fn)
  if self.closed then error("counter is closed", 2) end
  if type(fn) ~= "function" then error("count: the argument is no function", 2) end
  local punts = self.punts and self.punts:read()
  local start, before = clock.now(), self.counters:read()
  local function done(...)
    local elapsed = clock.now() - start
    local groups = gather(self.slots, self.counters:read(), before)
    local counts = groups.disks
    counts.elapsed_ns = elapsed
    counts.disks = names_of(self.where.disks)
    counts.legs = #self.where.legs > 0 and groups.legs or nil
    if counts.legs then counts.legs.disks = names_of(self.where.legs) end
    counts.irq = self.vectors > 0 and groups.irq or nil
    counts.punts = punts and self.punts:read() - punts
    counts.punts_why = self.punts_why
    return finish(counts, ...)
  end
  return done(pcall(fn))
end

--- Twice is allowed.
function counter:close()
  self.closed = true
  self.counters:close()
  if self.punts then self.punts:close() end
end

counter.__close = counter.close
counter.__gc = counter.close

--- Block events per CPU while a function runs.
---
--- The tables `queue`, `split`, `backmerge`, `frontmerge`, `issue`, `complete` and
--- `bio_complete` are keyed by OS CPU number and hold every CPU that is online; `total` has
--- their sums. `queue` counts on the CPU that submitted; `complete` counts where the completion
--- was handled after it was steered: the interrupt's own CPU is in `irq`. A volume of
--- device-mapper or md has no requests of its own: look at `legs`, which has the same tables
--- for the disks under it. zram has `queue` and `bio_complete` only. `punts` are those of this
--- process (nil, with `punts_why`, where they cannot be counted).
---@param target string|table|userdata  path, file or volume, or a list of them
---@param fn function           what to watch
---@param options? table        punts = false; irq = { vectors }, or true: the disks' own
---@return table? counts        also: disks (names), irq[vector][cpu], punts, elapsed_ns
---@return any ...              what fn returned; on failure: message, errno
function trace.count(target, fn, options)
  if type(fn) ~= "function" then error("trace.count: the second argument is no function", 2) end
  local open <close>, message, errno = trace.open(target, options, "trace.count", 2)
  if not open then return nil, message, errno end
  return open:count(fn)
end

--- The life of every request while a function runs.
---
--- Histograms in ns, nil where nothing was measured: `q2q` (between arrivals), `q2i` (queued
--- to the scheduler), `i2d` (in the scheduler), `q2d` (queued to the driver), `d2c` (driver and
--- device), `q2c` (all of it): the figures of btt. `cpus[q][c]` counts bios queued on CPU q and
--- completed on CPU c. `lost`, `unmatched`, `forgotten`, `in_flight` say what is missing.
---@param target string|table|userdata  path, file or volume, or a list of them
---@param fn function
---@param options? table  legs = true: the disks under a volume; buffer = "4m" for each CPU
---@return table? recording  also: disks (names), events (counts by kind), elapsed_ns
---@return any ...  what fn returned; on failure: message, errno
function trace.record(target, fn, options)
  if type(fn) ~= "function" then error("trace.record: the second argument is no function", 2) end
  local opt = schema.check(RECORD_OPTIONS, options or {}, 2, "trace.record")
  local where, message, errno = disks_of(target, 2)
  if not where then return nil, message, errno end
  local disks = opt.legs and #where.legs > 0 and where.legs or where.disks
  local devs = {}
  for i, disk in ipairs(disks) do devs[i] = disk.dev end
  local recorder <close>, reason, code = record.start(devs, opt.buffer or 0)
  if not recorder then return nil, reason, code end
  local start = clock.now()
  local function done(ok, ...)
    local elapsed = clock.now() - start
    if not ok then error((...), 0) end
    local result, why, number = recorder:stop()
    if not result then return nil, why, number end
    result.elapsed_ns, result.disks = elapsed, names_of(disks)
    return result, ...
  end
  return done(pcall(fn))
end

-- Wall time and CPU time of this process, in ns.
local function timed(fn)
  local start, busy = clock.now(), os.clock()
  fn()
  return { wall = clock.now() - start, cpu = (os.clock() - busy) * 1e9 }
end

-- Runs of fn in pairs, without and with counters, the order changing from pair to pair.
local function alternate(n, without, with)
  local runs = {}
  for i = 1, n do
    local off = i % 2 == 1 and without()
    local on, message, errno = with()
    if not on then return nil, message, errno end
    runs[i] = { off = off or without(), on = on }
  end
  return runs
end

--- What counting costs: runs fn with and without counters, in pairs of changing order.
---
--- `percent` is the mean of the pairs' differences in time, `half_width` that of its 95 %
--- interval. `ns_per_event` is the same by CPU time of this process, which other programs
--- disturb less; it leaves out what interrupts cost.
---@param target string|table|userdata
---@param fn function        the same work each time
---@param n? integer         pairs, 2 or more; default 5
---@return table? cost  { percent =, half_width =, ns_per_event =, events =, off_ns =, on_ns = }
---@return string? message
---@return integer? errno
function trace.cost(target, fn, n)
  n = n or 5
  if math.type(n) ~= "integer" or n < 2 then error("trace.cost: pairs must be 2 or more", 2) end
  local fired = 0
  -- Opened and closed each time: what is closed must not cost the run without.
  local function counted()
    local on
    local counts, message, errno = trace.count(target, function() on = timed(fn) end)
    if not counts then return nil, message, errno end
    for _, total in pairs(counts.total) do fired = fired + total end
    return on
  end
  local runs, message, errno = alternate(n, function() return timed(fn) end, counted)
  if not runs then return nil, message, errno end
  local percent, off, on, cpu = {}, 0, 0, 0
  for i, run in ipairs(runs) do
    percent[i] = 100 * (run.on.wall - run.off.wall) / run.off.wall
    off, on, cpu = off + run.off.wall, on + run.on.wall, cpu + run.on.cpu - run.off.cpu
  end
  local s = require("iolua.stats").summary(percent)
  return { percent = s.mean, half_width = s.half_width, events = fired // n,
           ns_per_event = fired > 0 and cpu / fired or nil, off_ns = off // n, on_ns = on // n }
end

return trace
