-- The page cache told of honestly: dropped, proved, and what the device moved beside it.
local iolua = require "iolua"
local core = require "iolua.core"
local t = require "check"
local buffered = require "iolua.job.buffered"

local SIZE = 4 << 20

-- A file on a disk, written once; nil where there is none here.
local function file()
  local folder = iolua.scratch.folder()
  local kind = iolua.scratch.filesystem(folder)
  if kind == "tmpfs" then t.skip("scratch files are in memory here") end
  return assert(iolua.scratch.file { size = SIZE, direct = false })
end

t.case("cachestat and mincore count the same pages", function()
  local f <close> = file()
  assert(buffered.drop(f))
  local buf <close> = iolua.buffer(1 << 20)
  assert(f:read(buf, 1 << 20))
  local bytes, means = assert(core.cache.resident(f))
  t.ok(bytes >= 1 << 20, "what was read is there")
  t.ok(means == "cachestat" or means == "mincore")
  t.equal(assert(core.cache.mincore(f)), bytes)
  t.equal(assert(core.cache.resident(f, 1 << 20, 1 << 20)), 1 << 20)
end)

t.case("a dropped cache is empty, and a job says so", function()
  local f <close> = file()
  local r = assert(iolua.job { target = f, rw = "read", bs = "64k", drop_cache = "fadvise" })
  t.equal(r.buffered.dropped.left_bytes, 0)
  t.equal(r.buffered.dropped.means, "fadvise")
  t.equal(r.buffered.application_bytes, SIZE)
  if not r.buffered.device then t.skip("the disk under this file has no counters") end
  t.ok(r.buffered.device.read >= SIZE, "all of it came from the device")
  t.ok(r.buffered.amplification >= 1)
end)

t.case("what is cached does not come from the device", function()
  local f <close> = file()
  assert(iolua.job { target = f, rw = "read", bs = "64k" })
  local r = assert(iolua.job { target = f, rw = "read", bs = "64k" })
  if not r.buffered.device then t.skip("the disk under this file has no counters") end
  t.ok(r.buffered.device.read < SIZE, "less than was asked")
end)

t.case("direct jobs have nothing to say of the cache", function()
  local f <close> = assert(core.file.scratch("/tmp", true))
  assert(f:truncate(SIZE))
  t.equal(assert(iolua.job { target = f, rw = "read", bs = "64k" }).buffered, nil)
end)

t.case("BLKFLSBUF is of devices", function()
  local f <close> = file()
  local r, message = iolua.job { target = f, rw = "read", drop_cache = "blkflsbuf" }
  t.equal(r, nil)
  t.contains(message, "BLKFLSBUF: Block device required")
end)

t.case("the mmap engine reads the same data", function()
  local f <close> = assert(core.file.scratch("/tmp", false))
  assert(f:truncate(1 << 20))
  assert(iolua.job { target = f, rw = "write", bs = "4k", verify = true, seed = 3 })
  local r = assert(iolua.job { target = f, rw = "randread", norepeat = true, bs = "4k",
    engine = "mmap", verify = true, seed = 3 })
  t.equal(r.engine, "mmap")
  t.equal(r.verify.checked_bytes, 1 << 20)
  t.equal(r.verify.unwritten_bytes, 0)
  t.equal(r.verify.damaged, 0)
end)

t.case("the end of a file is a short read of the mmap engine too", function()
  local f <close> = assert(core.file.scratch("/tmp", false))
  assert(f:truncate(10000))
  local r = assert(iolua.job { target = f, rw = "read", bs = 8192, size = 16384,
    engine = "mmap" })
  t.equal(r.read.bytes, 10000)
  t.equal(r.read.short, 1)
end)

t.case("mmap does one read at a time", function()
  t.raises("one operation at a time", iolua.job, { target = "/dev/zero", rw = "read",
    engine = "mmap", iodepth = 2 })
  t.raises("reads: not rw", iolua.job, { target = "/dev/null", rw = "write", engine = "mmap" })
end)

-- Bytes in the cache after 1 MiB was read in order, 16 KiB at a time, of an 8 MiB loop device
-- that is opened with one read-ahead and set to another.
local function cached_after(opened_kb, set_kb)
  local image <close> = assert(core.file.scratch("/tmp", true))
  assert(image:truncate(8 << 20))
  local loop, message = core.disk.loop(image)
  if not loop then t.skip("no loop device: " .. message) end
  local _ <close> = loop
  assert(iolua.settings.set(loop:path(), { read_ahead_kb = opened_kb }))
  local f <close> = assert(iolua.open(loop:path()))
  assert(iolua.settings.set(f, { read_ahead_kb = set_kb }))
  assert(buffered.drop(f))
  assert(iolua.job { target = f, rw = "read", bs = "16k", size = "1m", engine = "sync" })
  local bytes = assert(core.cache.resident(f))
  iolua.settings.restore()
  return bytes
end

t.case("a read-ahead that is set on an open file takes effect on it", function()
  local small, large = cached_after(4096, 128), cached_after(128, 4096)
  t.ok(small <= (1 << 20) + 2 * 131072, ("%d bytes cached at 128 KiB"):format(small))
  t.ok(large >= 2 << 20, ("%d bytes cached at 4096 KiB"):format(large))
end)

t.done()
