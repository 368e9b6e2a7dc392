-- Volumes of the kernel and in user space, side by side: the same bytes on the same legs, rates
-- that add up, volumes that misbehave as told, and nothing left by runs that are killed.
-- timeout: 240
-- qemu: -blockdev driver=null-co,node-name=f0,size=1073741824,read-zeroes=on
-- qemu: -object throttle-group,id=tg0,x-bps-total=20000000
-- qemu: -blockdev driver=throttle,node-name=t0,throttle-group=tg0,file=f0
-- qemu: -device virtio-blk-pci,drive=t0
-- qemu: -blockdev driver=null-co,node-name=f1,size=1073741824,read-zeroes=on
-- qemu: -object throttle-group,id=tg1,x-bps-total=20000000
-- qemu: -blockdev driver=throttle,node-name=t1,throttle-group=tg1,file=f1
-- qemu: -device virtio-blk-pci,drive=t1
-- qemu: -blockdev driver=null-co,node-name=f2,size=1073741824,read-zeroes=on
-- qemu: -object throttle-group,id=tg2,x-bps-total=20000000
-- qemu: -blockdev driver=throttle,node-name=t2,throttle-group=tg2,file=f2
-- qemu: -device virtio-blk-pci,drive=t2
-- qemu: -blockdev driver=null-co,node-name=f3,size=1073741824,read-zeroes=on
-- qemu: -object throttle-group,id=tg3,x-bps-total=20000000
-- qemu: -blockdev driver=throttle,node-name=t3,throttle-group=tg3,file=f3
-- qemu: -device virtio-blk-pci,drive=t3
-- qemu: -blockdev driver=null-co,node-name=f4,size=1073741824,read-zeroes=on
-- qemu: -object throttle-group,id=tg4,x-bps-total=20000000
-- qemu: -blockdev driver=throttle,node-name=t4,throttle-group=tg4,file=f4
-- qemu: -device virtio-blk-pci,drive=t4
-- qemu: -blockdev driver=null-co,node-name=f5,size=1073741824,read-zeroes=on
-- qemu: -object throttle-group,id=tg5,x-bps-total=20000000
-- qemu: -blockdev driver=throttle,node-name=t5,throttle-group=tg5,file=f5
-- qemu: -device virtio-blk-pci,drive=t5
-- qemu: -blockdev driver=null-co,node-name=f6,size=1073741824,read-zeroes=on
-- qemu: -object throttle-group,id=tg6,x-bps-total=20000000
-- qemu: -blockdev driver=throttle,node-name=t6,throttle-group=tg6,file=f6
-- qemu: -device virtio-blk-pci,drive=t6
-- qemu: -blockdev driver=null-co,node-name=f7,size=1073741824,read-zeroes=on
-- qemu: -object throttle-group,id=tg7,x-bps-total=20000000
-- qemu: -blockdev driver=throttle,node-name=t7,throttle-group=tg7,file=f7
-- qemu: -device virtio-blk-pci,drive=t7
local t = require "check"
local iolua = require "iolua"
local dm, volume = iolua.dm, iolua.volume

assert(os.execute("modprobe dm-mod && modprobe loop && modprobe virtio_blk"))
local MB = 1 << 20

local function loop(name, bytes)
  assert(os.execute(("truncate -s %d /tmp/%s"):format(bytes, name)))
  return t.run("losetup -f --show /tmp/" .. name):match("%S+")
end

local legs, twins = {}, {}
for i = 1, 3 do
  legs[i] = loop("leg" .. i, 4 * MB + 512 * i)
  assert(os.execute(("truncate -s %d /tmp/twin%d"):format(4 * MB + 512 * i, i)))
  twins[i] = "/tmp/twin" .. i
end

