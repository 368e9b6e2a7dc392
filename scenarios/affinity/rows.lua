-- The rows of 2008 in the published order, and what each is on this machine: run, or printed
-- with the reason why not.
--
-- Unless rq_affinity may be set nothing outside the process is changed: C is as found, and each
-- A x Q pair runs once, in the row that C as found makes, where that is known.
local locality = require "iolua.locality"

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
  if not p.x and (a == "X" or q == "X") then return nil, p.no_x end
  local cpu, kernel = queueing(p, a, q)
  if not cpu then return nil, kernel end
  local application = a == "X" and p.x or p.i
  return {
    cpus = { application }, node = p.nodes[application], application_cpu = application,
    queueing_cpu = cpu,
    mode = kernel and "kernel thread submits (SQPOLL)" or "application submits",
    ring = kernel and { sqpoll = true, sq_cpu = cpu } or nil,
  }
end

-- Where completions go as found: "I", "Q" (the queueing CPU), or nil where that is not known.
local function as_found(p, queueing_cpu)
  if not p.irq or not p.rq then return nil end
  if p.rq == 0 or queueing_cpu == p.i then return "I" end
  if p.rq == 2 then return "Q" end
  return p.in_group[queueing_cpu] and "I" or nil
end

-- Is C of a row the place where completions go?
local function fits(a, q, c, found)
  if a == "I" and c == "A" then c = "I" end
  if a == "I" and q == "A" then q = "I" end
  return found == "I" and c == "I" or found == "Q" and c == q
end

-- The rq_affinity that makes C certain, in words.
local function needed(a, q, c)
  local value = locality.possible(a .. q .. c)
  if a == "I" and q ~= "X" or q == "I" then return "0 or 2" end
  return tostring(value)
end

local function printed(row, status, reason)
  row.status, row.reason = status, reason
  return row
end

local function runs(row, job, reason)
  row.status, row.reason = "run", reason
  for key, value in pairs(job) do row[key] = value end
  return row
end

-- A row where rq_affinity is set: each configuration runs once.
local function row_set(row, job, taken)
  local what = locality.configuration(row.A .. row.Q .. row.C)
  if taken[what] then
    return printed(row, "not run", "the same configuration as " .. taken[what])
  end
  taken[what] = row.label
  job.rq = locality.possible(row.A .. row.Q .. row.C)
  return runs(row, job, ("rq_affinity %d"):format(job.rq))
end

-- A row as found: the first of its pair that C as found fits, or the first at all.
local function row_found(p, row, job, taken)
  local a, q, c = row.A, row.Q, row.C
  local found, first = as_found(p, job.queueing_cpu), taken[a .. q]
  local right = found == nil or fits(a, q, c, found)
  if first then
    return printed(row, "not run",
      locality.configuration(a .. q .. c) == locality.configuration(first)
      and "the same configuration as " .. first
      or ("needs rq_affinity %s%s; as found: %s"):format(needed(a, q, c),
        p.irq and "" or (" and the interrupt on CPU %d"):format(p.i), first))
  elseif not right then
    return printed(row, "not run", ("needs rq_affinity %s; found %d"):format(needed(a, q, c),
      p.rq))
  end
  taken[a .. q] = row.label
  local same = a == "I" and q == "I" and taken.IA and "; the same configuration as " .. taken.IA
  return runs(row, job, AS_FOUND .. (found and (" (rq_affinity %d)"):format(p.rq) or "")
    .. (same or ""))
end

-- One of the 18. `taken` holds the label under which a pair or configuration runs already.
local function row_of(p, a, q, c, taken, setting)
  local row = { A = a, Q = q, C = c, label = ("%s %s %s"):format(a, q, c) }
  local never = impossible(a, q, c)
  if never then return printed(row, "not possible", never) end
  local job, why = pair(p, a, q)
  if not job then return printed(row, "not possible here", why) end
  row.certain = p.irq ~= nil
  if setting then return row_set(row, job, taken) end
  return row_found(p, row, job, taken)
end

-- No placement; rq_affinity set, or as found where that is the value asked for.
local function rq_row(p, value, setting)
  local row = { label = "rq=" .. value }
  local job = { mode = "no placement", rq = setting and value or nil }
  if setting then return runs(row, job, "no placement") end
  if p.rq == value then return runs(row, job, "no placement; rq_affinity as found") end
  return printed(row, "not run", p.rq and ("needs rq_affinity %d; found %d"):format(value, p.rq)
    or ("needs rq_affinity %d; not known: %s"):format(value, tostring(p.rq_why)))
end

-- Rows beyond the published ones: completion on the queueing CPU, which is no A here.
local function extra_rows(p, taken, setting)
  local list = {}
  for _, label in ipairs { "X X Q", "I X Q" } do
    local a = label:sub(1, 1)
    local job = pair(p, a, "X")
    local found = job and as_found(p, job.queueing_cpu)
    local here = job and (setting or found == "Q" and not taken[a .. "X"])
    if here then
      job.rq = setting and 2 or nil
      list[#list + 1] = runs({ A = a, Q = "X", C = "Q", label = label, certain = p.irq ~= nil },
        job, setting and "rq_affinity 2" or AS_FOUND .. " (rq_affinity 2)")
    end
  end
  return list
end

--- The 20 rows in the published order, then those that only today's kernels have.
---@param p table  of place.find
---@param setting boolean  rq_affinity may be set
---@return table[] rows  { A, Q, C, label, status, reason, and of those that run cpus, ring, mode }
function rows.all(p, setting)
  local list, taken = {}, {}
  for _, a in ipairs { "X", "I" } do
    for _, q in ipairs { "X", "A", "I" } do
      for _, c in ipairs { "X", "A", "I" } do
        list[#list + 1] = row_of(p, a, q, c, taken, setting)
      end
    end
  end
  list[#list + 1] = rq_row(p, 0, setting)
  list[#list + 1] = rq_row(p, 1, setting)
  for _, row in ipairs(extra_rows(p, taken, setting)) do list[#list + 1] = row end
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
