-- One measured run of fibers, a coroutine for each operation in flight, all latencies recorded.
-- Prints "IOPS n" as bench.lua reads it. Forms:
--   read    the documented f:read(buf, pos), every check on, each result looked at
--   reader  f:reader(buf, draw), 64 operations a call
--   each    the same, one operation a call
-- Usage: iolua fiber.lua null|sparse SECONDS FILE [form [depth]]
local iolua = require "iolua"

local what, seconds, path, form = arg[1], tonumber(arg[2]), arg[3], arg[4] or "read"
local depth = tonumber(arg[5] or 128)
local writes = what == "null"
local f <close> = assert(iolua.open(writes and "/dev/null" or path,
  { write = writes, overwrite = writes, direct = not writes }))
-- As the other programs do: in sequence on /dev/null, at random on the file.
local size = writes and 1 << 30 or assert(f:size())
local draw = iolua.fiber.draw { size = size, bs = "4k", order = writes and "sequential" or "random" }
local over = false

-- A buffer of each fiber, registered as the others register theirs, which pays for files only.
local function buffer()
  local buf = assert(iolua.buffer(4096))
  if not writes then assert(iolua.fiber.register(buf)) end
  return buf
end

local forms, begun = {}, 0

-- In sequence, or where a generator of the script's own says (Knuth's of MMIX: its top bits).
function forms.read()
  local buf <close> = buffer()
  local file, transfer = f, writes and f.write or f.read
  while writes and not over do
    for pos = 0, size - 4096, 4096 do
      if transfer(file, buf, pos) ~= 4096 then error("short, or failed") end
      if over then break end
    end
  end
  begun = begun + 1
  local x, shift = begun, 64
  while size // 4096 > 1 << 64 - shift do shift = shift - 1 end
  assert(size // 4096 == 1 << 64 - shift, "the file's blocks are a power of two")
  while not over do
    x = x * 6364136223846793005 + 1442695040888963407
    if transfer(file, buf, x >> shift << 12) ~= 4096 then error("short, or failed") end
  end
end

local function reader(count)
  local buf <close> = buffer()
  local transfer, bytes = (writes and f.writer or f.reader)(f, buf, draw), count * 4096
  while not over do
    if transfer(count) ~= bytes then error("short") end
  end
end

function forms.reader() reader(64) end

function forms.each()
  local buf <close> = buffer()
  local transfer = (writes and f.writer or f.reader)(f, buf, draw)
  while not over do
    if transfer() ~= 4096 then error("short") end
  end
end

local hist, now = iolua.hist(), require("iolua.core").clock.now
local fibers = {}
for i = 1, depth do fibers[i] = iolua.spawn(forms[form]) end
iolua.sleep("200ms")
iolua.fiber.latency(hist)
local from, before = now(), hist:count()
iolua.sleep(("%ds"):format(seconds))
local ns, count = now() - from, hist:count() - before
over = true
for _, t in ipairs(fibers) do t:join() end
print(("IOPS %d"):format(count * 1000000000 // ns))