-- The same random writes through both; then the legs' bytes are compared.
local function write_both(kernel, user, seed)
  local buf <close> = iolua.buffer(40960)
  local file <close> = assert(iolua.open(kernel.path, { write = true }))
  math.randomseed(seed)
  for i = 1, 150 do
    local sectors = math.random(80)
    local pos = math.random(0, kernel:size() // 512 - sectors) * 512
    buf:fill { seed = seed * 1000 + i }
    t.equal(file:write(buf, pos, sectors * 512), sectors * 512)
    t.equal(user:write(buf, pos, sectors * 512), sectors * 512)
    t.equal(user:read(buf, pos, sectors * 512), sectors * 512)
  end
  assert(file:fsync())
  assert(user:fsync())
end

local GEOMETRIES = {
  { "stripe", { chunk = "16k" } }, { "stripe", { chunk = 3 * 512 } }, { "concat", {} },
  { "mirror", {} },
}

for n, case in ipairs(GEOMETRIES) do
  local kind, options = table.unpack(case)
  t.case(("%s of the kernel and in user space: the same bytes on every leg (%d)"):format(kind, n),
    function()
      do
        local k <close> = assert(volume[kind] { members = legs, chunk = options.chunk })
        local u <close> = assert(volume[kind] { members = twins, chunk = options.chunk,
          backend = "user", write = true, overwrite = true })
        t.equal(k.backend, "dm")
        t.equal(u.backend, "user")
        t.equal(k:size(), u:size())
        for _ = 1, 100 do
          local sector = math.random(0, k:size() // 512 - 1)
          local a, b = k:map(sector)
          local c, d = u:map(sector)
          t.equal(a, c)
          t.equal(b, d)
        end
        write_both(k, u, n)
      end
      os.execute("sync")
      for i = 1, 3 do
        t.equal(select(2, t.run(("cmp %s %s"):format(legs[i], twins[i]))), 0)
      end
    end)
end

t.case("a job on a volume of the kernel says so", function()
  local v <close> = assert(volume.stripe { members = legs, chunk = "16k", write = true })
  local r = assert(iolua.job { target = v, rw = "randrw", bs = "4k", number_ios = 200 })
  t.equal(r.backend, "dm")
  t.equal(r.read.ios + r.write.ios, 200)
  t.equal(r.legs, nil)
end)

-- Each disk gives 20 MB/s: w of them w times that.
for _, backend in ipairs { "dm", "user" } do
  for _, width in ipairs { 1, 2, 4, 8 } do
    t.case(("a stripe of %d throttled disks reads %d MB/s (%s)"):format(width, 20 * width, backend),
      function()
        local disks = {}
        for i = 1, width do disks[i] = "/dev/vd" .. ("abcdefgh"):sub(i, i) end
        local v <close> = assert(volume.stripe { members = disks, chunk = "64k", direct = true,
          backend = backend })
        local r = assert(iolua.job { target = v, rw = "read", bs = 65536 * width, iodepth = 8,
          ramp_time = "1500ms", runtime = "2500ms" })
        t.near(r.read.bytes_per_s / 1e6, 20 * width, 20 * width * 0.05)
      end)
  end
end

t.case("delay is seen in every latency of direct reads", function()
  local v <close> = assert(volume.delay { device = legs[1], delay = "50ms", direct = true })
  local r = assert(iolua.job { target = v, rw = "randread", bs = "4k", number_ios = 10 })
  t.ok(r.read.lat:min() >= 50000000, "at least 50 ms")
  t.ok(r.read.lat:max() < 500000000, "not ten times that")
end)

t.case("error refuses all, and the job says what", function()
  local v <close> = assert(volume.error { size = "4m" })
  local r, message, errno = iolua.job { target = v, rw = "randread", bs = "4k", number_ios = 10 }
  t.equal(r, nil)
  t.equal(errno, 5)
  t.contains(message, "Input/output error")
end)

t.case("flakey fails while it is down", function()
  local v <close> = assert(volume.flakey { device = legs[1], up = "0s", down = "60s",
    features = { "error_writes" }, write = true, direct = true })
  local buf <close> = iolua.buffer(4096)
  local n, _, errno = v:write(buf, 0)
  t.equal(n, nil)
  t.equal(errno, 5)
end)

t.case("backend dm wants devices, and names the file", function()
  local v, message = volume.stripe { members = twins, backend = "dm" }
  t.equal(v, nil)
  t.contains(message, "/tmp/twin1 is no block device; set up a loop device over it")
end)

t.case("disks that hold data are read in user space, unless the kernel is insisted on", function()
  local a, b = loop("data1", 8 * MB), loop("data2", 8 * MB)
  assert(os.execute("mkfs.ext4 -q -F " .. a))
  local v <close> = assert(volume.stripe { members = { a, b }, chunk = "16k" })
  t.equal(v.backend, "user")
  t.contains(v.notes[1], "ext4")
  local r = assert(iolua.job { target = v, rw = "read", bs = "64k", number_ios = 10 })
  t.equal(r.backend, "user")
  v:close()
  for _, o in ipairs { { backend = "dm" }, { write = true } } do
    o.members = { a, b }
    local none, message = volume.stripe(o)
    t.equal(none, nil)
    t.contains(message, "ext4")
  end
  t.equal(#dm.list(), 0)
end)

t.case("a name that was given up by renaming can be taken again", function()
  local one <close> = assert(dm.create { name = "first", table = { "0 8 zero" } })
  t.equal(one:rename("second"), true)
  local two <close> = assert(dm.create { name = "first", table = { "0 8 zero" } })
  local ok, message = two:rename("second")
  t.equal(ok, nil)
  t.contains(message, "second")
  t.equal(two.name, "first")
  t.equal(#dm.list(), 2)
end)

t.case("lengths are rounded to whole rows and the rest is told", function()
  local v <close> = assert(volume.stripe { members = legs, chunk = "128k" })
  t.equal(v:size(), 3 * 4 * MB)
  t.equal(v.dm:table()[1].params:match("^3 256 "), "3 256 ")
end)

t.case("inspect follows a stack of volumes down, as the volumes map", function()
  local lin <close> = assert(volume.linear { device = legs[1], offset = "64k", size = "2m" })
  local v <close> = assert(volume.stripe { members = { lin, { legs[2], 0, "2m" } },
    chunk = "16k" })
  local node = assert(volume.inspect(v))
  t.equal(node.kind, "stripe")
  t.equal(node.chunk, 16384)
  t.equal(node.legs[1].node.kind, "concat")
  for sector = 0, 200, 7 do
    local leg, on_leg = v:map(sector)
    local steps = node:map(sector)
    t.equal(steps[2].leg, leg)
    t.equal(steps[2].sector, on_leg)
    t.equal(steps[3] and steps[3].sector, leg == 1 and on_leg + 128 or nil)
  end
end)

-- A run that makes a stack of volumes, reads, and never ends by itself.
local VICTIM = [[
local iolua = require "iolua"
local legs = { ... }
local s <close> = assert(iolua.volume.stripe { members = legs, chunk = "16k", name = "bottom" })
local d <close> = assert(iolua.volume.delay { device = s, delay = "1ms", name = "top" })
io.stdout:write("made\n") io.stdout:flush()
local z <close> = assert(iolua.dm.create { name = "aside", table = { "0 2048 zero" } })
assert(z:suspend())
while true do
  assert(iolua.job { target = d, rw = "randread", bs = "4k", iodepth = 4, runtime = "50ms" })
end
]]

local function volumes_left()
  local names = {}
  for _, v in ipairs(assert(dm.list())) do names[#names + 1] = v.name end
  return table.concat(names, " ")
end

local function kill_one(seconds)
  local iolua_path = os.getenv("IOLUA")
  local pid = t.run(("%s /tmp/victim.lua %s >/tmp/victim.out 2>&1 </dev/null & echo $!"):format(
    iolua_path, table.concat(legs, " "))):match("%d+")
  os.execute(("sleep %.3f; kill -9 %s"):format(seconds, pid))
  for _ = 1, 200 do             -- its requests in flight keep it for a moment
    if select(2, t.run("kill -0 " .. pid)) ~= 0 then break end
    os.execute("sleep 0.05")
  end
  local before = volumes_left()
  local said = t.run(iolua_path .. " -e ''")
  return before, said
end

local function journals()
  return (t.run("ls /run/iolua 2>/dev/null"))
end

t.case("what a killed run made is removed at the next start, at any point", function()
  local f = assert(io.open("/tmp/victim.lua", "w"))
  f:write(VICTIM)
  f:close()
  local own = journals()        -- of this process
  local rounds, seen = (os.getenv("VM_LONG") or "") ~= "" and 200 or 10, 0
  for i = 1, rounds do
    local before, said = kill_one(0.2 + 3.5 * (i - 1) / rounds)
    if before ~= "" then seen = seen + 1 end
    t.equal(volumes_left(), "", ("after %q: %s"):format(before, said))
    t.equal(journals(), own, "journals that are left")
  end
  t.ok(seen >= 3, "some were killed with volumes there: " .. seen)
end)

t.case("a run leaves what another one made", function()
  local theirs <close> = assert(dm.create { name = "theirs", table = { "0 2048 zero" } })
  t.run(os.getenv("IOLUA") .. " --restore")
  t.equal(volumes_left(), "theirs")
  local out = t.run(os.getenv("IOLUA") .. [[ -e 'print(require("iolua").dm.create {
    name = "theirs", table = { "0 8 zero" } })']])
  t.contains(out, "theirs is held by pid ")
  theirs:close()
end)

t.case("SIGTERM removes them in reverse order", function()
  local pid = t.run(("%s /tmp/victim.lua %s >/tmp/victim.out 2>&1 </dev/null & echo $!"):format(
    os.getenv("IOLUA"), table.concat(legs, " "))):match("%d+")
  for _ = 1, 100 do
    if t.run("cat /tmp/victim.out"):find("made") then break end
    os.execute("sleep 0.1")
  end
  os.execute("sleep 0.3; kill -TERM " .. pid)
  for _ = 1, 100 do
    if select(2, t.run("kill -0 " .. pid)) ~= 0 then break end
    os.execute("sleep 0.1")
  end
  t.equal(volumes_left(), "")
end)

t.done()
