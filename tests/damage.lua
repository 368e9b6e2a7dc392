-- Every kind of damage made by hand through a target of 64 blocks, and found by a job and by a
-- fiber: one block each is flipped, misplaced, torn, stale, lost, all others are whole.
local core = require "iolua.core"
local iolua = require "iolua"

local damage = {}

local BS, BLOCKS, SEED = 4096, 64, 77

--- What has to be found, by offset.
damage.EXPECTED = {
  { kind = "flip", offset = BS + 1100 }, { kind = "misplaced", offset = 2 * BS },
  { kind = "torn", offset = 4 * BS + 2048 }, { kind = "stale", offset = 5 * BS },
  { kind = "lost", offset = 6 * BS },
}

local function read(target, block)
  local buf <close> = iolua.buffer(BS)
  assert(target:read(buf, block * BS))
  return buf:string()
end

local function write(target, block, text)
  local buf <close> = iolua.buffer(BS)
  buf:set(text, 1)
  assert(target:write(buf, block * BS))
end

-- Blocks 4 and 5 as the first of two writes left them.
local function before(target)
  return { torn = read(target, 4), stale = read(target, 5) }
end

local function harm(target, old)
  local text = read(target, 1)
  write(target, 1, text:sub(1, 1100) .. string.char(text:byte(1101) ~ 4) .. text:sub(1102))
  write(target, 2, read(target, 3))
  write(target, 4, read(target, 4):sub(1, 2048) .. old.torn:sub(2049))
  write(target, 5, old.stale)
  write(target, 6, ("\0"):rep(BS))
end

local function found(list)
  local kinds = {}
  for i, d in ipairs(list) do kinds[i] = { kind = d.kind, offset = d.offset } end
  table.sort(kinds, function(a, b) return a.offset < b.offset end)
  return kinds
end

--- By jobs: two that write, one that reads with what is known.
---@return table[] kinds
function damage.by_jobs(target)
  local ledger
  local function job(rw, seen)
    local r = assert(iolua.job { target = target, rw = rw, bs = BS, size = BS * BLOCKS, iodepth = 4,
      verify = true, seed = SEED, do_verify = false, ledger = seen, continue_on_error = true })
    ledger = r.verify.ledger
    return r
  end
  job("write")
  local old = before(target)
  job("write", ledger)
  assert(#job("read", ledger).verify.damage == 0, "damage before any was done")
  harm(target, old)
  return found(job("read", ledger).verify.damage)
end

--- By fibers, four at a time, that stamp and check buffers.
---@return table[] kinds
function damage.by_fibers(target)
  local list = {}
  local function each(visit)
    local fibers = {}
    for i = 0, 3 do
      fibers[i + 1] = iolua.spawn(function()
        local buf <close> = iolua.buffer(BS)
        for block = i, BLOCKS - 1, 4 do visit(buf, block) end
      end)
    end
    for _, fiber in ipairs(fibers) do fiber:join() end
  end
  local function written(from)
    each(function(buf, block)
      core.stamp.fill(buf, { seed = SEED, offset = block * BS, number = from + block })
      assert(target:write(buf, block * BS))
    end)
  end
  local function check()
    each(function(buf, block)
      assert(target:read(buf, block * BS))
      table.move(core.stamp.check(buf, { seed = SEED, offset = block * BS,
        number = 1 + BLOCKS + block }), 1, 8, #list + 1, list)
    end)
  end
  written(1)
  local old = before(target)
  written(1 + BLOCKS)
  check()
  assert(#list == 0, "damage before any was done")
  harm(target, old)
  check()
  return found(list)
end

return damage
