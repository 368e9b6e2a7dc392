-- Question: how fast is a file copied with several pieces in flight?
-- Needs:    nothing (scratch files), or --from and --to (which must not exist).   Takes: the copy.
-- Shows:    bytes and MB/s, until the copy is durable.
local iolua = require "iolua"
local opt = iolua.options { "Copy a file with several pieces in flight.",
  from = { type = "path", help = "file or device to read; default: a scratch file" },
  to = { type = "path", help = "new file to write; default: a scratch file" },
  bs = { type = "size", default = "1m", help = "of a piece" },
  iodepth = { type = "integer", default = 8, min = 1, help = "pieces in flight" } }
local function open(path, mode)
  if path then return iolua.open(path, mode) end
  return iolua.scratch.file { size = "64m", fill = not mode, direct = false }
end
local from <close> = assert(open(opt.from))
local to <close> = assert(open(opt.to, { write = true, create = true }))
local now, size, list = require("iolua.core").clock.now, from:size(), {}
local function copy(first)              -- every iodepth-th piece
  local buf <close> = iolua.buffer(opt.bs)
  for pos = first, size - 1, opt.iodepth * opt.bs do
    local n = assert(from:read(buf, pos))
    assert(n == 0 or assert(to:write(buf, pos, n)) == n, "short write")
  end
end
local start = now()
for i = 1, opt.iodepth do list[i] = iolua.spawn(copy, (i - 1) * opt.bs) end
for _, t in ipairs(list) do t:join() end
assert(to:fsync())
print(("%d bytes, %.1f MB/s"):format(size, size / (now() - start) * 1e3))
