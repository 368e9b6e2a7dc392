-- Question: how many commits a second does group commit give, against an fsync for each?
-- Needs:    nothing (a scratch file).   Takes: a second or two.
-- Shows:    commits and fsyncs a second of 1, 4, 16 writers: those who wait share one fsync.
local iolua = require "iolua"
local f <close> = assert(iolua.scratch.file { size = "64m", direct = false, fill = false })
local done, now = iolua.fiber.queue(), require("iolua.core").clock.now
local tail, written, durable, syncing, syncs = 0, 0, 0, false, 0
local function commit(buf)              -- returns once the record is on the disk
  tail = tail + #buf
  assert(f:write(buf, (tail - #buf) % (64 << 20)))
  written = written + #buf
  local mine = written
  while durable < mine do
    if syncing then done:wait() else
      local covered = written
      syncing, syncs = true, syncs + 1
      assert(f:fdatasync())
      durable, syncing = covered, false
      done:wake(math.maxinteger)
    end
  end
end
for _, writers in ipairs { 1, 4, 16 } do
  local start, before, list, buf = now(), syncs, {}, iolua.buffer(512)
  for i = 1, writers do list[i] = iolua.spawn(function() for _ = 1, 100 do commit(buf) end end) end
  for _, t in ipairs(list) do t:join() end
  print(("%2d writers: %.0f commits, %.0f fsyncs a second"):format(writers,
    writers * 1e11 / (now() - start), (syncs - before) * 1e9 / (now() - start)))
end
