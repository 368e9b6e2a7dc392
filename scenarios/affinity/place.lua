-- Which CPUs X and I are on this machine, and what can be had of Q and C.
local iolua = require "iolua"
local core = require "iolua.core"

local place = {}

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

-- How the disk under the target completes: rq_affinity as found, or why it is not known.
local function found(target)
  if not target then return nil, "no target yet" end
  local disk, message = core.blk.find(target)
  if not disk then return nil, message end
  local text, why = core.attr.read(disk.disk_sys .. "/queue/rq_affinity")
  return tonumber(text), not text and why or nil, disk.disk
end

--- Everything that rows depend on.
---@param target iolua.file?
---@return table place  { i, x, third, node, relation, no_sqpoll, rq, rq_why, disk, engine_note }
function place.find(target)
  local topo = assert(iolua.topo())
  local p = { allowed = tostring(topo:allowed()), nodes = {} }
  for cpu in topo:allowed():each() do
    p.i = p.i or cpu
  end
  p.x = far(topo, p.i)
  p.third = p.x and far(topo, p.x, p.i)
  if p.x then p.relation = WORDS[topo:relation(p.i, p.x)] end
  for _, cpu in ipairs { p.i, p.x, p.third } do p.nodes[cpu] = node_of(topo, cpu) end
  if p.x then p.no_sqpoll = no_sqpoll(p.x) end
  p.rq, p.rq_why, p.disk = found(target)
  local probe = iolua.job { rw = "nop", number_ios = 1 }
  p.engine, p.engine_note = probe and probe.engine, probe and probe.note
  return p
end

--- The lines of the header: what X, I and C mean here.
---@param p table
---@return table[] lines  { name, text }
function place.header(p)
  local lines = {
    { "I", ("CPU %d, a named CPU: nothing is moved, so it need not be the interrupt's")
      :format(p.i) },
    { "X", p.x and ("CPU %d: %s as I"):format(p.x, p.relation):gsub("other package as I",
      "other package than I")
      or ("there is none: only CPU %s may be used"):format(p.allowed) },
    { "Q", p.no_sqpoll and "A only: " .. p.no_sqpoll
      or p.x and "A: the application submits; X and I: a kernel thread does (SQPOLL), "
        .. "another mechanism"
      or "A only" },
    { "C", ("as found: %s"):format(p.rq and ("rq_affinity %d on %s"):format(p.rq, p.disk)
      or "rq_affinity is not known: " .. tostring(p.rq_why)) },
  }
  if p.third then
    table.insert(lines, 3, { "X (Q)", ("CPU %d, where A is X already"):format(p.third) })
  end
  if p.engine_note then lines[#lines + 1] = { "engine", p.engine_note } end
  return lines
end

return place
