-- Question: how fast is a file copied with several pieces in flight?
-- Needs:    --from and --to: files (what is copied to must not exist).   Takes: the copy.
-- Shows:    bytes and MB/s; the copy is durable when it ends.
local iolua = require "iolua"
local opt = iolua.options {
  "Copy a file with several pieces in flight.",
  from = { type = "path", required = true, help = "file or device to read" },
  to = { type = "path", required = true, help = "new file to write" },
  bs = { type = "size", default = "1m", help = "of a piece" },
  iodepth = { type = "integer", default = 8, min = 1, help = "pieces in flight" },
}
local from <close> = assert(iolua.open(opt.from))
local to <close> = assert(iolua.open(opt.to, { write = true, create = true }))
local now, size, at, list = require("iolua.core").clock.now, from:size(), 0, {}
local start = now()
for i = 1, opt.iodepth do
  list[i] = iolua.spawn(function()
    local buf <close> = iolua.buffer(opt.bs)
    while at < size do
      local pos = at
      at = at + opt.bs
      local n = assert(from:read(buf, pos))
      assert(n == 0 or assert(to:write(buf, pos, n)) == n, "short write")
    end
  end)
end
for _, t in ipairs(list) do t:join() end
assert(to:fsync())
print(("%d bytes, %.1f MB/s"):format(size, size / (now() - start) * 1e3))
