-- Verified jobs over device-mapper targets that damage, forget, refuse and stand still.
-- timeout: 240
local t = require "check"
local iolua = require "iolua"
local core = require "iolua.core"
local damage = require "damage"
local volume = iolua.volume

core.run.mark_errors = function() end    -- damage is made on purpose
assert(os.execute("modprobe dm-mod && modprobe dm-flakey && modprobe loop"))
assert(os.execute("truncate -s 4M /tmp/leg"))
local leg = t.run("losetup -f --show /tmp/leg"):match("%S+")

local function flakey(...)
  return assert(volume.flakey { device = leg, up = "0s", down = "3600s", features = { ... },
    write = true, direct = true })
end

local function job(target, more)
  local options = { target = target, rw = "write", bs = "64k", iodepth = 4, verify = true, seed = 7 }
  for key, value in pairs(more or {}) do options[key] = value end
  return iolua.job(options)
end

t.case("a byte that dm-flakey corrupts on its way is found in every block", function()
  local v <close> = flakey("corrupt_bio_byte", "32", "w", "1", "0")
  local r, message, errno, partial = job(v)
  t.equal(r, nil)
  t.equal(errno, 84)
  t.contains(message, "flip at 31: byte 0x00 expected, 0x01 found")
  t.equal(partial.verify.damaged, 64)
  for i, d in ipairs(partial.verify.damage) do
    t.equal(d.kind, "flip")
    t.equal(d.offset, (i - 1) * 65536 + 31)
  end
end)

t.case("writes that dm-flakey drops are stale over older ones", function()
  do
    local v <close> = assert(volume.linear { device = leg, write = true, direct = true })
    t.equal(assert(job(v)).verify.damaged, 0)
  end
  local v <close> = flakey("drop_writes")
  local _, _, errno, partial = job(v)
  t.equal(errno, 84)
  t.equal(partial.verify.damaged, 64)
  t.equal(partial.verify.damage[1].kind, "stale")
end)

t.case("and lost where nothing was", function()
  assert(os.execute("dd if=/dev/zero of=/tmp/leg bs=1M count=4 conv=notrunc,fsync 2>/dev/null"))
  assert(os.execute("blockdev --flushbufs " .. leg))
  local v <close> = flakey("drop_writes")
  local _, _, errno, partial = job(v)
  t.equal(errno, 84)
  t.equal(partial.verify.damage[1].kind, "lost")
  t.equal(partial.verify.damage[1].offset, 0)
end)

for _, kind in ipairs { "linear", "stripe" } do
  for _, by in ipairs { "by_jobs", "by_fibers" } do
    t.case(("all kinds of damage to a kernel volume (%s) are found %s"):format(kind, by), function()
      local other = assert(core.file.scratch("/tmp", false))
      assert(other:truncate(4 << 20))
      local loop <close> = assert(core.disk.loop(other))
      local v <close> = kind == "linear" and assert(volume.linear { device = leg, write = true })
        or assert(volume.stripe { members = { leg, loop:path() }, chunk = "4k", backend = "dm",
          write = true })
      t.same(damage[by](v), damage.EXPECTED)
    end)
  end
end

t.case("writes that fail are errors, not damage", function()
  local v <close> = flakey("error_writes")
  local r = assert(job(v, { continue_on_error = true }))
  t.equal(r.write.errors, 64)
  t.equal(r.verify.damaged, 0)
end)

t.case("delay and a clean volume give no alarm", function()
  local v <close> = assert(volume.delay { device = leg, delay = "5ms", write = true, direct = true })
  local r = assert(job(v, { rw = "randrw", bs = "4k-64k", iodepth = 32, number_ios = 300 }))
  t.equal(r.verify.damaged, 0)
end)

t.case("a volume that stands still for a second gives that latency and no error", function()
  local v <close> = assert(volume.linear { device = leg, write = true, direct = true })
  local running = iolua.spawn(function()
    return iolua.job { target = v, rw = "randrw", bs = "4k", iodepth = 4, runtime = "3s",
      verify = true }
  end)
  iolua.sleep("500ms")
  assert(v.dm:suspend())
  iolua.sleep("1s")
  assert(v.dm:resume())
  local r = assert(running:join())
  t.equal(r.verify.damaged, 0)
  t.ok(math.max(r.read.lat:max(), r.write.lat:max()) >= 900000000, "somebody waited")
end)

t.case("a fiber that waits for a stopped volume keeps nobody: join has its time, cancel ends it", function()
  local v <close> = assert(volume.linear { device = leg, write = true, direct = true })
  local buf <close> = iolua.buffer(4096)
  assert(v:read(buf, 0))
  assert(v.dm:suspend())
  local fiber = iolua.spawn(function() return v:read(buf, 8192) end)
  local _, _, late = fiber:join(1000000000)
  local where = fiber:traceback()
  fiber:cancel()
  local from = core.clock.now()
  local _, _, cancelled = fiber:join(20000000000)
  local took = (core.clock.now() - from) / 1e9
  assert(v.dm:resume())
  t.equal(late, 62)
  t.contains(where, "read")
  t.equal(cancelled, 125)
  t.ok(took < 10, ("%.1f s"):format(took))
end)

-- In a process of its own: what is stuck keeps its device until the process ends. It tells when
-- it is under way.
local STUCK = [[
local iolua = require "iolua"
local started
local r, message, errno, partial = iolua.job { target = PATH, destroy = PATH, direct = true,
  rw = "write", bs = "4k", size = "1m", interval = "100ms", MORE, on_interval = function()
    if not started then print("started") io.stdout:flush() end
    started = true
  end }
print(r, errno, partial.write.ios > 0, message)
]]

-- What a job over a volume says that is suspended under it, and how long it took to say it.
local function stuck(more)
  local v <close> = assert(volume.linear { device = leg, write = true, direct = true })
  local path = os.tmpname()
  local file = assert(io.open(path, "w"))
  file:write((STUCK:gsub("PATH", ("%q"):format(v.path)):gsub("MORE", more)))
  file:close()
  local child = assert(io.popen(("%s %s 2>&1"):format(os.getenv("IOLUA"), path)))
  t.equal(child:read("l"), "started")
  assert(v.dm:suspend())
  local from = core.clock.now()
  local line = child:read("l")
  local took = (core.clock.now() - from) / 1e9
  assert(v.dm:resume())
  child:close()
  os.remove(path)
  t.contains(line, "nil\t62\ttrue\t")
  t.contains(line, " did not come back: write at ")
  return line, took
end

t.case("requests that never come back are named, after the grace and no later", function()
  local line, took = stuck('runtime = "3s"')
  t.contains(line, "1 request did not come back: write at ")
  t.contains(line, "out for over 3")
  t.ok(took >= 28 and took < 45, ("%.0f s"):format(took))
end)

for _, engine in ipairs { "io_uring", "threads" } do
  t.case("also where a job has no end by time: engine " .. engine, function()
    local line, took = stuck(('engine = "%s", iodepth = 4, number_ios = 100000000, grace = "2s"')
      :format(engine))
    t.contains(line, "4 requests did not come back: write at ")
    t.ok(took < 20, ("%.0f s"):format(took))
  end)
end

t.done()
