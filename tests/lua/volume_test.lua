--- Volumes on this machine: in user space over files, in jobs and in fibers.
local t = require "check"
local iolua = require "iolua"
local volume = iolua.volume

local LEG = 1 << 20
local dir = t.run("mktemp -d"):match("%S+")

-- Member i holds i in every byte.
local function member(i, size)
  local path = ("%s/m%d"):format(dir, i)
  local f = assert(io.open(path, "wb"))
  f:write(string.char(i):rep(size or LEG))
  f:close()
  return path
end

local a, b, c = member(1), member(2), member(3)

local function bytes_at(path, pos, n)
  local f = assert(io.open(path, "rb"))
  f:seek("set", pos)
  local text = f:read(n)
  f:close()
  return text
end

local function user(kind, options)
  options.backend = "user"
  return assert(volume[kind](options))
end

t.case("a stripe maps sectors as the issue says", function()
  local v <close> = user("stripe", { members = { a, b, c }, chunk = 32 * 512 })
  for _, case in ipairs { { 31, 1, 31 }, { 32, 2, 0 }, { 95, 3, 31 }, { 96, 1, 32 },
    { 100, 1, 36 }, { 1000, 2, 328 } } do
    local m, sector = v:map(case[1])
    t.equal(m, case[2])
    t.equal(sector, case[3])
  end
  t.equal(v.backend, "user")
  t.equal(v.path, nil)
  t.equal(v:size(), LEG // 16384 * 16384 * 3)
end)

t.case("auto says why it is in user space", function()
  local v <close> = assert(volume.stripe { members = { a, b } })
  t.equal(v.backend, "user")
  t.contains(v.notes[1], "in user space: ")
end)

t.case("dm is never replaced silently", function()
  local v, message, errno = volume.stripe { members = { a, b }, backend = "dm" }
  t.equal(v, nil)
  t.contains(message, 'volume.stripe: backend = "dm" cannot be had: ')
  t.ok(errno)
end)

t.case("what only the kernel has says so by name", function()
  if iolua.dm.available() then t.skip("there is a device-mapper here") end
  for _, kind in ipairs { "delay", "flakey", "error", "zero", "raid" } do
    local v, message, errno = volume[kind] {}
    t.equal(v, nil)
    t.contains(message, ("volume.%s is of device-mapper only: "):format(kind))
    t.ok(errno)
  end
  local available, why = iolua.dm.available()
  t.equal(available, false)
  t.contains(why, "device-mapper")
  t.equal((iolua.dm.list()), nil)
  t.equal((iolua.dm.create { table = { "0 8 zero" } }), nil)
end)

t.case("misuse is named", function()
  t.raises('unknown option "chunks"; did you mean "chunk"?', volume.stripe,
    { members = { a }, chunks = "4k" })
  t.raises("chunk = 700 is no multiple of a sector, 512 bytes; the nearest is 512",
    volume.stripe, { members = { a }, chunk = 700 })
  t.raises("members is a list, not empty", volume.mirror, { members = {} })
  t.raises("an error leg needs a size", volume.stripe, { members = { { error = true } } })
  t.raises('dm.create: line 1: starts at 8, but the first line starts at 0', iolua.dm.create,
    { table = { "8 8 zero" } })
  t.raises('dm.create: "a/b" is no name', iolua.dm.create,
    { name = "a/b", table = { "0 8 zero" } })
end)

t.case("a piece of a file", function()
  local v <close> = assert(volume.linear { device = b, offset = "4k", size = "8k" })
  t.equal(v:size(), 8192)
  t.equal(select(2, v:map(3)), 11)
  local other, message = volume.stripe { members = { v, a }, backend = "user" }
  t.equal(other, nil)
  t.contains(message, "a volume in user space cannot be a member of another")
end)

t.case("a described machine has no device-mapper, whatever this one has", function()
  local out = t.run(os.getenv("IOLUA") .. [[ --machine scenarios/machines/2005-u320.lua -e '
    local iolua = require "iolua"
    print(iolua.dm.available())
    local v <close> = assert(iolua.volume.stripe { members = { "/dev/sda", "/dev/sdb" } })
    print(v.backend, v:size())
    local r = assert(iolua.job { target = v, rw = "read", bs = "128k", number_ios = 10 })
    print(r.simulated, r.legs[2].ios)' 2>&1]])
  t.contains(out, "false\ta described machine has no device-mapper")
  t.contains(out, "user\t71999946752")
  t.contains(out, "true\t10")
end)

t.case("a leg that is too small is told", function()
  local v, message = volume.stripe { members = { a, { b, 0, "2m" } }, backend = "user" }
  t.equal(v, nil)
  t.contains(message, "has 1048576 bytes, 2097152 are needed from 0 on")
end)

t.case("fibers read and write across legs", function()
  local v <close> = user("stripe", { members = { a, b, c }, chunk = "16k", write = true,
    overwrite = true })
  local buf <close> = iolua.buffer(65536)
  t.equal(v:read(buf, 0), 65536)
  t.equal(buf:string(1, 1), "\1")
  t.equal(buf:string(16385, 16385), "\2")
  t.equal(buf:string(32769, 32769), "\3")
  t.equal(buf:string(49153, 49153), "\1")
  t.equal(v:read(buf, v:size() - 512), 512)
  t.equal(v:read(buf, v:size()), 0)
  local data <close> = iolua.buffer(40000)
  data:set(("x"):rep(40000))
  t.equal(v:write(data, 8192), 40000)
  t.equal(v:fsync(), true)
  t.equal(bytes_at(a, 8191, 2), "\1x")
  t.equal(bytes_at(b, 0, 16384), ("x"):rep(16384))
  t.equal(bytes_at(c, 40000 - 8192 - 16384 - 1, 2), "x\3")
  local legs = v:legs()
  t.equal(legs[1].errors + legs[2].errors + legs[3].errors, 0)
end)

t.case("a mirror lives on when a leg fails, and says so", function()
  local v <close> = user("mirror", { members = { a, { error = true, size = LEG }, c },
    write = true, overwrite = true })
  local buf <close> = iolua.buffer(4096)
  t.equal(v:degraded(), false)
  for _ = 1, 4 do t.equal(v:read(buf, 0), 4096) end
  t.equal(v:degraded(), true)
  t.equal(v:write(buf, 0), 4096)
  t.equal(bytes_at(a, 0, 4096), bytes_at(c, 0, 4096))
  t.equal(v:legs()[2].failed, true)
  local r = assert(iolua.job { target = v, rw = "randread", bs = "4k", number_ios = 100 })
  t.equal(r.degraded, true)
  t.equal(r.read.ios, 100)
  t.equal(r.legs[1].ios, 50)
end)

t.case("an error leg fails what touches it, and names itself", function()
  local v <close> = user("stripe", { members = { a, { error = true, size = LEG } },
    chunk = "16k" })
  local buf <close> = iolua.buffer(16384)
  t.equal(v:read(buf, 0), 16384)
  local n, message, errno = v:read(buf, 8192)
  t.equal(n, nil)
  t.contains(message, "read leg 2 (error) at 0: Input/output error")
  t.equal(errno, 5)
end)

t.case("a job's result has the backend and what each leg did", function()
  local v <close> = user("stripe", { members = { a, b }, chunk = "16k" })
  for _, engine in ipairs { "auto", "threads", "sync" } do
    local r = assert(iolua.job { target = v, rw = "read", bs = "64k", engine = engine,
      io_size = "1m" })
    t.equal(r.backend, "user")
    t.equal(r.read.ios, 16)
    t.equal(r.legs[1].ios, 16)
    t.equal(r.legs[1].bytes, 16 * 32768)
    t.equal(r.legs[2].bytes, 16 * 32768)
  end
end)

t.case("unmerged, each piece is a request", function()
  local v <close> = user("stripe", { members = { a, b }, chunk = "16k", merge = false })
  local r = assert(iolua.job { target = v, rw = "read", bs = "64k", io_size = "1m",
    iodepth = 8 })
  t.equal(r.legs[1].ios + r.legs[2].ios, 64)
end)

t.case("writing needs a volume that is open for writing", function()
  local v <close> = user("concat", { members = { a, b } })
  local r, message = iolua.job { target = v, rw = "write", bs = "4k", number_ios = 1 }
  t.equal(r, nil)
  t.contains(message, "concat of 2 is open for reading only")
end)

t.case("workers share a volume's size", function()
  local v <close> = user("concat", { members = { a, b, c } })
  local r = assert(iolua.job { target = v, rw = "read", bs = "4k", numjobs = 2 })
  t.equal(r.read.bytes, 3 * LEG)
  t.equal(r.legs[3].bytes, LEG)
end)

-- Four simulated disks of 1 ms a request: a row takes 1 ms, two rows merged too, unmerged 2 ms;
-- a job of two workers shares the disks, and so takes twice as long.
local function disks(n)
  local list = {}
  for i = 1, n do list[i] = iolua.sim.device { size = "64m", service = "1ms" } end
  return list
end

local SIMULATED = {
  { bs = "64k", merge = true, numjobs = 1, iops = 1000 },
  { bs = "128k", merge = true, numjobs = 1, iops = 1000 },
  { bs = "128k", merge = false, numjobs = 1, iops = 500 },
  { bs = "16k", merge = true, numjobs = 1, iops = 1000 },
  { bs = "64k", merge = true, numjobs = 2, iops = 1000 },
}

for _, case in ipairs(SIMULATED) do
  t.case(("a simulated stripe of 4: %s, %s, %d workers"):format(case.bs,
    case.merge and "merged" or "unmerged", case.numjobs), function()
    local v <close> = assert(volume.stripe { members = disks(4), chunk = "16k",
      merge = case.merge })
    t.equal(v.backend, "user")
    local r = assert(iolua.job { target = v, rw = "read", bs = case.bs, runtime = "1s",
      ramp_time = "100ms", numjobs = case.numjobs })
    t.equal(r.simulated, true)
    t.equal(r.read.ios, case.iops)
  end)
end

t.case("16k reads at depth 4 keep four simulated disks busy", function()
  local v <close> = assert(volume.stripe { members = disks(4), chunk = "16k" })
  local r = assert(iolua.job { target = v, rw = "read", bs = "16k", iodepth = 4,
    runtime = "1s", ramp_time = "100ms" })
  t.equal(r.read.ios, 4000)
end)

t.case("simulated and real members are not mixed", function()
  local v, message = volume.stripe { members = { disks(1)[1], a }, backend = "user" }
  t.equal(v, nil)
  t.contains(message, "simulated and real members")
end)

os.execute("rm -r " .. dir)
t.done()
