-- What is not a job of its own under faults: fibers, volumes, searches, the old programs' loads.
-- Each ends in the error's name and number, with what it has so far, and leaves nothing behind.
local core = require "iolua.core"
local iolua = require "iolua"
local t = require "check"

core.run.mark_errors = function() end    -- errors are made on purpose

local EIO, ENOSPC, ETIME = 5, 28, 62
local dir = t.run("mktemp -d /tmp/iolua-paths-XXXXXX"):gsub("\n", "")

local function sim(options)
  options.size, options.service = options.size or "1m", options.service or "100us"
  return iolua.sim.device(options)
end

local function failed(errno, words, r, message, code, ...)
  t.equal(r, nil)
  t.contains(message, words)
  t.equal(code, errno)
  return ...
end

local MB = 1 << 20

-- A loop device whose file ends at 4 of 8 MiB: beyond, it cannot be read.
local function cut_loop(fn)
  local file <close> = assert(core.file.scratch("/tmp", false))
  assert(file:truncate(8 * MB))
  local made, message = core.disk.loop(file)
  if not made then t.skip("no loop device: " .. message) end
  local loop <close> = made
  assert(file:truncate(4 * MB))
  local f <close> = assert(iolua.open(loop:path(), { direct = true }))
  local probe <close> = iolua.buffer(4096)
  if f:read(probe, 6 * MB) then t.skip("this kernel's loop devices read zeros there") end
  return fn(f, loop)
end

t.case("fibers: EIO of a read, ENOSPC of a write, a short read at the end", function()
  local buf <close> = iolua.buffer(8192)
  local full <close> = assert(iolua.open("/dev/full", { write = true, overwrite = true }))
  failed(ENOSPC, "No space left on device", full:write(buf, 0))
  failed(ENOSPC, "No space left on device", full:writev({ buf }, 0))
  local f <close> = assert(core.file.scratch("/tmp", false))
  assert(f:truncate(10000))
  t.equal(f:read(buf, 8192), 1808)
  t.equal(f:read(buf, 10000), 0)
  cut_loop(function(device)
    failed(EIO, "Input/output error", device:read(buf, 6 * MB))
    t.equal(device:read(buf, 0), 8192)
  end)
end)

t.case("fibers: one that meets an error leaves the others as they are", function()
  local f <close> = assert(core.file.scratch("/tmp", false))
  assert(f:truncate(1 << 20))
  local full <close> = assert(iolua.open("/dev/full", { write = true, overwrite = true }))
  local fibers, moved = {}, 0
  for i = 1, 16 do
    fibers[i] = iolua.spawn(function()
      local buf <close> = iolua.buffer(4096)
      for n = 0, 15 do
        if i == 7 and n == 8 then assert(full:write(buf, 0)) end
        local bytes = assert(f:write(buf, (n * 16 + i - 1) * 4096))
        moved = moved + bytes
      end
    end)
  end
  for i, fiber in ipairs(fibers) do
    local ok, message = pcall(fiber.join, fiber)
    t.equal(ok, i ~= 7)
    if i == 7 then t.contains(message, "No space left on device") end
  end
  t.equal(moved, (16 * 16 - 8) * 4096)
end)

t.case("volumes: a leg that cannot be read is EIO in fibers, a mirror reads the other", function()
  cut_loop(function(device)
    local good <close> = assert(core.file.scratch("/tmp", true))
    assert(good:truncate(8 * MB))
    local buf <close> = iolua.buffer(65536)
    local stripe <close> = assert(iolua.volume.stripe { members = { good, device }, chunk = "16k",
      backend = "user" })
    failed(EIO, "Input/output error", stripe:read(buf, 12 * MB))
    t.equal(stripe:read(buf, 0), 65536)
    local mirror <close> = assert(iolua.volume.mirror { members = { good, device },
      backend = "user" })
    for _ = 1, 4 do t.equal(mirror:read(buf, 6 * MB), 65536) end
  end)
end)

t.case("volumes: a leg that stalls is named by the volume's job", function()
  local v <close> = assert(iolua.volume.stripe { chunk = "16k", members = { sim { name = "a" },
    sim { name = "b", stalls = { { operation = 3, time = "1000s" } } } } })
  local partial = failed(ETIME, "1 request did not come back: read at ",
    iolua.job { target = v, rw = "read", bs = "16k" })
  t.equal(partial.read.ios, 5)
  t.equal(partial.stuck.offset, 5 * 16384)
end)

