-- Our own forms of the old programs: the operations that their rules say, the originals'
-- columns (read back by the readers of the originals), and the originals themselves where they
-- are installed: the same transfers by the kernel's counters.
local t = require "check"
local iolua = require "iolua"
local workload = iolua.workload

local dir = (t.run("mktemp -d")):gsub("\n", "")

local function path(name) return dir .. "/" .. name end

local function make(name, bytes)
  t.run(("head -c %d /dev/urandom > %s"):format(bytes, path(name)))
  return path(name)
end

local function has(program) return (select(2, t.run("command -v " .. program))) == 0 end

-- What a function moves on a loop device, of 16 MiB unless told: { reads, read_bytes, writes, write_bytes }.
local function on_loop(fn, mib)
  local image = make("image", (mib or 16) << 20)
  local device, status = t.run("losetup -f --show --direct-io=on " .. image)
  if status ~= 0 then t.skip("no loop device: " .. device) end
  device = device:gsub("\n", "")
  local _ <close> = setmetatable({}, { __close = function() t.run("losetup -d " .. device) end })
  return fn(device)
end

local counter = require "iolua.run.device"

local function counted(device, fn)
  t.run("sync " .. device)
  local before = assert(counter.before(device))
  assert(fn())
  t.run("sync " .. device)
  local r = counter.since(before)
  r.name = nil
  return r
end

t.case("dd: whole blocks and the tail, in dd's words", function()
  local file = make("odd", 1000001)
  local r = assert(workload.dd { read = file, bs = "64k" })
  t.same(r.records_in, { whole = 15, partial = 1 })
  t.equal(r.bytes, 1000001)
  local back = assert(iolua.program.dd.read(workload.dd.text(r)))
  t.equal(back.bytes, 1000001)
  t.same(back.records_out, { whole = 15, partial = 1 })
  r = assert(workload.dd { read = file, bs = "64k", skip = 14 })
  t.same(r.records_in, { whole = 1, partial = 1 })
  r = assert(workload.dd { read = "/dev/zero", bs = "4k", count = 7 })
  t.equal(r.bytes, 28672)
end)

t.case("dd: sizes as dd writes them", function()
  -- From GNU dd: 353185562624 bytes in 420.033 s; 6553600 in 0.00185564 s.
  local records = { whole = 1, partial = 0 }
  local function said(bytes, seconds)
    return workload.dd.text { records_in = records, records_out = records, bytes = bytes,
      seconds = seconds, bytes_per_s = bytes / seconds }
  end
  t.contains(said(6553600, 0.00185564),
    "6553600 bytes (6.6 MB, 6.2 MiB) copied, 0.00185564 s, 3.5 GB/s")
  t.contains(said(353185562624, 420.033), "(353 GB, 329 GiB) copied, 420.033 s, 841 MB/s")
  t.contains(said(512, 1), "512 bytes copied, 1 s, 512 B/s")
end)

t.case("dd: the same transfers as dd's own, by the kernel's counters", function()
  on_loop(function(device)
    local ours = counted(device, function()
      return workload.dd { read = device, bs = "64k", direct = true }
    end)
    local theirs = counted(device, function()
      return iolua.run { "dd", "if=" .. device, "of=/dev/null", "bs=64k", "iflag=direct" }
    end)
    t.same(ours, theirs)
    t.equal(ours.reads, 256)
    t.equal(ours.read_bytes, 16 << 20)
  end)
end)

t.case("dd: a file that exists is not written unless that is allowed", function()
  local file = make("keep", 100)
  local r, message = workload.dd { write = file, bs = "4k", count = 1 }
  t.equal(r, nil)
  t.contains(message, "exists")
  t.raises("read or write, one of them", workload.dd, { bs = "4k" })
  t.raises("write needs a count", workload.dd, { write = file })
end)

-- spew's manual: 264k with buffers of 1k to 8k is 8 of 8k, 16 of 4k, 32 of 2k and 72 of 1k.
t.case("spew: sizes by its rule", function()
  local n = {}
  for _, bytes in ipairs(workload.spew.sizes(264 << 10, 1024, 8192)) do
    n[bytes] = (n[bytes] or 0) + 1
  end
  t.same(n, { [8192] = 8, [4096] = 16, [2048] = 32, [1024] = 72 })
end)

