-- The rows of 2008 in the published order, and what each is on this machine: run, or printed
-- with the reason why not. Nothing outside the process is changed: C is as found.
local rows = {}

local AS_FOUND = "C as found"

-- Why no kernel can make this C at all.
local function impossible(a, q, c)
  if c == "X" then
    return "nothing completes on a CPU that neither queued nor took the interrupt"
  end
  if c == "A" and a == "X" and q ~= "A" then
    return "completion follows the queueing CPU, which is not A here"
  end
end

-- The CPU that queues, and whether a kernel thread does it; or why it cannot be had.
local function queueing(p, a, q)
  local application = a == "X" and p.x or p.i
  if q == "A" or a == "I" and q == "I" then return application, false end
  if p.no_sqpoll then return nil, "Q needs SQPOLL: " .. p.no_sqpoll end
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
  local application = a == "X" and p.x or p.i
  return {
    cpus = { application }, node = p.nodes[application], application_cpu = application,
    queueing_cpu = cpu, mode = kernel and "kernel thread submits (SQPOLL)"
      or "application submits",
    ring = kernel and { sqpoll = true, sq_cpu = cpu } or nil,
  }
end

-- The rq_affinity that makes C certain, in words.
local function needed(c, q)
  if c == "I" then return q == "I" and "0 or 2" or "0" end
  return q == "A" and "2" or "0"
end

local function printed(row, status, reason)
  row.status, row.reason = status, reason
  return row
end

-- One of the 18. `taken` holds the label under which a pair runs already.
local function row_of(p, a, q, c, taken)
  local row = { A = a, Q = q, C = c, label = ("%s %s %s"):format(a, q, c) }
  local never = impossible(a, q, c)
  if never then return printed(row, "not possible", never) end
  local job, why = pair(p, a, q)
  if not job then return printed(row, "not possible here", why) end
  local first = taken[a .. q]
  if first then
    return printed(row, "not run", a == "I" and q ~= "X"
      and "the same configuration as " .. first
      or ("needs rq_affinity %s and the interrupt on CPU %d; as found: %s"):format(needed(c, q),
        p.i,
        first))
  end
  taken[a .. q] = row.label
  row.status, row.reason = "run", AS_FOUND
  for key, value in pairs(job) do row[key] = value end
  if a == "I" and q == "I" then row.reason = AS_FOUND .. "; the same configuration as "
    .. taken.IA end
  return row
end

-- No placement; rq_affinity as found where that is the value asked for.
local function rq_row(p, value)
  local row = { label = "rq=" .. value }
  if p.rq == value then
    row.status, row.mode, row.reason = "run", "no placement", "no placement; rq_affinity as found"
    return row
  end
  return printed(row, "not run", p.rq and ("needs rq_affinity %d; found %d"):format(value, p.rq)
    or ("needs rq_affinity %d; not known: %s"):format(value, tostring(p.rq_why)))
end

--- The 20 rows in the published order.
---@param p table  of place.find
---@return table[] rows  { A, Q, C, label, status, reason, and of those that run cpus, ring, mode }
function rows.all(p)
  local list, taken = {}, {}
  for _, a in ipairs { "X", "I" } do
    for _, q in ipairs { "X", "A", "I" } do
      for _, c in ipairs { "X", "A", "I" } do list[#list + 1] = row_of(p, a, q, c, taken) end
    end
  end
  list[#list + 1] = rq_row(p, 0)
  list[#list + 1] = rq_row(p, 1)
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
