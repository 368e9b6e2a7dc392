-- Every way of I/O under faults: the right error, what was measured kept, nothing left behind,
-- no hang.
local core = require "iolua.core"
local iolua = require "iolua"
local t = require "check"

core.run.mark_errors = function() end    -- errors are made on purpose: status 3 is for others

local EIO, ENOSPC, ETIME = 5, 28, 62

local function clean(fn)
  return function()
    collectgarbage()
    local before = core.buf.alive()
    fn()
    collectgarbage()
    t.equal(core.buf.alive(), before, "buffers left behind")
  end
end

local function sim(options)
  options.size = options.size or "1m"
  options.service = options.service or "100us"
  return iolua.sim.device(options)
end

for _, engine in ipairs { "auto", "threads", "sync" } do
  t.case("a full device is ENOSPC by engine " .. engine, clean(function()
    local r, message, errno, partial = iolua.job { target = "/dev/full", overwrite = true,
      rw = "write", bs = "4k", engine = engine, number_ios = 10 }
    t.equal(r, nil)
    t.equal(errno, ENOSPC)
    t.contains(message, "write /dev/full at 0: No space left on device")
    t.equal(partial.write.ios, 0)
    t.equal(partial.write.errors, 1)
  end))
end

-- A loop device whose file is cut to `kept` bytes: beyond that, it cannot read.
local function cut_loop(bytes, kept)
  local file = assert(core.file.scratch("/tmp", true))
  assert(file:truncate(bytes))
  local loop, message = core.disk.loop(file)
  if not loop then
    file:close()
    t.skip("no loop device: " .. message)
  end
  assert(file:truncate(kept))
  return loop, file
end

for _, case in ipairs { { "auto", true }, { "threads", true }, { "sync", true }, { "sync", false },
  { "mmap", false } } do
  local engine, direct = case[1], case[2]
  t.case(("a device cut under us is EIO by engine %s%s"):format(engine, direct and ", direct" or ""),
    clean(function()
      local loop <close>, file = cut_loop(1 << 20, 512 << 10)
      local f <close> = assert(iolua.open(loop:path(), { direct = direct }))
      local r, message, errno, partial = iolua.job { target = f, rw = "read", bs = "64k",
        engine = engine }
      file:close()
      if r then t.skip("this kernel's loop devices read zeros there") end
      t.equal(errno, EIO)
      t.contains(message, "Input/output error")
      t.ok(partial.read.ios >= 1, "what was read before is kept")
      t.equal(partial.read.errors, 1)
    end))
end

t.case("errors of each kind name their operation and place", clean(function()
  for _, name in ipairs { "EIO", "ENOSPC", "ETIMEDOUT", "EREMOTEIO", "ENODATA" } do
    for _, kind in ipairs { "read", "write" } do
      local _, message, _, partial = iolua.job { rw = kind, bs = "4k", iodepth = 4,
        target = sim { errors = { { offset = 65536, errno = name, kind = kind } } } }
      t.contains(message, kind .. " simulated device at 65536: ")
      t.ok(partial[kind].ios >= 16 and partial[kind].ios <= 19, "what came before is kept")
    end
  end
end))

t.case("what is interrupted is done again and counts once", clean(function()
  for _, errno in ipairs { 4, 11 } do                -- EINTR, EAGAIN
    local r = assert(iolua.job { target = sim { errors = { { offset = 0, bytes = 1 << 20,
      errno = errno, count = 7 } } }, rw = "read", bs = "4k", iodepth = 4 })
    t.equal(r.read.ios, 256)
    t.equal(r.read.errors, 0)
  end
end))

t.case("a stall is in the tail, not a failure", clean(function()
  local r = assert(iolua.job { target = sim { stalls = { { operation = 100, time = "5s" } } },
    rw = "read", bs = "4k" })
  t.equal(r.read.lat:max(), 5000000000)
  t.near(r.read.lat:percentile(50), 100000, 1000)
end))

t.case("what never comes back is named with its offset and age", clean(function()
  local d = sim { stalls = { { operation = 3, time = "1000s" } } }
  local r, message, errno, partial = iolua.job { target = d, rw = "read", bs = "4k",
    runtime = "1s" }
  t.equal(r, nil)
  t.equal(errno, ETIME)
  t.contains(message, "1 request did not come back: read at 8192, out for over 30 s")
  t.equal(partial.read.ios, 2)
end))

