-- Question: how fast are random reads, with the loop written by oneself?
-- Needs:    nothing (a scratch file), or --target to read.   Takes: a second.
-- Shows:    reads a second and their latency, from as many fibers as operations in flight.
local iolua = require "iolua"
local opt = iolua.options {
  "Random reads from fibers: a load of one's own.",
  target = { type = "path", help = "file or device to read; default: a scratch file" },
  iodepth = { type = "integer", default = 32, min = 1, help = "fibers, each with one read" },
  reads = { type = "integer", default = 100000, min = 1, help = "in all" },
}
local open = opt.target and iolua.open or iolua.scratch.file
local f <close> = assert(open(opt.target or { size = "64m" }))
local blocks, left, latency = math.max(1, f:size() // 4096), opt.reads, iolua.hist()
local now, list = require("iolua.core").clock.now, {}
local start = now()
for i = 1, opt.iodepth do
  list[i] = iolua.spawn(function()
    local buf <close> = iolua.buffer(4096)
    while left > 0 do
      left = left - 1
      local t0 = now()
      assert(f:read(buf, math.random(0, blocks - 1) * 4096))
      latency:record(now() - t0)
    end
  end)
end
for _, t in ipairs(list) do t:join() end
print(("%.0f reads a second, %s"):format(opt.reads / (now() - start) * 1e9, latency))
