-- Which CPUs X and I are on this machine, and what can be had of Q and C.
local iolua = require "iolua"
local core = require "iolua.core"
local trace = require "iolua.trace"

local place = {}

local WORDS = {
  smt = "the other thread of I's core", cache = "other core, same last-level cache as I",
  node = "other core, same node as I", package = "other core, same package as I",
  machine = "other package than I",
}

local function members(set)
  local list = {}
  for cpu in set:each() do list[#list + 1] = cpu end
  return list
end

-- The CPU among `set` farthest from `cpu`, leaving out `other`.
local function far(topo, set, cpu, other)
  local left = iolua.cpuset(set)
  if other then left = left - iolua.cpuset { other } end
  local found = topo:farthest(cpu, left)
  return found ~= cpu and found or nil
end

-- The node of a CPU; nil where there is one node only.
local function node_of(topo, cpu)
  local nodes = topo:nodes()
  if #nodes < 2 then return nil end
  for _, node in ipairs(nodes) do
    for member in node.cpus:each() do
      if member == cpu then return node.number end
    end
  end
end

-- Why no kernel thread can submit for us; nil where one can.
local function no_sqpoll(cpu)
  local r, message = iolua.job { rw = "nop", number_ios = 1, engine = "io_uring",
                                 ring = { sqpoll = true, sq_cpu = cpu } }
  return not r and (message:gsub("^job: ", "")) or nil
end

local function has(list, value)
  for _, item in ipairs(list or {}) do
    if item == value then return true end
  end
  return false
end

-- Vectors that carry I/O, each with the one CPU it goes to and the CPUs that use its queue.
local function vectors_of(interrupts)
  local list = {}
  for _, v in ipairs(interrupts.vectors or {}) do
    if v.io and v.effective and #v.effective == 1 then
      local cpus = v.cpus
      for _, queue in ipairs(interrupts.queues or {}) do
        if queue.irq == v.irq then cpus = queue.cpus end
      end
      list[#list + 1] = { irq = v.irq, cpu = v.effective[1], cpus = cpus }
    end
  end
  return list
end

-- The interrupt's CPU and those that share its queue; or nil and why I is only a named CPU.
local function interrupt(target, allowed)
  if not target then return nil, "no target yet" end
  local ok, found, message = pcall(iolua.settings.irq, target)
  if not ok or not found then return nil, ok and message or tostring(found) end
  local list, best = vectors_of(found), nil
  if #list == 0 then return nil, "the disk has no interrupt that could be read" end
  for _, v in ipairs(list) do
    local usable = {}
    for _, cpu in ipairs(allowed) do
      if has(v.cpus, cpu) then usable[#usable + 1] = cpu end
    end
    if has(allowed, v.cpu) and (not best or #usable > #best.usable) then
      best = { cpu = v.cpu, irq = v.irq, usable = usable, queues = #list }
    end
  end
  if not best then
    return nil, ("its interrupt goes to CPU %d, which may not be used here"):format(list[1].cpu)
  end
  return best
end

-- How the disk under the target completes: rq_affinity as found, or why it is not known.
local function completion(target)
  if not target then return nil, "no target yet" end
  local disk, message = core.blk.find(target)
  if not disk then return nil, message end
  local text, why = core.attr.read(disk.disk_sys .. "/queue/rq_affinity")
  return tonumber(text), not text and why or nil, disk.disk
end

-- I, X and the third CPU.
local function choose(p, topo, target)
  local allowed = topo:allowed()
  local real, why = interrupt(target, members(allowed))
  local among = allowed
  if real then
    p.i, p.irq, p.queues = real.cpu, real.irq, real.queues
    -- With a queue for each CPU the interrupt follows the submitter: stay within one queue.
    if real.queues > 1 then among = iolua.cpuset(real.usable) end
  else
    p.i, p.i_why = members(allowed)[1], why
  end
  p.x = far(topo, among, p.i)
  p.third = p.x and far(topo, among, p.x, p.i)
  if p.third == p.i then p.third = nil end
  if p.x then
    p.between = topo:relation(p.i, p.x)
    p.relation = WORDS[p.between]
  elseif real and real.queues > 1 and #allowed > 1 then
    p.no_x = ("each CPU has a queue and an interrupt of its own: what CPU %d submits, CPU %d "
      .. "completes"):format(p.i, p.i)
  else
    p.no_x = ("no other CPU to be X: only CPU %s may be used"):format(p.allowed)
  end
end

-- Do completions stay on the interrupt's CPU with rq_affinity 1, for a queueing CPU?
local function shares(topo, a, b)
  local relation = topo:relation(a, b)
  return relation == "same" or relation == "smt" or relation == "cache"
end

--- Everything that rows depend on.
---@param target iolua.file?
---@return table place  { i, irq, i_why, x, third, nodes, relation, no_sqpoll, rq, rq_why, disk }
function place.find(target)
  local topo = assert(iolua.topo())
  local p = { allowed = tostring(topo:allowed()), nodes = {}, in_group = {} }
  choose(p, topo, target)
  for _, cpu in ipairs { p.i, p.x or p.i, p.third or p.i } do
    p.nodes[cpu] = node_of(topo, cpu)
    p.in_group[cpu] = shares(topo, cpu, p.i)
  end
  if p.x then p.no_sqpoll = no_sqpoll(p.x) end
  p.rq, p.rq_why, p.disk = completion(target)
  local probe = iolua.job { rw = "nop", number_ios = 1 }
  p.engine, p.engine_note = probe and probe.engine, probe and probe.note
  return p
end

--- Counters of block events on the targets' disks; or nil and why not.
---@param targets iolua.file[]
---@return table? counter
---@return string? why
function place.counter(targets)
  local counter, message = trace.open(targets, { punts = false }, "affinity", 1)
  return counter, message
end

--- The lines of the header: what X, I and C mean here.
---@param p table
---@param setting boolean  rq_affinity is set for each row
---@return table[] lines  { name, text }
function place.header(p, setting)
  local lines = {
    { "I", p.irq and ("CPU %d: interrupt %d of %s goes there"):format(p.i, p.irq, p.disk)
      or ("CPU %d, a named CPU: %s"):format(p.i, p.i_why) },
    { "X", p.x and ("CPU %d: %s"):format(p.x, p.relation) or p.no_x },
    { "Q", p.no_sqpoll and "A only: " .. p.no_sqpoll
      or p.x and "A: the application submits; X and I: a kernel thread does (SQPOLL), "
        .. "another mechanism" or "A only" },
    { "C", setting and ("rq_affinity of %s is set for each row and put back"):format(p.disk)
      or ("as found: %s"):format(p.rq and ("rq_affinity %d on %s"):format(p.rq, p.disk)
      or "rq_affinity is not known: " .. tostring(p.rq_why)) },
  }
  if p.third then
    table.insert(lines, 3, { "X (Q)", ("CPU %d, where A is X already"):format(p.third) })
  end
  if p.counting then lines[#lines + 1] = { "counters", p.counting } end
  if p.engine_note then lines[#lines + 1] = { "engine", p.engine_note } end
  return lines
end

return place
