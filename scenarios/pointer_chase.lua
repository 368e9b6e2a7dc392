-- Question: what does a read cost that must wait for the one before it?
-- Needs:    nothing (a scratch file).   Takes: seconds.
-- Shows:    reads a second of 1, 2, 4, 8 chains: each block names the next one to read.
local iolua = require "iolua"
local opt = iolua.options {
  "Chains of reads that depend on each other, as in an index or a linked list.",
  reads = { type = "integer", default = 20000, min = 8, help = "for each number of chains" },
}
local blocks, order, buf, now = 4096, {}, iolua.buffer(4096), require("iolua.core").clock.now
local f <close> = assert(iolua.scratch.file { size = blocks * 4096, fill = false })
for i = 1, blocks do order[i] = i - 1 end
for i = blocks, 2, -1 do                -- one cycle through all blocks: Sattolo's shuffle
  local j = math.random(1, i - 1)
  order[i], order[j] = order[j], order[i]
end
for i, to in ipairs(order) do assert(f:write(buf:set(("<i8"):pack(to)), (i - 1) * 4096)) end
local function chase(at, count)
  local mine <close> = iolua.buffer(4096)
  for _ = 1, count do
    assert(f:read(mine, at * 4096))
    at = ("<i8"):unpack(mine:string(1, 8))
  end
end
for _, chains in ipairs { 1, 2, 4, 8 } do
  local start, list = now(), {}
  for i = 1, chains do list[i] = iolua.spawn(chase, i, opt.reads // chains) end
  for _, t in ipairs(list) do t:join() end
  print(("%2d chains: %.0f reads a second"):format(chains, opt.reads / (now() - start) * 1e9))
end
