-- Who did the work: block events per CPU during a run, held against what the row promises.
local core = require "iolua.core"
local iolua = require "iolua"
local locality = require "iolua.locality"

local witness = {}
witness.__index = witness

-- What others may do on the disk, as a share of the run's bytes or events, before counts say
-- nothing.
local FOREIGN = 0.05

local function n_queued(counts) return counts.total.queue or 0 end

local function number(path, pattern)
  local text = core.attr.read(path)
  return text and math.tointeger(tonumber(text:match(pattern)))
end

-- Bytes that this process has moved to and from disks so far, all threads; nil: not told.
local function own_bytes()
  local read = number("/proc/self/io", "read_bytes: (%d+)")
  local written = number("/proc/self/io", "\nwrite_bytes: (%d+)")
  return read and written and read + written
end

local function device_bytes(disks)
  local sum = 0
  for _, each in ipairs(disks) do
    local text = core.attr.read(each.disk.disk_sys .. "/stat")
    local words = {}
    for word in (text or ""):gmatch("%d+") do words[#words + 1] = math.tointeger(word) end
    if not words[7] then return nil end
    sum = sum + 512 * (words[3] + words[7])
  end
  return sum
end

-- Ticks of all CPUs that were not idle, in ns.
local function busy_ns()
  local line = (core.attr.read("/proc/stat") or ""):match("^cpu +([^\n]*)")
  local words = {}
  for word in (line or ""):gmatch("%d+") do words[#words + 1] = math.tointeger(word) end
  if not words[8] then return nil end
  -- user, nice, system, irq, softirq: neither idle, iowait nor what the hypervisor took.
  return (words[1] + words[2] + words[3] + words[6] + words[7]) * 10000000
end

-- Why no events can be counted on these targets; nil where they can.
local function refusal(targets, machine)
  if #targets == 0 then return "nothing is run" end
  if machine then
    local lacks, why = machine.lacks("block events")
    if lacks then return why end
  end
  for _, target in ipairs(targets) do
    if type(target) == "table" then return "a simulated device has no block events" end
    if not target:direct() then return "through the page cache the events are not the run's" end
  end
  local ok, reason = iolua.trace.available()
  return not ok and reason or nil
end

--- A witness of runs on these targets. It always works; `why` says what it cannot count.
---@param targets table[]
---@param control table
---@param count boolean  of --count
---@return table witness
function witness.open(targets, control, count)
  local self = setmetatable({ disks = control.disks, targets = #targets, blocks = true }, witness)
  for _, target in ipairs(targets) do
    if type(target) == "table" or target:type() ~= "block" then self.blocks = false end
  end
  self.why = not count and "--no-count was given" or refusal(targets, package.loaded["iolua.machine"])
  if self.why then return self end
  local message
  self.counter, message = iolua.trace.counter(targets, { irq = true })
  self.why = message
  return self
end

function witness:close()
  if self.counter then self.counter:close() end
end
witness.__close = witness.close

local function difference(after, before)
  return after and before and after - before or nil
end

--- Run fn, which gives a job's result; what was seen meanwhile.
---@param bs integer  bytes of an operation: one event each
---@param fn function
---@return table? result
---@return table|string seen  { counts, own_bytes, device_bytes, busy_ns, why }; or the message
function witness:watch(bs, fn)
  local busy, own, device = busy_ns(), own_bytes(), device_bytes(self.disks)
  local r, message, counts
  if self.counter then
    counts, r, message = self.counter:count(fn)
  else
    r, message = fn()
  end
  if not r then return nil, message end
  local seen = { counts = counts, why = self.why, own_bytes = difference(own_bytes(), own),
    device_bytes = difference(device_bytes(self.disks), device),
    busy_ns = difference(busy_ns(), busy) }
  local mine, all = seen.own_bytes, seen.device_bytes
  if counts and (not mine or mine == 0 or not all) then
    seen.counts, seen.why = nil, "which events are the run's cannot be told"
  elseif counts then
    local others = math.max(0, n_queued(counts) - mine / bs)
    seen.foreign = math.max(0, (all - mine) / mine, others / (mine / bs))
    if seen.foreign > FOREIGN then
      seen.counts = nil
      seen.why = ("others did %.0f %% as much on the same disk"):format(100 * seen.foreign)
    end
  end
  return r, seen
end

-- Share of the events that fell on one CPU.
local function share(counts, cpu)
  local here, total = 0, 0
  for where, n in pairs(counts) do
    total = total + n
    if where == cpu then here = n end
  end
  return total > 0 and here / total or nil
end

local function done_of(n)
  return (n.total.complete or 0) > 0 and n.complete or n.bio_complete
end

-- What lies elsewhere than promised, in words.
local function stray(what, counts, cpu, limit)
  local here = cpu and counts and share(counts, cpu)
  if not here or 1 - here <= limit then return nil end
  return ("%.3g %% of %s on another CPU than %d"):format(100 * (1 - here), what, cpu)
end

--- Local and remote counts of a run as metrics, and what contradicts the row.
---@param seen table   of watch
---@param row table    application_cpu, queueing_cpu, complete_cpu, label
---@param irq integer? the interrupt's CPU
---@return table metrics
---@return string? contradiction
function witness:judge(seen, row, irq)
  local n = seen.counts
  if not n then return {} end
  local limit, found = 0.01 + (seen.foreign or 0), {}
  if row.queueing_cpu then
    for key, value in pairs(locality.of(n, { submitter = row.application_cpu, irq = irq })) do
      found[key] = value / self.targets
    end
  elseif irq then
    local c = locality.of(n, { submitter = -1, irq = irq })
    found.c_local, found.c_remote = c.c_local / self.targets, c.c_remote / self.targets
  end
  local first = stray("requests queued", n.queue, row.queueing_cpu, limit)
    or stray("requests completed", done_of(n), row.complete_cpu, limit)
  for vector, counts in pairs(row.complete_cpu and irq and n.irq or {}) do
    if vector ~= "total" then first = first or stray("interrupts", counts, irq, limit) end
  end
  -- C = Q is no label of 2008: the CPUs themselves are looked at.
  if row.A and row.C ~= "Q" and row.queueing_cpu and found.q_local then
    local judged = { q_local = found.q_local, q_remote = found.q_remote,
      c_local = row.complete_cpu and found.c_local, c_remote = row.complete_cpu
        and found.c_remote }
    local agrees, why = locality.check(row.label, judged, limit)
    if not agrees then return found, why end
  end
  return found, first
end

return witness
