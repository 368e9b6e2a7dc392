-- Stamped writes and checked reads of a file in memory: GB a second of the worker's CPU time, as
-- they are and with the cost of moving the data taken off. Usage: iolua verify.lua
local iolua = require "iolua"

local SIZE = 64 << 20
local path = os.tmpname():gsub("^/tmp", "/dev/shm")
local f <close> = assert(iolua.open(path, { write = true, create = true, overwrite = true }))
os.remove(path)
assert(f:truncate(SIZE))

-- ns of CPU time a byte, the least of five runs.
local function cost(more)
  local least, result = math.huge, nil
  for _ = 1, 5 do
    local o = { target = f, bs = "4k", engine = "sync", seed = 7 }
    for key, value in pairs(more) do o[key] = value end
    result = assert(iolua.job(o))
    local side = result.read or result.write
    least = math.min(least, (result.cpu.user_ns + result.cpu.system_ns) / side.bytes)
  end
  return least, result
end

-- A difference that noise could have made is none.
local function row(name, plain, verified)
  local alone = verified - plain
  print(("%-28s %6.2f GB/s   alone %s GB/s"):format(name, 1 / verified,
    alone > 0.05 * verified and ("%6.2f"):format(1 / alone) or "     -"))
end

local plain_write = cost { rw = "randwrite" }
local write = cost { rw = "randwrite", verify = true, do_verify = false }
row("write 4k", plain_write, write)
for _, bs in ipairs { "4k", "64k", "1m" } do
  local plain = cost { rw = "read", bs = bs }
  row(("read %s over writes of 4k"):format(bs), plain, (cost { rw = "read", bs = bs, verify = true }))
end