t.case("spew: each block once, mixed or not, in its words", function()
  for _, o in ipairs { { min = "4k", max = "32k" }, { min = "4k" }, { min = "4k", random = true } } do
    o.target, o.size, o.mode = path("spew"), "1m", "raw"
    os.remove(path("spew"))
    local r = assert(workload.spew(o))
    t.equal(r.write.bytes, 1 << 20)
    t.equal(r.read.bytes, 1 << 20)
    t.equal(#t.run("cat " .. path("spew")), 1 << 20)
    local back = assert(iolua.program.spew.read(workload.spew.text(r)))
    t.near(back.write.bytes_per_s, r.write.bytes_per_s, 10)
  end
  t.raises("times a power of two", workload.spew, { target = "x", size = "1m", min = "4k",
    max = "12k" })
end)

t.case("spew: the same number and size of operations as spew's own", function()
  if not has("spew") then t.skip("spew is not installed") end
  if not io.open("/etc/mtab") then t.skip("spew needs /etc/mtab") end
  on_loop(function(device)
    local ours = counted(device, function()
      return workload.spew { target = device, size = "4m", min = "4k", direct = true }
    end)
    local theirs = counted(device, function()
      return iolua.run { "spew", "-d", "-b", "4k", "-B", "4k", "4m", device }
    end)
    t.equal(ours.writes, theirs.writes)         -- reads: ours looks for a signature first
    t.equal(ours.write_bytes, 4 << 20)
    t.equal(theirs.write_bytes, 4 << 20)
  end)
end)

t.timed("hdparm: blocks of 2 MiB from the start, in its words", function()
  local file = make("disk", 8 << 20)
  local r = assert(workload.hdparm { target = file, runtime = "5s", settle = 0 })
  t.equal(r[file].disk.bytes, 8 << 20)
  local back = assert(iolua.program.hdparm.read(workload.hdparm.text(r)))
  t.equal(back[file].disk.bytes, 8 << 20)
  r = assert(workload.hdparm { target = file, cached = true, runtime = "50ms",
    settle = 0 })
  t.equal(r[file].cached.bytes % (2 << 20), 0)
  t.contains(select(2, workload.hdparm { target = make("small", 1000), settle = 0 }), "no block of 2 MiB")
end)

t.case("hdparm: reads what hdparm reads", function()
  if not has("hdparm") then t.skip("hdparm is not installed") end
  on_loop(function(device)
    local ours = counted(device, function() return workload.hdparm { target = device, settle = 0 } end)
    local theirs = counted(device, function() return iolua.run { "hdparm", "-t", device } end)
    t.equal(ours.read_bytes, 16 << 20)
    t.equal(theirs.read_bytes >= ours.read_bytes, true)    -- it reads a little ahead of its end
  end)
end)

t.case("tiotest: four phases by each thread, in its table", function()
  local r = assert(workload.tiotest { dir = dir, threads = 3, size = "1m", bs = "16k",
    random_ops = 50 })
  t.equal(r.write.bytes, 3 << 20)
  t.equal(r.random_write.bytes, 3 * 50 * 16384)
  t.equal(r.random_read.lat:count(), 150)
  local back = assert(iolua.program.tiotest.read(workload.tiotest.text(r)))
  t.equal(back.read.bytes, 3 << 20)
  t.near(back.total.max_ns, r.total.max_ns, 1000)
  t.equal(assert(workload.tiotest { dir = dir, size = "64k", skip = { "random_write" },
    random_ops = 1 }).random_write, nil)
end)

t.case("iozone: sizes and records doubled, large files with large records", function()
  local o = { min_file = 8 << 20, max_file = 32 << 20, min_record = 4096, max_record = 8192 }
  t.equal(#workload.iozone.plan(o), 4)         -- 32 MiB has no record of 64 KiB and more here
  o.small = true
  t.equal(#workload.iozone.plan(o), 6)
  local rows = assert(workload.iozone { dir = dir, min_file = "64k", max_file = "128k",
    max_record = "8k" })
  t.equal(#rows, 4)
  t.equal(rows[1].random_read.ios, 16)
  local back = assert(iolua.program.iozone.read(workload.iozone.text(rows)))
  t.equal(#back, 4)
  t.equal(back[4].record_bytes, 8192)
  t.equal(back[1].write.bytes_per_s // 1024, rows[1].write.bytes_per_s // 1024)
end)

t.case("bonnie: every test, in its columns, nothing left", function()
  local r = assert(workload.bonnie { dir = dir, size = "1m", byte_size = "4k", seeks = 100,
    files = { count = 1, max = 100, min = 10, dirs = 3 }, min_seconds = 0 })
  for _, name in ipairs { "putc", "block_write", "rewrite", "getc", "block_read", "seeks",
    "seq_create", "seq_stat", "seq_delete", "ran_create", "ran_stat", "ran_delete" } do
    t.ok((r[name].bytes_per_s or r[name].per_s) > 0, name)
  end
  local back = assert(iolua.program.bonnie.read(workload.bonnie.text(r)))
  t.near(back.block_read.bytes_per_s, r.block_read.bytes_per_s, 1024)
  t.same(back.files, r.files)
  t.equal(t.run("ls " .. dir .. " | grep -c bonnie"), "0\n")
end)

t.case("bonnie: a test that is too short says so", function()
  local r = assert(workload.bonnie { dir = dir, size = "64k", seeks = 1 })
  t.equal(r.block_write.too_short, true)
  t.equal(r.block_write.bytes_per_s, nil)
  t.contains(workload.bonnie.text(r), "+++++ +++")
end)

t.case("bonnie: copies in step; what fails in one ends all", function()
  local r = assert(workload.bonnie { dir = dir, files = { count = 1 }, copies = 3 })
  t.equal(#r.copies, 3)
  local bad, message = workload.bonnie { copies = 2, size = "64k",
    dir = function(copy) return copy == 1 and dir or dir .. "/none" end }
  t.equal(bad, nil)
  t.contains(message, "none")
  t.equal(t.run("ls " .. dir .. " | grep -c bonnie"), "0\n")
end)

t.case("bonnie++ itself, copies in step by its own semaphores", function()
  if not has("bonnie++") and not has("/usr/sbin/bonnie++") then
    t.skip("bonnie++ is not installed")
  end
  local r = assert(workload.bonnie.program { dir = dir, files = "1", copies = 2 })
  t.equal(#r.copies, 2)
  t.equal(r.copies[2].files.count, 1024)
  t.equal(t.run("ls " .. dir .. " | grep -ci bonnie"), "0\n")
end)

-- What the disk writes for a run on an ext4 of its own: theirs, then ours.
local function both_written(theirs, ours)
  local mounted = require "iolua.run.mounted"
  if t.run("id -u") ~= "0\n" then t.skip("a filesystem is mounted by root") end
  if not has("bonnie++") and not has("/usr/sbin/bonnie++") then t.skip("bonnie++ is not installed") end
  return on_loop(function(device)
    local written = {}
    for i = 1, 2 do
      assert(mounted.format(device, { destroy = device }))
      local before = assert(counter.before(device))
      local r, message = (i == 1 and mounted.run or mounted.iolua)(device, i == 1 and theirs or ours)
      if not r then t.skip("no mount here: " .. message) end
      written[i] = counter.since(before).write_bytes
    end
    return written[1], written[2]
  end, 64)
end

-- Both in kernel's counts: 16 MiB by blocks, 16 rewritten, a tenth of 8192 seeks write 8 KiB of
-- 2048 places (about 1 - e^-0.4 of them, 5.3 MiB); and what the filesystem adds, which is alike.
t.case("bonnie: blocks, rewrite and seeks write what bonnie++'s own do", function()
  local theirs, ours = both_written({ "bonnie++", "-u", "root", "-f", "-q", "-s", 16, "-r", 0,
    "-n", 0 }, [[assert(require("iolua").workload.bonnie { size = 16 << 20, chunk = 8192 })]])
  local expected = (32 + 16 * (1 - math.exp(-0.4))) * (1 << 20)
  t.near(theirs / expected, 1, 0.1, "theirs")
  t.near(ours / expected, 1, 0.1, "ours")
end)

-- Twice 2048 files of 1000 to 2000 bytes, a block of 4 KiB each, created and deleted: 16 MiB less
-- what is deleted before it is written, and the filesystem's own.
t.case("bonnie: files write what bonnie++'s own do", function()
  local theirs, ours = both_written({ "bonnie++", "-u", "root", "-f", "-q", "-s", 0, "-r", 0,
    "-n", "2:2000:1000:2" }, [[assert(require("iolua").workload.bonnie { files = { count = 2,
    max = 2000, min = 1000, dirs = 2 } })]])
  t.ok(theirs > 8 << 20, theirs)
  t.near(ours / theirs, 1, 0.25)
end)

t.case("files of a cancelled bonnie are removed", function()
  local running = iolua.spawn(workload.bonnie.run, { dir = dir, files = { count = 8 } })
  iolua.sleep("50ms")
  running:cancel()
  pcall(running.join, running)
  t.equal(t.run("ls " .. dir .. " | grep -c bonnie"), "0\n")
end)

t.run("rm -rf " .. dir)
t.done()
