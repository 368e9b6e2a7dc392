-- The cells of the protocol: mode x distance x rq_affinity on this machine. Those that cannot be
-- made, and those that are the same machine state as another, are left out with the reason.
local core = require "iolua.core"

local cells = {}

local RELATIONS = { "same", "smt", "cache", "node", "package", "machine" }

-- One CPU for each distance from the interrupt's: { { name, cpu, memory } }, nearest first. Inline
-- the nearest once more with its buffers on another node: what memory alone costs.
local function distances(p, mode)
  local at, list = {}, {}
  for cpu in p.topo:allowed():each() do
    local relation = p.topo:relation(p.i, cpu)
    at[relation] = at[relation] or cpu
  end
  for _, name in ipairs(RELATIONS) do
    if at[name] then list[#list + 1] = { name = name, cpu = at[name] } end
  end
  if mode == "inline" and list[1] then
    list[#list + 1] = { name = list[1].name .. ", far memory", cpu = list[1].cpu, memory = "far" }
  end
  return list
end

-- Does the disk poll for completions?
local function no_iopoll(p)
  for _, each in ipairs(p.control.disks) do
    local text = core.attr.read(each.disk.disk_sys .. "/queue/io_poll")
    if tonumber(text) ~= 1 then return each.disk.disk .. " has no poll queues" end
  end
  if #p.control.disks == 0 then return "no disk is known" end
end

-- The submission thread's CPU for an application on `cpu`; or nil and why there is none.
local function thread_cpu(p, cpu, how)
  if p.sqpoll_why then return nil, p.sqpoll_why end
  local near = p.topo:nearest(cpu)
  if not near then return nil, ("only CPU %s may be used"):format(p.allowed) end
  if how == "near" then return near end
  local far = p.topo:farthest(cpu)
  if far == near or p.topo:relation(cpu, far) == p.topo:relation(cpu, near) then
    return nil, "no CPU is farther than the near one"
  end
  return far
end

local MODES = {
  inline = function(_, cpu) return { queueing_cpu = cpu } end,
  iopoll = function(p, cpu)
    local why = p.engine ~= "io_uring" and "no io_uring" or no_iopoll(p)
    if why then return nil, why end
    return { queueing_cpu = cpu, complete_cpu = cpu, ring = { iopoll = true } }
  end,
}
for _, how in ipairs { "near", "far" } do
  MODES["sqpoll-" .. how] = function(p, cpu)
    local thread, why = thread_cpu(p, cpu, how)
    if not thread then return nil, why end
    return { queueing_cpu = thread, ring = { sqpoll = true, sq_cpu = thread } }
  end
end

--- Names of the modes, for a check of --modes.
cells.MODES = MODES

-- The values of rq_affinity to run: all where it can be set, else as found.
local function values_of(p)
  if p.control.may then return { 0, 1, 2 } end
  return { p.rq or false }
end

-- One cell, or nil and why it is left out. `seen` holds the states of its mode and distance.
local function cell_of(p, mode, distance, rq, seen, aliases)
  local cell, why = MODES[mode](p, distance.cpu)
  if not cell then return nil, why end
  local irq = p:interrupted(cell.queueing_cpu)
  if irq and irq ~= p.i and not cell.ring then
    return nil, ("what CPU %d queues interrupts CPU %d: the distance is always the same")
      :format(cell.queueing_cpu, irq)
  end
  cell.mode, cell.distance = mode, distance.name
  cell.application_cpu, cell.cpus = distance.cpu, { distance.cpu }
  cell.node, why = p:node(distance.cpu, distance.memory)
  if distance.memory and not cell.node then return nil, why end
  cell.complete_cpu = cell.complete_cpu or p:completes(cell.queueing_cpu, rq or nil)
  local key = cell.complete_cpu or "rq" .. tostring(rq)
  if seen[key] and not aliases then
    return nil, cell.ring and cell.ring.iopoll and "polled: rq_affinity has nothing to do"
      or ("completes on CPU %s as with rq_affinity %d"):format(cell.complete_cpu, seen[key])
  end
  seen[key] = seen[key] or rq
  cell.rq = p.control.may and rq or nil
  cell.rq_affinity = rq or nil
  cell.name = ("%s %s rq=%s"):format(mode, distance.name, rq and tostring(rq) or "?")
  return cell
end

-- Reasons once, with all that they leave out.
local function leave_out(list, what, why)
  for _, entry in ipairs(list) do
    if entry.reason == why then
      table.insert(entry.cells, what)
      return
    end
  end
  list[#list + 1] = { cells = { what }, reason = why }
end

--- All cells for these modes, the baseline's duplicate (A/A) last.
---@param p table       of place.find
---@param modes string[]
---@param aliases boolean  also cells that are the same machine state as another
---@return table[] cells  { name, mode, distance, rq, rq_affinity, cpus, node, application_cpu,
---  queueing_cpu, complete_cpu, ring, twin }
---@return table[] left_out  { cells, reason }
function cells.all(p, modes, aliases)
  local list, out = {}, {}
  for _, mode in ipairs(modes) do
    for _, distance in ipairs(distances(p, mode)) do
      local seen = {}
      for _, rq in ipairs(values_of(p)) do
        local cell, why = cell_of(p, mode, distance, rq, seen, aliases)
        if cell then
          list[#list + 1] = cell
        else
          leave_out(out, ("%s %s rq=%s"):format(mode, distance.name, tostring(rq or "?")), why)
        end
      end
    end
  end
  if #list > 0 then
    local twin = {}
    for key, value in pairs(list[1]) do twin[key] = value end
    twin.name, twin.twin = list[1].name .. " again", list[1].name
    list[#list + 1] = twin
  end
  return list, out
end

return cells