-- Of jobs that have no end by time: each kind of loop, on simulated devices.
for name, more in pairs { closed = { iodepth = 4 }, ["of mixed sizes"] = { bs = "1k-8k", iodepth = 4 },
  open = { rate_iops = 100, iodepth = 8 }, thinking = { thinktime = "1ms", thinktime_blocks = 2 },
  verified = { rw = "randwrite", verify = true, iodepth = 4 } } do
  t.case("nothing hangs without a runtime: a loop that is " .. name, clean(function()
    local d = sim { data = more.verify, stalls = { { operation = 3, time = "1000s" },
      { operation = 50, time = "999s" } } }
    local options = { target = d, rw = "randread", bs = "4k", size = "512k", seed = 3 }
    for key, value in pairs(more) do options[key] = value end
    local r, message, errno, partial = iolua.job(options)
    t.equal(r, nil)
    t.equal(errno, ETIME)
    t.contains(message, " did not come back: ")
    local stuck = partial.stuck
    t.ok(stuck.count >= 1 and stuck.age_ns > 30000000000 and stuck.age_ns < 33000000000,
      stuck.age_ns)
    t.contains(message, ("%s at %d, out for over 3"):format(stuck.operation, stuck.offset))
    t.ok((partial.read or partial.write).ios >= 2, "what came back is kept")
  end))
end

t.case("the oldest is named, not the first", clean(function()
  local d = sim { channels = 2, stalls = { { operation = 5, time = "200s" } } }
  local _, message, _, partial = iolua.job { target = d, rw = "read", bs = "4k", iodepth = 2,
    grace = "2s" }
  t.contains(message, "1 request did not come back: read at 16384, out for over 2")
  t.equal(partial.stuck.offset, 16384)
  t.equal(partial.read.ios, 255)
end))

t.case("the grace is a job's to choose; who answers within it is not given up", clean(function()
  local function stalled(grace, time)
    return iolua.job { target = sim { stalls = { { operation = 2, time = time } } }, rw = "read",
      bs = "4k", number_ios = 3, grace = grace }
  end
  local _, message = stalled("200ms", "5s")
  t.contains(message, "read at 4096, out for over ")
  t.contains(message, " ms")
  t.equal(assert(stalled("10s", "5s")).read.ios, 3)
  t.equal(assert(stalled("20min", "1000s")).read.lat:max(), 1000000000000)
  t.raises("grace", stalled, "1us", "1s")
end))

t.case("slow is not stuck: what goes on coming back is waited for", clean(function()
  local r = assert(iolua.job { target = sim { service = "20s" }, rw = "read", bs = "4k",
    iodepth = 16, number_ios = 16 })
  t.equal(r.read.ios, 16)
  t.equal(r.read.lat:max(), 320000000000)
end))

t.case("failed writes are no damage when they are verified", clean(function()
  local d = sim { data = true, errors = { { offset = 65536, kind = "write", count = 3 } } }
  local r = assert(iolua.job { target = d, rw = "randwrite", bs = "4k", iodepth = 8, seed = 3,
    number_ios = 2000, verify = true, continue_on_error = true })
  t.equal(r.write.errors, 3)
  t.equal(r.verify.damaged, 0)
end))

t.case("the end of a file is short, whatever the engine", clean(function()
  local f <close> = assert(core.file.scratch("/tmp", false))
  assert(f:truncate(10000))
  for _, engine in ipairs { "auto", "threads", "sync", "mmap" } do
    local r = assert(iolua.job { target = f, rw = "read", bs = 8192, size = 16384,
      engine = engine })
    t.equal(r.read.bytes, 10000, engine)
    t.equal(r.read.short, 1, engine)
  end
end))

t.case("a leg that fails ends a stripe and leaves a mirror", clean(function()
  local function members()
    return { sim { name = "a" }, sim { name = "b", errors = { { offset = 0 } } } }
  end
  local v <close> = assert(iolua.volume.stripe { members = members(), chunk = "16k" })
  local r, _, errno, partial = iolua.job { target = v, rw = "read", bs = "64k" }
  t.equal(r, nil)
  t.equal(errno, EIO)
  t.equal(partial.error.offset, 0)
  local m <close> = assert(iolua.volume.mirror { members = members() })
  r = assert(iolua.job { target = m, rw = "write", bs = "4k", number_ios = 100 })
  t.equal(r.write.ios, 100)
  t.ok(r.degraded, "it says so")
end))

t.done()
