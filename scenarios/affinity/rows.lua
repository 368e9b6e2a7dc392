-- The rows of 2008 in the published order, and what each is on this machine: run, or printed
-- with the reason why not.
local locality = require "iolua.locality"

local rows = {}

-- The CPU that queues, and whether a kernel thread does it; or nil and why it cannot be had.
local function queueing(p, a, q)
  local application = a == "X" and p.x or p.i
  if q == "A" or a == "I" and q == "I" then return application, false end
  if p.sqpoll_why then return nil, "Q needs SQPOLL: " .. p.sqpoll_why end
  if q == "I" then return p.i, true end
  if a == "I" then return p.x, true end
  if not p.third then
    return nil, ("Q on a CPU that is neither A nor I needs three CPUs; allowed: %s")
      :format(p.allowed)
  end
  return p.third, true
end

-- What an A x Q pair needs of a job; or nil and why it cannot run here.
local function pair(p, a, q)
  if not p.x and (a == "X" or q == "X") then
    return nil, ("no other CPU to be X: only CPU %s may be used"):format(p.allowed)
  end
  local cpu, kernel = queueing(p, a, q)
  if not cpu then return nil, kernel end
  local irq = p:interrupted(cpu)
  if irq and irq ~= p.i then
    return nil, ("what is queued on CPU %d interrupts CPU %d, not I"):format(cpu, irq)
  end
  local application = a == "X" and p.x or p.i
  return {
    cpus = { application }, node = p:node(application), application_cpu = application,
    queueing_cpu = cpu, mode = kernel and "kernel thread submits (SQPOLL)"
      or "application submits",
    ring = kernel and { sqpoll = true, sq_cpu = cpu } or nil,
  }
end

-- The value of rq_affinity that makes the row, and the reason to print; or nil and why not.
-- `rq` false: as found.
local function steering(p, row, job)
  local value = locality.possible(row.label)
  local wanted = value == 2 and job.queueing_cpu or p.i
  if value == 0 and not p:interrupted(job.queueing_cpu) then
    if job.queueing_cpu ~= p.i then
      if p.by_cpu == nil and not p.control.may then return false, "C as found" end
      return nil, ("nothing interrupts CPU %d: %s"):format(p.i, p.i_why or "not known")
    end
    value = 2                       -- the queueing CPU is I: what completes there is at I
  end
  if p.control.may then return value, "rq_affinity " .. value, wanted end
  local found = p.rq and p:completes(job.queueing_cpu, p.rq)
  if not found then return false, "C as found" end
  if found == wanted then return false, ("rq_affinity %d as found"):format(p.rq), wanted end
  return nil, ("needs rq_affinity %d; found %d (%s)"):format(value, p.rq, p.control.why
    or "not set")
end

local function printed(row, status, reason)
  row.status, row.reason = status, reason
  return row
end

-- One of the 18. `taken` holds the label under which a configuration runs already.
local function row_of(p, a, q, c, taken)
  local row = { A = a, Q = q, C = c, label = ("%s %s %s"):format(a, q, c) }
  local possible, never = locality.possible(row.label)
  if not possible then return printed(row, "not possible", never) end
  local job, why = pair(p, a, q)
  if not job then return printed(row, "not possible here", why) end
  local configuration = locality.configuration(row.label)
  local first = taken[configuration]
  if first then return printed(row, "not run", "the same configuration as " .. first) end
  local rq, reason, complete = steering(p, row, job)
  if rq == nil then
    return printed(row, p.control.may and "not possible here" or "not run", reason)
  end
  -- C as found: the pair runs once, whatever its C.
  local as_found = not complete and a .. q
  if as_found and taken[as_found] then
    return printed(row, "not run", ("C cannot be told here: as %s"):format(taken[as_found]))
  end
  taken[configuration], taken[as_found or ""] = row.label, row.label
  for key, value in pairs(job) do row[key] = value end
  row.status, row.reason, row.rq, row.complete_cpu = "run", reason, rq or nil, complete
  return row
end

-- No placement, under one value of rq_affinity.
local function rq_row(p, value)
  local row = { label = "rq=" .. value, mode = "no placement" }
  if p.control.may then
    row.rq = value
    return printed(row, "run", "no placement; rq_affinity " .. value)
  elseif p.rq == value then
    return printed(row, "run", "no placement; rq_affinity as found")
  end
  return printed(row, "not run", p.rq and ("needs rq_affinity %d; found %d"):format(value, p.rq)
    or ("needs rq_affinity %d; not known: %s"):format(value, tostring(p.rq_why)))
end

-- Rows beyond the published ones: completed on the queueing CPU, which is neither A nor I.
local function extra_row(p, a)
  local row = { A = a, Q = "X", C = "Q", label = a .. " X Q" }
  local job = pair(p, a, "X")
  if not job then return nil end
  if not p.control.may and (p.rq == nil or p:completes(job.queueing_cpu, p.rq)
      ~= job.queueing_cpu) then return nil end
  for key, value in pairs(job) do row[key] = value end
  row.rq, row.complete_cpu = p.control.may and 2 or nil, job.queueing_cpu
  return printed(row, "run", p.control.may and "rq_affinity 2"
    or ("rq_affinity %d as found"):format(p.rq))
end

--- The 20 rows in the published order, then those that only today's kernels have.
---@param p table  of place.find
---@return table[] rows  { A, Q, C, label, status, reason, and of those that run cpus, ring,
---  mode, rq (to set; nil: as found), complete_cpu (nil: C is as found) }
function rows.all(p)
  local list, taken = {}, {}
  for _, a in ipairs { "X", "I" } do
    for _, q in ipairs { "X", "A", "I" } do
      for _, c in ipairs { "X", "A", "I" } do list[#list + 1] = row_of(p, a, q, c, taken) end
    end
  end
  list[#list + 1] = rq_row(p, 0)
  list[#list + 1] = rq_row(p, 1)
  for _, a in ipairs { "X", "I" } do list[#list + 1] = extra_row(p, a) end
  return list
end

--- Those that run, by label and in order.
---@param list table[]
---@return table by_label
---@return string[] labels
function rows.runnable(list)
  local by_label, labels = {}, {}
  for _, row in ipairs(list) do
    if row.status == "run" then
      by_label[row.label] = row
      labels[#labels + 1] = row.label
    end
  end
  return by_label, labels
end

return rows
