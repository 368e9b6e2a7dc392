-- Question: how many commits a second does group commit give, against one fsync each?
-- Needs:    nothing (a scratch file).   Takes: a few seconds.
-- Shows:    commits and fsyncs a second for 1, 4, 16 writers: those who wait share one fsync.
local iolua = require "iolua"
local opt = iolua.options {
  "A log with group commit: records of several writers become durable by one fsync.",
  writers = { type = "integer", list = true, default = { 1, 4, 16 }, help = "at once" },
  commits = { type = "integer", default = 200, min = 1, help = "of each writer" },
}
local f <close> = assert(iolua.scratch.file { size = "16m", fill = false })
local now, tail, durable, syncing, syncs = require("iolua.core").clock.now, 0, 0, false, 0
local done = iolua.fiber.queue()
local function commit(buf)
  local mine = tail + #buf
  assert(f:write(buf, tail % (16 << 20), nil, (function() tail = mine end)()))
  while durable < mine do
    if syncing then
      done:wait()
    else
      local covers = tail
      syncing, syncs = true, syncs + 1
      assert(f:fdatasync())
      durable, syncing = covers, false
      done:wake(math.maxinteger)
    end
  end
end
