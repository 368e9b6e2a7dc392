-- Jobs as a script sees them: options, results, errors; against the kernel's own counts.
local iolua = require "iolua"
local t = require "check"

local function scratch(bytes)
  local path = os.tmpname()
  local f = assert(io.open(path, "wb"))
  f:write(("0123456789abcdef"):rep(bytes // 16 + 1):sub(1, bytes))
  f:close()
  return path
end

-- Runs fn with a scratch file, removed afterwards.
local function with_file(bytes, fn)
  local path = scratch(bytes)
  local ok, err = pcall(fn, path)
  os.remove(path)
  if not ok then error(err, 0) end
end

local function own_io(key)
  for line in io.lines("/proc/self/io") do
    local n = line:match("^" .. key .. ": (%d+)")
    if n then return math.tointeger(n) end
  end
end

t.case("a read job reads the region once, and says what it did", function()
  with_file(65536, function(path)
    local f <close> = assert(iolua.open(path))
    local r = assert(iolua.job { target = f, rw = "read", bs = "4k", seed = 7 })
    t.equal(r.read.ios, 16)
    t.equal(r.read.bytes, 65536)
    t.equal(r.read.errors, 0)
    t.equal(r.read.short, 0)
    t.equal(r.read.lat:count(), 16)
    t.equal(r.write, nil)
    t.equal(r.seed, 7)
    t.near(r.read.iops, 16 / r.elapsed_ns * 1e9, 1e-6)
    t.near(r.read.bytes_per_s, 65536 / r.elapsed_ns * 1e9, 1e-3)
    t.ok(r.cpu.user_ns + r.cpu.system_ns > 0 or r.cpu.ns_per_io == 0)
  end)
end)

t.case("the kernel counts the same bytes", function()
  with_file(1048576, function(path)
    for _, engine in ipairs { "threads", "sync" } do     -- io_uring's are not in /proc/self/io
      local before = own_io("rchar")
      local r = assert(iolua.job { target = path, rw = "randread", bs = "64k", engine = engine,
        number_ios = 100 })
      t.equal(r.engine, engine)
      t.equal(r.read.bytes, 6553600)
      local moved = own_io("rchar") - before
      t.ok(moved >= 6553600 and moved < 6553600 + 65536, "rchar moved by " .. moved)
    end
  end)
end)

t.case("a random job without repeats writes every block", function()
  with_file(40960, function(path)
    local r = assert(iolua.job { target = path, rw = "randwrite", bs = "4k", norepeat = true,
      overwrite = true, end_fsync = true, iodepth = 4 })
    t.equal(r.write.ios, 10)
    t.ok(r.end_fsync_ns > 0)
    local f = assert(io.open(path, "rb"))
    for block = 0, 9 do
      t.ok(f:read(4096) ~= ("0123456789abcdef"):rep(256), "block " .. block .. " is as before")
    end
    f:close()
  end)
end)

t.case("a size that is no multiple of bs leaves its rest alone and says so", function()
  with_file(9120, function(path)
    local r = assert(iolua.job { target = path, rw = "read", bs = "4k" })
    t.equal(r.read.ios, 2)
    t.equal(r.read.bytes, 8192)
    t.equal(r.uncovered_bytes, 928)
  end)
end)

t.case("a file of 10 000 bytes read at 8192 gives 1808 in the second block", function()
  with_file(10000, function(path)
    local r = assert(iolua.job { target = path, rw = "read", bs = "8k", size = "16k" })
    t.equal(r.read.bytes, 10000)
    t.equal(r.read.short, 1)
    local last = assert(iolua.job { target = path, rw = "read", bs = "8k", offset = 8192, size = "8k" })
    t.equal(last.read.bytes, 1808)
  end)
end)

t.case("workers split a region they share", function()
  with_file(65536, function(path)
    local r = assert(iolua.job { target = path, rw = "read", bs = "4k", numjobs = 3 })
    t.equal(r.read.bytes, 65536)
    t.equal(#r.workers, 3)
    t.equal(r.workers[1].read.ios, 5)
    t.equal(r.workers[3].read.ios, 6)
  end)
end)

t.case("targets go round the workers", function()
  with_file(8192, function(a)
    with_file(16384, function(b)
      local r = assert(iolua.job { target = { a, b }, rw = "read", bs = "4k", numjobs = 2 })
      t.equal(r.workers[1].read.ios, 2)
      t.equal(r.workers[2].read.ios, 4)
      t.equal(r.read.bytes, 24576)
    end)
  end)
end)

t.case("direct I/O off its alignment is refused before anything is submitted", function()
  with_file(65536, function(path)
    local f = iolua.open(path, { direct = true })
    if not f then t.skip("no direct I/O in the temporary folder") end
    local r, message, errno = iolua.job { target = f, rw = "read", bs = 1000 }
    t.equal(r, nil)
    t.equal(errno, 22)
    t.contains(message, "bs = 1000 is no multiple of " .. f:block_size())
    r, message = iolua.job { target = f, rw = "read", bs = "4k", offset = 100 }
    t.equal(r, nil)
    t.contains(message, "offset = 100 is no multiple of")
    f:close()
  end)
end)

t.case("the same seed writes the same bytes, another seed others", function()
  with_file(65536, function(path)
    local function written(seed)
      assert(iolua.job { target = path, rw = "randwrite", bs = "4k", seed = seed, overwrite = true,
        number_ios = 20 })
      local f = assert(io.open(path, "rb"))
      local bytes = f:read("a")
      f:close()
      return bytes
    end
    local zeros = assert(io.open(path, "wb"))
    zeros:write(("\0"):rep(65536))
    zeros:close()
    local first = written(5)
    t.ok(first == written(5), "seed 5 twice")
    t.ok(first ~= written(6), "seed 6")
  end)
end)

t.timed("a window counts only what completes in it", function()
  with_file(65536, function(path)
    local r = assert(iolua.job { target = path, rw = "randread", bs = "4k", runtime = "500ms",
      ramp_time = "50ms" })
    t.equal(r.elapsed_ns, 500000000)
    t.ok(r.read.ios > 0)
  end)
end)

t.case("no-ops need no target and move nothing", function()
  local r = assert(iolua.job { rw = "nop", number_ios = 1000, iodepth = 8 })
  t.equal(r.read.ios, 1000)
  t.equal(r.read.bytes, 0)
  t.equal(r.read.bytes_per_s, nil)
end)

t.case("a simulated device runs in virtual time", function()
  local d = iolua.sim.device { size = "1g", channels = 1, service = "0.25ms" }
  local r = assert(iolua.job { target = d, rw = "randread", bs = "4k", iodepth = 128, ramp_time = "1s",
    runtime = "1s" })
  t.equal(r.engine, "sim")
  t.equal(r.simulated, true)
  t.equal(r.read.ios, 4000)
  t.equal(r.read.iops, 4000)
end)

t.case("misuse names the value, the rule and the nearest right one", function()
  local function refuses(part, options)
    t.contains(t.raises(part, iolua.job, options), "job")
  end
  refuses("iodepth", { rw = "read", target = "/dev/zero", iodept = 4 })
  refuses("\"radnread\" is not one of", { rw = "radnread", target = "/dev/zero" })
  refuses("rw is missing", { target = "/dev/zero" })
  refuses("needs a target", { rw = "read" })
  refuses("iodepth", { rw = "read", target = "/dev/zero", iodepth = 0 })
  refuses("runtime", { rw = "read", target = "/dev/zero", runtime = 5 })
  refuses("runtime", { rw = "read", target = "/dev/zero", runtime = 0 })
  refuses("iodepth = 4 must be 1", { rw = "read", target = "/dev/zero", engine = "sync", iodepth = 4 })
  refuses("batch = 8 is more than iodepth = 4", { rw = "nop", number_ios = 1, iodepth = 4, batch = 8 })
  refuses("needs sqpoll", { rw = "nop", number_ios = 1, ring = { sq_cpu = 0 } })
  refuses("needs a runtime", { rw = "nop" })
  refuses("mixed", { rw = "read", target = { iolua.sim.device {}, "/dev/zero" } })
  refuses("exclude each other", { rw = "write", target = "/dev/null", fsync = 1, fdatasync = 1 })
end)

t.case("what the world refuses comes back as nil and a sentence", function()
  local r, message, errno = iolua.job { target = "/nowhere/file", rw = "read" }
  t.equal(r, nil)
  t.equal(message, "open /nowhere/file: No such file or directory")
  t.equal(errno, 2)
  with_file(100, function(path)
    r, message = iolua.job { target = path, rw = "read", bs = "4k" }
    t.equal(r, nil)
    t.contains(message, "a region of 100 bytes has no block of bs = 4096")
    r, message = iolua.job { target = path, rw = "write", bs = 10 }
    t.equal(r, nil)
    t.contains(message, path)
    local f <close> = assert(iolua.open(path))
    r, message = iolua.job { target = f, rw = "write", bs = 10 }
    t.equal(r, nil)
    t.contains(message, "is open for reading only")
  end)
  with_file(0, function(path)
    r, message = iolua.job { target = path, rw = "read" }
    t.equal(r, nil)
    t.contains(message, "has 0 bytes")
  end)
end)

t.case("an absent CPU is an error that names it and the valid ones", function()
  local r, message = iolua.job { rw = "nop", number_ios = 1, cpus = "4000" }
  t.equal(r, nil)
  t.contains(message, "4000")
end)

t.case("other fibers run while a job does", function()
  local ticks = 0
  local ticker = iolua.spawn(function()
    for _ = 1, 5 do
      iolua.sleep("5ms")
      ticks = ticks + 1
    end
  end)
  assert(iolua.job { rw = "nop", runtime = "100ms" })
  ticker:join()
  t.equal(ticks, 5)
end)

t.case("a file that a job uses may be closed meanwhile", function()
  with_file(65536, function(path)
    local f = assert(iolua.open(path))
    local run = iolua.spawn(function()
      return iolua.job { target = f, rw = "randread", bs = "4k", number_ios = 50000 }
    end)
    iolua.sleep("10ms")
    f:close()
    local r = assert(run:join())
    t.equal(r.read.errors, 0)
    t.equal(r.read.ios, 50000)
  end)
end)

t.done()
