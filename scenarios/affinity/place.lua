-- Which CPUs I and X are on this machine, and what can be had of Q and C.
--
-- I is the CPU that takes the interrupts of the target's disk, where there is one; else a named
-- CPU. Where completions land follows from I, the queueing CPU and rq_affinity.
local iolua = require "iolua"

local place = {}
place.__index = place

local WORDS = {
  smt = "the other thread of the same core", cache = "other core, same last-level cache",
  node = "other core, same node", package = "other core, same package",
  machine = "other package",
}

-- The allowed CPU farthest from `cpu` that is not `other`.
local function far(topo, cpu, other)
  local left = iolua.cpuset(topo:allowed())
  if other then left = left - iolua.cpuset { other } end
  local found = topo:farthest(cpu, left)
  return found ~= cpu and found or nil
end

-- A node with memory in another package than the CPU's; else any other one with memory.
local function other_node(topo, cpu)
  local found
  for _, node in ipairs(topo:nodes()) do
    local member = node.cpus:first()
    local relation = member and topo:relation(cpu, member)
    if node.bytes and node.bytes > 0 and not node.cpus:contains(cpu) then
      found = relation == "machine" and node.number or found or node.number
      if relation == "machine" then break end
    end
  end
  return found
end

--- The node whose memory a submitter uses: its own (nil where there is one node only), or for
--- memory = "far" another one (nil and why there is none).
function place:node(cpu, memory)
  local nodes = self.topo:nodes()
  if #nodes < 2 then return nil, "one memory node: no buffers can be far" end
  if memory == "far" then
    local number = other_node(self.topo, cpu)
    return number, not number and "no other node has memory" or nil
  end
  for _, node in ipairs(nodes) do
    if node.cpus:contains(cpu) then return node.number end
  end
end

--- Why no kernel thread can submit for us; nil where one can.
function place.no_sqpoll(cpu)
  local r, message = iolua.job { rw = "nop", number_ios = 1, engine = "io_uring",
                                 ring = { sqpoll = true, sq_cpu = cpu } }
  return not r and (message:gsub("^job: ", "")) or nil
end

-- CPU that submits -> the one CPU its interrupts come to; and why that is not known.
local function interrupt_cpus(path)
  local found, message = iolua.settings.irq(path)
  if not found then return nil, message end
  local by_vector, by_cpu, known = {}, {}, false
  for _, v in ipairs(found.vectors) do
    local at = v.effective and #v.effective > 0 and v.effective or v.cpus
    if v.io and at and #at == 1 then by_vector[v.irq] = at[1] end
  end
  for _, queue in ipairs(found.queues) do
    for _, cpu in ipairs(queue.cpus or {}) do
      by_cpu[cpu] = by_vector[queue.irq]
      known = known or by_cpu[cpu] ~= nil
    end
  end
  if not known then
    return nil, ("where %s interrupts cannot be read, or is no single CPU"):format(found.disk)
  end
  return by_cpu
end

-- The interrupts' CPUs of all disks, where they agree.
local function interrupts_of(control)
  local all
  for _, each in ipairs(control.disks) do
    local by_cpu, why = interrupt_cpus(each.target)
    if not by_cpu then return nil, why end
    for cpu, at in pairs(all or {}) do
      if by_cpu[cpu] ~= at then return nil, "the disks interrupt different CPUs" end
    end
    all = by_cpu
  end
  return all, control.rq_why or "no disk is known"
end

local function movable(control)
  local found = control.may and iolua.settings.irq(control.disks[1].target)
  for _, v in ipairs(found and found.vectors or {}) do
    if v.io and v.managed ~= true then return true end
  end
  return false
end

-- I: the one asked for, the interrupt's, or the first that is allowed.
local function choose_i(p, asked)
  local allowed, first = {}, nil
  for cpu in p.topo:allowed():each() do
    allowed[cpu], first = true, first or cpu
  end
  p.i = asked or first
  local own = p.by_cpu and p.by_cpu[first]
  if not asked and own and allowed[own] then p.i = own end
  if asked and not allowed[asked] then
    return nil, ("--irq-cpu %d: only CPU %s may be used"):format(asked, p.allowed)
  end
  return true
end

