-- Trims: discards by a job, of a file (holes) and of a device (the kernel counts them).
local t = require "check"
local iolua = require "iolua"

local function scratch() return assert(iolua.scratch.file { size = "4m", direct = false }) end

local function zeros(f, from, bytes)
  local buf <close> = iolua.buffer(bytes)
  assert(f:read(buf, from))
  return not buf:string():find("[^\0]")
end

for _, engine in ipairs { "sync", "threads", "auto" } do
  t.case("a file has holes where it was trimmed, and nowhere else: " .. engine, function()
    local f <close> = scratch()
    local r = assert(iolua.job { target = f, rw = "randtrim", bs = "64k", offset = "1m", size = "2m",
      norepeat = true, engine = engine, iodepth = engine == "sync" and 1 or 4 })
    t.equal(r.trim.ios, 32)
    t.equal(r.trim.bytes, 2 << 20)
    t.equal(r.trim.lat:count(), 32)
    t.same({ r.read, r.write }, {})
    t.equal(r.workers[1].trim.ios, 32)
    t.equal(f:size(), 4 << 20)
    t.ok(not zeros(f, 0, 1 << 20), "what is before it is there")
    t.ok(zeros(f, 1 << 20, 2 << 20), "holes read as zeros")
    t.ok(not zeros(f, 3 << 20, 1 << 20), "what is behind it is there")
  end)
end

t.case("a device is told: so many discards, so many bytes", function()
  local disks <close> = assert(iolua.scratch.disks { count = 1, size = "4m" })
  if disks.kind ~= "loop" then t.skip(disks.notes[1]) end
  local function discards()
    local f <close> = assert(io.open("/sys/block/" .. disks[1]:match("loop%d+") .. "/stat"))
    local words = {}
    for word in f:read("a"):gmatch("%d+") do words[#words + 1] = math.tointeger(word) end
    return words[12], words[14] * 512
  end
  local n, bytes = discards()
  local r, message, errno = iolua.job { target = disks[1], rw = "trim", bs = "64k" }
  if errno == 95 then t.skip(message) end
  t.equal(assert(r, message).trim.bytes, 4 << 20)
  local n2, bytes2 = discards()
  t.equal(n2 - n, 64)
  t.equal(bytes2 - bytes, 4 << 20)
end)

t.case("a mix of sizes, a rate, intervals and think time hold for trims too", function()
  local f <close> = scratch()
  local r = assert(iolua.job { target = f, rw = "trim", bs = { ["4k"] = 50, ["64k"] = 50 },
    number_ios = 50, rate_iops = 5000, interval = "5ms" })
  t.equal(r.trim.ios, 50)
  t.equal(r.trim.service:count(), 50)
  local n = 0
  for _, p in ipairs(r.intervals) do n = n + (p.trim and p.trim.ios or 0) end
  t.equal(n, 50)
  t.equal(assert(iolua.job { target = f, rw = "trim", number_ios = 3, thinktime = "1ms" }).trim.ios, 3)
end)

t.case("what cannot be trimmed", function()
  local f <close> = scratch()
  local sim = iolua.sim.device { service = "1ms", size = "1m" }
  t.raises("discard nothing", iolua.job, { target = sim, rw = "trim" })
  t.raises("does not discard", iolua.job, { target = f, rw = "trim", engine = "io_uring" })
  t.raises("no data to verify", iolua.job, { target = f, rw = "trim", verify = true })
  t.raises("no operations to choose", iolua.job, { target = f, rw = "trim",
    next = function() return true end })
  local path = os.tmpname()
  local read_only <close> = assert(iolua.open(path))
  os.remove(path)
  local r, message = iolua.job { target = read_only, rw = "trim", size = "4k" }
  t.equal(r, nil)
  t.contains(message, "reading only")
end)

t.done()
