--- Verified jobs: what is written says what it is, what is read is checked.
--
-- Each worker has a ledger of what it wrote where. Operations that would overlap a write in
-- flight wait for it; two jobs whose regions overlap are refused when one of them is verified
-- and one of them writes. So what is reported as damage is damage.
local collect = require "iolua.job.collect"
local core = require "iolua.core"
local fiber = require "iolua.fiber"

local verify = {}

local EILSEQ, EBUSY, EINVAL = 84, 16, 22
local SECTOR = 512

local function failure(errno, text, ...)
  return nil, ("job: " .. text):format(...), errno
end

-- What tells a target from others: file and device numbers, or the object itself.
local function identity(target)
  if type(target) == "userdata" and target.id then return target:id() end
  return target.volume or target.handle or target
end

local claims = {}               -- of the jobs that run now: { id =, from =, to =, ... }

local function clash(a, b)
  return a.id == b.id and a.from < b.to and b.from < a.to and (a.verify or b.verify)
    and (a.writes or b.writes)
end

local function release(set)
  for i = #claims, 1, -1 do
    if claims[i].set == set then table.remove(claims, i) end
  end
end

local function claim_of(o, targets, worker, i, set)
  local target = targets[(i - 1) % #targets + 1]
  return { id = identity(target), from = worker.offset, to = worker.offset + worker.size,
    verify = o.verify, writes = worker.read_percent < 100, path = target:path(), set = set }
end

--- Take the regions of a job until it has ended: closed, it gives them back.
---@return table? claim
---@return string? message  it would overlap a job that runs, or its own other workers
---@return integer? errno
function verify.claim(o, targets, workers)
  local set = setmetatable({}, { __close = release })
  if o.rw == "nop" then return set end
  for i, worker in ipairs(workers) do
    local mine = claim_of(o, targets, worker, i, set)
    for _, other in ipairs(claims) do
      if clash(mine, other) then
        release(set)
        return failure(EBUSY, "%s from %d to %d is written or verified by another job%s",
          mine.path, mine.from, mine.to, other.set == set and " of the same targets" or "")
      end
    end
    claims[#claims + 1] = mine
  end
  return set
end

local function gcd(a, b)
  while b ~= 0 do a, b = b, a % b end
  return a
end

-- The largest bytes of which every operation of a worker is a multiple.
local function grain_of(worker)
  local grain, mix = worker.bs, worker.sizes
  for i = 1, mix and mix.count or 0 do
    grain = gcd(grain, mix.low[i])
    if mix.high[i] > mix.low[i] then grain = gcd(grain, mix.step[i]) end
  end
  return grain
end

-- Run 0 is of any run: whoever replays does not know which run has written.
local function new_ledger(o, worker, replays, grain)
  return core.ledger.new { seed = o.seed, grain = grain, offset = worker.offset,
    run = replays and 0 or math.random(1, 2^32 - 1 | 0), size = worker.size,
    known = worker.read_percent < 100 or replays }
end

-- Ledgers that know what the job of the option replay has written.
local function replayed(o, targets, workers, plan_of)
  if not o.replay.number_ios then
    return failure(EINVAL, "replay needs number_ios: the operations that were issued")
  end
  local writer = {}
  for key, value in pairs(o.replay) do writer[key] = value end
  writer.seed, writer.target, writer.verify = writer.seed or o.seed, o.target, true
  local others, message, errno = plan_of(writer, targets)
  if not others then return nil, message, errno end
  if #others ~= #workers then
    return failure(EINVAL, "replay: numjobs = %d, but this job has %d", #others, #workers)
  end
  return others
end

local function check_fit(o, workers, others)
  local grain = gcd(grain_of(workers[1]), others and grain_of(others[1]) or 0)
  if grain % SECTOR ~= 0 then
    return failure(EINVAL, "verify goes by sectors: bs must be multiples of %d", SECTOR)
  end
  if o.offset % SECTOR ~= 0 then
    return failure(EINVAL, "verify goes by sectors: offset = %d is no multiple of %d", o.offset,
      SECTOR)
  end
  return grain
end

local function ledger_for(o, i, worker, others, grain)
  if o.ledger then
    o.ledger[i]:begin()
    return o.ledger[i]
  end
  local ledger, message, errno = new_ledger(o, worker, others ~= nil, grain)
  if ledger and others then
    local ok, why, code = ledger:replay(others[i], others[i].number_ios)
    if not ok then return nil, why, code end
  end
  return ledger, message, errno
end

--- Give each worker its ledger.
---@return boolean? ok
---@return string? message
---@return integer? errno
function verify.prepare(o, targets, workers, plan_of)
  if not o.verify then return true end
  local others, grain, message, errno
  if o.replay then
    others, message, errno = replayed(o, targets, workers, plan_of)
    if not others then return nil, message, errno end
  end
  grain, message, errno = check_fit(o, workers, others)
  if not grain then return nil, message, errno end
  if o.ledger and #o.ledger ~= #workers then
    return failure(EINVAL, "the ledger is of %d workers, but numjobs = %d", #o.ledger, #workers)
  end
  for i, worker in ipairs(workers) do
    worker.ledger, message, errno = ledger_for(o, i, worker, others, grain)
    if not worker.ledger then return nil, message, errno end
  end
  return true
end

-- The same workers, reading what was written.
local function readers(workers)
  local list = {}
  for _, worker in ipairs(workers) do
    local writes = worker.ledger:report().writes
    local reader = {}
    for key, value in pairs(worker) do reader[key] = value end
    reader.read_percent, reader.random, reader.norepeat = 100, false, false
    reader.distribution, reader.sizes, reader.rate, reader.hook = nil, nil, nil, nil
    reader.think_ns = nil
    reader.ramp_ns, reader.runtime_ns, reader.interval_ns = 0, 0, 0
    reader.number_ios, reader.number_bytes = math.maxinteger, 0
    reader.fsync_every, reader.end_fsync, reader.watched = 0, false, nil
    reader.read_back = true
    if writes > 0 and worker.read_percent < 100 then list[#list + 1] = reader end
  end
  return list
end

-- Data is on its way to the device, so that what is read back does not come from this process's
-- writes alone; pages that are clean can be dropped then.
local function settle(targets)
  for _, target in ipairs(targets) do
    if type(target) == "userdata" and not target:direct() and target:writable() then
      local ok, message, errno = core.cache.flush(target)
      if not ok then return nil, message, errno end
    end
  end
  return true
end

local function no_mark() end

local function read_back(o, targets, workers)
  local list = readers(workers)
  if #list == 0 then return {} end
  local ok, unsettled, code = settle(targets)
  if not ok then return nil, unsettled, code end
  local crew <close>, message, errno = core.job.start(list)
  if not crew then return nil, message, errno end
  fiber.wait_readable(crew:fd())
  local options = setmetatable({ interval = false, numjobs = #list, hook = false },
    { __index = o })
  return collect.result(crew, options, targets, no_mark)
end

local NUMBERS = { "checked_bytes", "unwritten_bytes", "unsure_bytes", "damaged", "waits",
  "writes" }

local TEXT = {
  flip = "flip at %d: byte 0x%02x expected, 0x%02x found",
  misplaced = "misplaced at %d: data of offset %d expected, of %d found",
  torn = "torn at %d: write %d expected, %d found",
  stale = "stale at %d: write %d expected, %d found",
  lost = "lost at %d: write %d expected, nothing of it found",
}

--- The sentence of one stretch of damage.
---@param d table  kind, offset, expected, found
---@return string
function verify.sentence(d)
  if d.kind == "lost" then return TEXT.lost:format(d.offset, d.expected) end
  return TEXT[d.kind]:format(d.offset, d.expected, d.found)
end

-- What the ledgers of all workers found.
local function report(workers)
  local sum = { damage = {}, ledger = {} }
  for _, name in ipairs(NUMBERS) do sum[name] = 0 end
  for i, worker in ipairs(workers) do
    local one = worker.ledger:report()
    sum.ledger[i] = worker.ledger
    for _, name in ipairs(NUMBERS) do sum[name] = sum[name] + one[name] end
    for _, d in ipairs(one.damage) do
      d.message = verify.sentence(d)
      sum.damage[#sum.damage + 1] = d
    end
  end
  table.sort(sum.damage, function(a, b) return a.offset < b.offset end)
  return sum
end

--- After the job: read back, and add `verify` to its result. Damage is a failure of the job as
--- a failed operation is: nil, the first sentence, EILSEQ and the result.
function verify.finish(o, targets, workers, r, why, errno, partial)
  local told = r or partial
  if not told then return r, why, errno, partial end
  local back, message, code
  if o.do_verify and r then
    back, message, code = read_back(o, targets, workers)
    if not back then return nil, "read back: " .. message:gsub("^job: ", ""), code, told end
  end
  told.verify = report(workers)
  told.verify.read_back = back and back.read
  local v = told.verify
  if v.damaged == 0 or not r then return r, why, errno, partial end
  core.run.mark_errors()
  if o.continue_on_error then return r end
  return nil, ("%s: %s%s"):format(targets[1]:path(), v.damage[1].message,
    v.damaged > 1 and (" (and %d more)"):format(v.damaged - 1) or ""), EILSEQ, told
end

return verify
