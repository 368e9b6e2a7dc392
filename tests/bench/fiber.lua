-- One measured run of fibers: each of 128 reads (or writes) with the documented f:read(buf, pos),
-- every check on, all latencies recorded. Prints "IOPS n" as bench.lua reads it.
-- Usage: iolua fiber.lua null|sparse SECONDS FILE
local iolua = require "iolua"

local what, seconds, path = arg[1], tonumber(arg[2]), arg[3]
local writes = what == "null"
local f <close> = assert(iolua.open(writes and "/dev/null" or path,
  { write = writes, overwrite = writes, direct = not writes }))
local now = require("iolua.core").clock.now
local rng = require("iolua.core").rng.new(1)
local blocks = writes and 1 << 18 or assert(f:size()) // 4096
local done, over = 0, false

local function worker()
  local buf <close> = assert(iolua.buffer(4096))
  local transfer, below = writes and f.write or f.read, rng.below
  while not over do
    assert(transfer(f, buf, below(rng, blocks) << 12))
    done = done + 1
  end
end

local hist = iolua.hist()
local fibers = {}
for i = 1, 128 do fibers[i] = iolua.spawn(worker) end
iolua.sleep("200ms")
iolua.fiber.latency(hist)
local from, before = now(), done
iolua.sleep(("%ds"):format(seconds))
local ns, count = now() - from, done - before
over = true
for _, t in ipairs(fibers) do t:join() end
assert(hist:count() >= count - 128)
print(("IOPS %d"):format(count * 1000000000 // ns))