--- Everything that rows depend on. Moves interrupts where that may be done and `plan` is not
--- set.
---@param control table
---@param options { irq_cpu: integer?, plan: boolean? }
---@return table? place
---@return string? message
function place.find(control, options)
  local topo = assert(iolua.topo())
  local p = setmetatable({ topo = topo, control = control, allowed = tostring(topo:allowed()) },
    place)
  p.by_cpu, p.i_why = interrupts_of(control)
  local ok, message = choose_i(p, options.irq_cpu)
  if not ok then return nil, message end
  p.moves = movable(control)
  if p.moves and not options.plan then
    p.not_moved = control:hold_interrupts(p.i)
    p.by_cpu, p.i_why = interrupts_of(control)
  end
  if p.moves and not p.not_moved then      -- it takes effect at the next interrupt
    p.by_cpu = p.by_cpu or {}
    for cpu in topo:allowed():each() do p.by_cpu[cpu] = p.i end
  end
  p.x = far(topo, p.i)
  p.third = p.x and far(topo, p.x, p.i)
  p.relation = p.x and WORDS[topo:relation(p.i, p.x)]
  p.sqpoll_why = p.x and place.no_sqpoll(p.x)
  p.rq, p.rq_why, p.disk = control.rq, control.rq_why, control:names()
  local probe = iolua.job { rw = "nop", number_ios = 1 }
  p.engine, p.engine_note = probe and probe.engine, probe and probe.note
  return p
end

--- The CPU that is interrupted for what is queued on `cpu`; nil where there is none, or it is
--- not known.
function place:interrupted(cpu)
  return self.by_cpu and self.by_cpu[cpu]
end

--- Where what is queued on `cpu` completes under a value of rq_affinity; nil where that cannot
--- be told. The kernel sends nothing inside a shared last-level cache with 1.
---@param cpu integer
---@param rq integer?
---@return integer? cpu
function place:completes(cpu, rq)
  if rq == 2 then return cpu end
  local irq = self:interrupted(cpu)
  if not irq or rq == 0 then return irq end
  if rq ~= 1 then return irq == cpu and irq or nil end
  local relation = self.topo:relation(irq, cpu)
  local shared = relation == "same" or relation == "smt" or relation == "cache"
  return shared and irq or cpu
end

-- What I stands for.
local function i_line(p)
  if p.not_moved then return ("CPU %d, a named CPU: %s"):format(p.i, p.not_moved) end
  if p:interrupted(p.i) == p.i then
    return ("CPU %d, %s the interrupt of %s%s"):format(p.i, p.moves and "which is given"
      or "which takes", p.disk, p.moves and ", held there meanwhile" or "")
  end
  return ("CPU %d, a named CPU: %s"):format(p.i, p.i_why or "nothing is moved")
end

local function c_line(p)
  if p.control.may then
    return ("set for each row: rq_affinity of %s, found %s, put back at the end"):format(p.disk,
      tostring(p.rq))
  end
  local why = p.control.why and "; " .. p.control.why or ""
  return ("as found: %s%s"):format(p.rq and ("rq_affinity %d on %s"):format(p.rq, p.disk)
    or "rq_affinity is not known: " .. tostring(p.rq_why), p.rq and why or "")
end

--- The lines of the header: what X, I and C mean here.
---@return table[] lines  { name, text }
function place:header()
  local lines = {
    { "I", i_line(self) },
    { "X", self.x and (("CPU %d: %s as I"):format(self.x, self.relation):gsub(
      "other package as I", "other package than I"))
      or ("there is none: only CPU %s may be used"):format(self.allowed) },
    { "Q", self.sqpoll_why and "A only: " .. self.sqpoll_why
      or self.x and "A: the application submits; X and I: a kernel thread does (SQPOLL), "
        .. "another mechanism"
      or "A only" },
    { "C", c_line(self) },
  }
  if self.third then
    table.insert(lines, 3, { "X (Q)", ("CPU %d, where A is X already"):format(self.third) })
  end
  if self.engine_note then lines[#lines + 1] = { "engine", self.engine_note } end
  return lines
end

--- As plain values, for the JSON document.
function place:plain()
  return { i = self.i, x = self.x, third = self.third, relation = self.relation,
    allowed = self.allowed, interrupt = self:interrupted(self.i), moved = self.moves,
    rq_affinity_found = self.rq, disk = self.disk, engine = self.engine,
    settings = self.control.may, settings_why = self.control.why }
end

return place
