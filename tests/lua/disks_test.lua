--- Scratch disks: members of our own, throttled where the kernel can, gone afterwards.
local t = require "check"
local iolua = require "iolua"
local scratch = iolua.scratch

local MB = 1 << 20

t.case("plain files hold random data and make a volume", function()
  local disks <close> = assert(scratch.disks { count = 3, size = "1m", kind = "file" })
  t.equal(#disks, 3)
  t.equal(disks.kind, "file")
  local v <close> = assert(iolua.volume.stripe { members = disks, chunk = "16k",
    backend = "user" })
  t.equal(v:size(), 3 * MB // 49152 * 49152)
  local r = assert(iolua.job { target = v, rw = "read", bs = "48k" })
  t.equal(r.legs[1].bytes, r.legs[3].bytes)
  local buf <close> = iolua.buffer(4096)
  local other <close> = iolua.buffer(4096)
  disks[1]:read(buf, 0)
  disks[2]:read(other, 0)
  t.ok(buf:string() ~= other:string(), "different data on each")
end)

t.case("throttling plain files is not promised", function()
  local disks <close> = assert(scratch.disks { count = 1, size = "64k", kind = "file",
    bandwidth = "1MB/s" })
  t.equal(disks.throttled, nil)
  t.equal(disks.notes[1], "not throttled: that needs block devices")
end)

t.case("misuse is named", function()
  t.raises("out of range", scratch.disks, { count = 0 })
  t.raises("bandwidth", scratch.disks, { bandwidth = "quick" })
end)

local function loops()
  local disks, message = scratch.disks { count = 2, size = "8m", kind = "loop" }
  if not disks then t.skip(message) end
  return disks
end

t.case("loop devices go with their last user", function()
  local disks <close> = loops()
  local path = disks[1]
  t.ok(path:find("^/dev/loop%d+$"))
  t.equal(iolua.dm.sectors(path), 8 * MB // 512)
  local name = path:match("loop%d+")
  disks:close()
  t.equal((t.run("cat /sys/block/" .. name .. "/loop/backing_file 2>/dev/null")), "")
end)

t.case("settings of a loop device are back before it is let go", function()
  local disks = assert(scratch.disks { count = 1, size = "1m" })
  if disks.kind ~= "loop" then
    disks:close()
    t.skip(disks.notes[1] or "no loop devices here")
  end
  local path = disks[1]
  local found = assert(iolua.settings.get(path)).read_ahead_kb
  assert(iolua.settings.set(path, { read_ahead_kb = found + 1024 }))
  local target = require("iolua.settings.queue").path(require("iolua.core").blk.find(path),
    "read_ahead_kb")
  local journal = require "iolua.journal"
  t.ok(journal.find(target), "recorded")
  local guard <close> = assert(iolua.open(path))        -- nobody else can have it yet
  disks:close()
  t.equal(journal.find(target), nil)
  t.equal(assert(iolua.settings.get(path)).read_ahead_kb, found)
  guard:close()
end)

t.case("zram disks are taken back, also from a run that was killed", function()
  local disks, message = scratch.disks { count = 2, size = "4m", kind = "zram" }
  if not disks then t.skip(message) end
  local path = disks[2]
  t.equal(iolua.dm.sectors(path), 4 * MB // 512)
  local f = assert(iolua.open(path, { direct = true }))
  local r = assert(iolua.job { target = f, rw = "read", bs = "64k" })
  t.equal(r.read.bytes, 4 * MB)
  f:close()
  t.equal(disks:close(), true)
  t.equal(iolua.dm.sectors(path), nil)
  local out = t.run(os.getenv("IOLUA") .. [[ -e '
    local d = assert(require("iolua").scratch.disks { count = 1, size = "1m", kind = "zram" })
    print(d[1]) io.stdout:flush()
    os.execute("kill -9 $PPID")']])
  local left = out:match("/dev/zram%d+")
  t.ok(iolua.dm.sectors(left), "it is left: " .. out)
  t.run(os.getenv("IOLUA") .. " --restore")
  t.equal(iolua.dm.sectors(left), nil)
end)

t.case("a limit is kept within 10 %, and goes with the disks", function()
  loops():close()
  local disks <close> = assert(scratch.disks { count = 1, size = "8m", bandwidth = "4MB/s" })
  if not disks.throttled then t.skip(disks.notes[1]) end
  local f <close> = assert(iolua.open(disks[1], { direct = true }))
  local r = assert(iolua.job { target = f, rw = "read", bs = "64k", iodepth = 4,
    runtime = "1s", ramp_time = "500ms" })
  t.near(r.read.bytes_per_s / 1e6, 4, 0.4)
  f:close()
  local number = t.run(("cat /sys/block/%s/dev"):format(disks[1]:match("[^/]*$"))):match("%S+")
  disks:close()
  -- Others may have limits of their own at the same time.
  t.equal((t.run(("grep '^%s ' /sys/fs/cgroup/blkio/blkio.throttle.read_bps_device"):format(number))), "")
end)

t.done()