t.case("volumes: what is interrupted is done again, on each leg", function()
  local function member()
    return sim { errors = { { offset = 0, bytes = 1 << 20, errno = 4, count = 5 } } }
  end
  local v <close> = assert(iolua.volume.stripe { members = { member(), member() }, chunk = "16k" })
  local r = assert(iolua.job { target = v, rw = "read", bs = "64k", iodepth = 4 })
  t.equal(r.read.bytes, v:size())
  t.equal(r.read.errors, 0)
end)

t.case("searches: the rounds and points before an error are kept", function()
  local function worn() return sim { errors = { { offset = 0, bytes = 4096 } } } end
  local partial = failed(EIO, "read simulated device at 0: ",
    iolua.steady { target = worn(), rw = "read", round = "1s", rounds = 3 })
  t.equal(#partial.values, 0)
  -- One bad block in 256, 10 reads a round: not in the first.
  partial = failed(EIO, "read simulated device at 0: ", iolua.steady { target = worn(), seed = 1,
    rw = "randread", round = "1ms", rounds = 1000, window = 1000 })
  t.ok(#partial.values >= 1, "rounds")
  t.equal(partial.steady, false)
  -- Runs that have 5000 operations come after those that have fewer.
  partial = failed(ETIME, "did not come back: read at ", iolua.knee { p99 = "10ms", rw = "randread",
    target = sim { service = "1ms", stalls = { { operation = 1500, time = "2000s" } } },
    runtime = "5s" })
  t.ok(#partial.points >= 1, "points")
end)

t.case("searches: rounds in which everything fails are an error, not a crash", function()
  local function broken()
    return sim { errors = { { offset = 0, bytes = 1 << 20, errno = "EIO" } } }
  end
  for name, search in pairs { steady = { round = "10ms" }, knee = { p99 = "1ms", runtime = "100ms" } } do
    search.target, search.rw, search.continue_on_error = broken(), "randread", true
    failed(EIO, "nothing completed: Input/output error", iolua[name](search))
  end
end)

t.case("preconditioning ends where the device is full", function()
  failed(ENOSPC, "write /dev/full at 0: No space left on device", iolua.precondition {
    target = "/dev/full", rw = "randwrite", bs = "4k", size = "1m", round = "10ms",
    overwrite = true })
end)

t.case("replicates: a run that fails ends them with its error", function()
  local n = 0
  local seen = failed(EIO, "run 4: it broke", iolua.sample { measure = function()
    n = n + 1
    if n == 4 then return nil, "it broke", EIO end
    return n
  end })
  t.equal(#seen.values, 3)
end)

-- A filesystem of 256 KiB: the loads that make files run into its end.
t.case("the old programs' loads say that a filesystem is full, and remove their files", function()
  local _, code = t.run("mount -t tmpfs -o size=256k none " .. dir)
  if code ~= 0 then t.skip("no mount of one's own") end
  local workload = iolua.workload
  local ok, why = pcall(function()
    for name, run in pairs {
      iozone = function() return workload.iozone { dir = dir, min_file = "512k", max_file = "512k" } end,
      tiotest = function() return workload.tiotest { dir = dir, size = "512k", threads = 1 } end,
      bonnie = function() return workload.bonnie { dir = dir, size = "1m" } end,
      spew = function() return workload.spew { target = dir .. "/file", size = "1m" } end,
      dd = function() return workload.dd { write = dir .. "/file", bs = "64k", count = 16 } end,
    } do
      local r, message, errno = run()
      t.equal(r, nil, name)
      t.contains(message, "No space left on device")
      t.equal(errno, ENOSPC, name)
      t.run(("rm -f %s/file"):format(dir))
      t.equal(t.run("ls -A " .. dir), "", name)
    end
  end)
  t.run("umount " .. dir)
  if not ok then error(why, 0) end
end)

t.case("the loads that read say that a device cannot be read", function()
  cut_loop(function(_, loop)
    failed(EIO, "Input/output error", iolua.workload.dd { read = loop:path(), bs = "64k", direct = true })
    failed(EIO, "Input/output error", iolua.workload.hdparm { target = loop:path(), settle = 0,
      runtime = "1s", direct = true })
  end)
end)

t.run("rmdir " .. dir)
t.done()
