--- Was the work done where a row of the affinity matrix says?
--
-- A row's label has three letters: A, where the application runs (X or I), Q, where requests
-- are queued (X, A or I), C, where completions are handled (X, A or I). I is the CPU that takes
-- the device's interrupts, A the application's, X another one: as A another than I, as Q and C
-- another than both. Local means without a hand-off: queued on the CPU that issued, completed
-- on the CPU that took the interrupt (the reading of 2008), or on the CPU that submitted.
--
-- Counts per CPU prove this only with one pinned submitter a device.
local locality = {}

local A_LETTERS, OTHER_LETTERS = { X = true, I = true }, { X = true, A = true, I = true }

-- A, Q and C as places: "I" the interrupt's CPU, "A" the application's, "X" a third one.
local function places(label)
  local a, q, c = label:match("^(%u) ?(%u) ?(%u)$")
  if not (A_LETTERS[a] and OTHER_LETTERS[q] and OTHER_LETTERS[c]) then
    error(("locality: label %q is not A Q C, such as \"X A I\""):format(tostring(label)), 3)
  end
  if a == "I" then
    return "I", q == "A" and "I" or q, c == "A" and "I" or c
  end
  return "A", q, c
end

--- What the label promises.
---@param label string  "XAI" or "X A I"
---@return "local"|"remote" q
---@return "local"|"remote" c  on the interrupt's CPU
function locality.expected(label)
  local a, q, c = places(label)
  return q == a and "local" or "remote", c == "I" and "local" or "remote"
end

--- The configuration behind a label: labels that are the same machine state have the same one
--- (with A on the interrupt's CPU, several letters mean it). 13 in the 18 rows.
---@param label string
---@return string
function locality.configuration(label)
  return table.concat({ places(label) }, " ")
end

--- Can Linux make this row, and how? Completions go to the interrupt's CPU (rq_affinity 0) or
--- to the queueing one (2), never to a third.
---@param label string
---@return integer? rq_affinity
---@return string? why  not
function locality.possible(label)
  local _, q, c = places(label)
  if c == "I" then return 0 end
  if c == "X" and q == "X" then
    return nil, "completions on the queueing CPU are C = Q, not a third CPU"
  end
  if c == q then return 2 end
  if c == "A" then
    return nil, "rq_affinity looks at the queueing CPU, never at the application's"
  end
  return nil, "nothing in Linux steers completions to a third CPU"
end

local function split(counts, cpu)
  local here, total = 0, 0
  for where, n in pairs(counts) do
    total = total + n
    if where == cpu then here = n end
  end
  return here, total - here
end

local function fired(counts)
  return counts ~= nil and next(counts) ~= nil and select(2, split(counts)) > 0
end

--- Local and remote counts of one device and run.
---@param n table    of trace.count: queue, complete, bio_complete by CPU
---@param at { submitter: integer, irq: integer? }  OS CPU numbers; irq nil: it has none
---@return table counts  q_local, q_remote; c_local, c_remote (the interrupt's CPU; nil without
---  one); c_local_submitter, c_remote_submitter
function locality.of(n, at)
  local result = {}
  result.q_local, result.q_remote = split(n.queue, at.submitter)
  -- A device without requests (zram, device-mapper) completes bios only.
  local done = fired(n.complete) and n.complete or n.bio_complete or {}
  if at.irq then result.c_local, result.c_remote = split(done, at.irq) end
  result.c_local_submitter, result.c_remote_submitter = split(done, at.submitter)
  return result
end

--- Means over devices or runs, as the table of 2008 has them.
---@param rows table[]  of locality.of
---@return table mean
function locality.mean(rows)
  local mean, seen = {}, {}
  for _, row in ipairs(rows) do
    for key, value in pairs(row) do
      mean[key], seen[key] = (mean[key] or 0) + value, (seen[key] or 0) + 1
    end
  end
  for key, n in pairs(seen) do mean[key] = mean[key] / n end
  return mean
end

local function contradicts(what, want, here, away, tolerance)
  if not here or not away then return nil end
  if here + away == 0 then return what .. ": no event was counted" end
  local wrong = (want == "local" and away or here) / (here + away)
  if wrong > tolerance then
    return ("%s should be %s, but %.4g %% were %s"):format(what, want, 100 * wrong,
      want == "local" and "remote" or "local")
  end
end

--- Does a row show what its label says?
---@param label string
---@param counts table  q_local, q_remote, c_local, c_remote; a pair that is nil is not judged
---@param tolerance? number  share that may be elsewhere; default 0.01
---@return boolean agrees
---@return string? why  not: a sentence for the row
function locality.check(label, counts, tolerance)
  local want_q, want_c = locality.expected(label)
  local limit = tolerance or 0.01
  local q = contradicts("Q", want_q, counts.q_local, counts.q_remote, limit)
  local c = contradicts("C", want_c, counts.c_local, counts.c_remote, limit)
  if not q and not c then return true end
  return false, q and c and q .. "; " .. c or q or c
end

return locality
