-- Verified jobs: damage made by simulated devices and by hand is found and named; clean
-- operations give none, whatever their depth and mix.
local t = require "check"
local iolua = require "iolua"
local core = require "iolua.core"

-- Damage is made on purpose here; that it ends a script with status 3 is counted.
local marked = 0
core.run.mark_errors = function() marked = marked + 1 end

local EILSEQ, EBUSY = 84, 16

local function scratch(bytes, direct)
  local f = assert(core.file.scratch("/tmp", direct or false))
  assert(f:truncate(bytes))
  return f
end

local function sim(options)
  options.data, options.service = true, options.service or "exp:100us"
  options.size = options.size or "1m"
  return iolua.sim.device(options)
end

-- One pass of writes over a device that damages write n; the damage that is reported.
local function damaged_by(corruption, more)
  local d = sim { corruptions = { corruption }, channels = 4 }
  local options = { target = d, rw = "write", bs = "4k", iodepth = 1, size = "64k", verify = true,
    seed = 7 }
  for key, value in pairs(more or {}) do options[key] = value end
  local r, message, errno, partial = iolua.job(options)
  t.equal(r, nil)
  t.equal(errno, EILSEQ)
  t.contains(message, partial.verify.damage[1].message)
  return partial.verify.damage, message, d
end

t.case("a byte that a simulated device flips is named", function()
  local damage = damaged_by { write = 3, kind = "flip", byte = 1000 }
  t.equal(#damage, 1)
  t.equal(damage[1].kind, "flip")
  t.equal(damage[1].offset, 2 * 4096 + 1000)
  t.equal(damage[1].expected ~ damage[1].found, 1)
end)

t.case("a write that is torn is told from where", function()
  local damage = damaged_by { write = 3, kind = "torn", byte = 1024 }
  t.equal(#damage, 1)
  t.equal(damage[1].kind, "torn")
  t.equal(damage[1].offset, 2 * 4096 + 1024)
  t.equal(damage[1].bytes, 3072)
  t.equal(damage[1].expected, 3)
end)

t.case("a write that is lost", function()
  local damage = damaged_by { write = 3, kind = "lost" }
  t.equal(#damage, 1)
  t.equal(damage[1].kind, "lost")
  t.equal(damage[1].offset, 2 * 4096)
  t.equal(damage[1].bytes, 4096)
end)

t.case("a second write that is lost leaves the first: stale", function()
  local damage = damaged_by({ write = 18, kind = "lost" }, { number_ios = 32 })
  t.equal(#damage, 1)
  t.equal(damage[1].kind, "stale")
  t.equal(damage[1].offset, 4096)
  t.equal(damage[1].expected, 18)
  t.equal(damage[1].found, 2)
end)

t.case("a write that went elsewhere is misplaced there and missing here", function()
  local damage = damaged_by({ write = 19, kind = "misplaced", byte = 65536 - 8192 - 8192 },
    { number_ios = 20 })
  t.equal(#damage, 2)
  t.equal(damage[1].kind, "stale")
  t.equal(damage[1].offset, 8192)
  t.equal(damage[2].kind, "misplaced")
  t.equal(damage[2].offset, 65536 - 8192)
  t.equal(damage[2].found, 8192)
end)

t.case("damage counts as an error of the run", function()
  marked = 0
  damaged_by { write = 1, kind = "lost" }
  t.equal(marked, 1)
end)

t.case("damage with continue_on_error is in the result", function()
  local d = sim { corruptions = { { write = 1, kind = "lost" } } }
  local r = assert(iolua.job { target = d, rw = "write", bs = "4k", size = "64k", verify = true,
    continue_on_error = true })
  t.equal(r.verify.damaged, 1)
  t.equal(r.verify.writes, 16)
end)

-- 10^6 operations of mixed sizes in virtual time; the long campaign's release build does 10^8.
local long = (os.getenv("FULL") or "") ~= ""
  and (os.getenv("IOLUA_BUILD") or "release"):find("release")
local OPERATIONS = long and 100000000 or 1000000

t.case("no false alarm at mixed sizes and depth 32", function()
  local d = sim { channels = 32, size = "4m" }
  local r = assert(iolua.job { target = d, rw = "randrw", iodepth = 32, verify = true,
    bs = { ["512"] = 40, ["4k"] = 40, ["1k-16k"] = 20 }, number_ios = OPERATIONS, seed = 3 })
  t.equal(r.verify.damaged, 0)
  t.equal(r.read.ios + r.write.ios, OPERATIONS)
  t.ok(r.verify.waits > 100, "operations overlapped")
end)

for _, engine in ipairs { "auto", "threads", "sync" } do
  t.case("a file by engine " .. engine .. " is whole", function()
    local f <close> = scratch(4 << 20)
    local r = assert(iolua.job { target = f, rw = "randrw", bs = "4k-16k", verify = true,
      iodepth = engine == "sync" and 1 or 32, number_ios = 3000, engine = engine, numjobs = 2 })
    t.equal(r.verify.damaged, 0)
    t.ok(r.verify.checked_bytes > 1 << 20, "much was checked")
  end)
end

t.case("a job with the seed alone finds what was changed by hand", function()
  local f <close> = scratch(1 << 20)
  assert(iolua.job { target = f, rw = "randwrite", norepeat = true, bs = "4k", size = "512k",
    verify = true, do_verify = false, seed = 11 })
  local options = { target = f, rw = "read", bs = "4k", verify = true, seed = 11 }
  local r = assert(iolua.job(options))
  t.equal(r.verify.checked_bytes, 1 << 20)
  t.equal(r.verify.unwritten_bytes, 512 << 10)
  local buf <close> = iolua.buffer(512)
  assert(f:read(buf, 77824))
  local was = buf:string(101, 101):byte()
  buf:set(string.char(was ~ 4), 101)
  assert(f:write(buf, 77824))
  local _, message, errno, partial = iolua.job(options)
  t.equal(errno, EILSEQ)
  t.contains(message, ("flip at %d: byte 0x%02x expected, 0x%02x found"):format(77824 + 100, was,
    was ~ 4))
  t.equal(partial.verify.damaged, 1)
end)

t.case("replayed from seed and options, a lost second write is stale", function()
  local d = sim { corruptions = { { write = 150, kind = "lost" } } }
  local writes = { target = d, rw = "randwrite", bs = "4k", size = "64k", number_ios = 160,
    iodepth = 4, seed = 5, verify = true, do_verify = false }
  assert(iolua.job(writes))
  local reads = { target = d, rw = "read", bs = "4k", size = "64k", verify = true, seed = 5,
    replay = { rw = "randwrite", bs = "4k", size = "64k", number_ios = 160 } }
  local _, _, errno, partial = iolua.job(reads)
  t.equal(errno, EILSEQ)
  t.equal(partial.verify.damaged, 1)
  t.equal(partial.verify.damage[1].kind, "stale")
  t.equal(partial.verify.damage[1].expected, 150)
end)

t.case("the ledger of one job knows what another must find", function()
  local f <close> = scratch(1 << 20)
  local w = assert(iolua.job { target = f, rw = "randwrite", bs = "4k", number_ios = 500,
    verify = true, seed = 2 })
  local r = assert(iolua.job { target = f, rw = "read", bs = "4k", verify = true, seed = 2,
    ledger = w.verify.ledger })
  t.equal(r.verify.damaged, 0)
end)

t.case("each job with a ledger finds for itself", function()
  local d = sim { corruptions = { { write = 5, kind = "lost" } } }
  local w = assert(iolua.job { target = d, rw = "write", bs = "4k", number_ios = 10, verify = true,
    seed = 2, continue_on_error = true })
  t.equal(w.verify.damaged, 1)
  local function again(more)
    local o = { target = d, rw = "read", bs = "4k", size = "64k", verify = true, seed = 2,
      ledger = w.verify.ledger, continue_on_error = true }
    for key, value in pairs(more) do o[key] = value end
    return assert(iolua.job(o)).verify
  end
  local mended = again { rw = "write", number_ios = 10 }
  t.equal(mended.writes, 10)
  t.equal(mended.damaged, 0)
  for _ = 1, 2 do
    local v = again {}
    t.same({ v.writes, v.damaged, v.checked_bytes, v.unwritten_bytes }, { 0, 0, 65536, 24576 })
  end
end)

t.case("two jobs that overlap are refused, two that do not are whole", function()
  local f <close> = scratch(8 << 20)
  local function options(offset, size)
    return { target = f, rw = "randwrite", bs = "4k", offset = offset, size = size,
      verify = true, runtime = "400ms", iodepth = 8 }
  end
  local first = iolua.spawn(function() return iolua.job(options("0", "4m")) end)
  local second = iolua.spawn(function() return iolua.job(options("4m", "4m")) end)
  iolua.sleep("1ms")                    -- both run
  local r, message, errno = iolua.job(options("2m", "4m"))
  t.equal(r, nil)
  t.equal(errno, EBUSY)
  t.contains(message, "written or verified by another job")
  t.equal(assert(first:join()).verify.damaged, 0)
  t.equal(assert(second:join()).verify.damaged, 0)
  t.equal(assert(iolua.job(options("2m", "4m"))).verify.damaged, 0)
end)

t.case("one target twice is refused", function()
  local f <close> = scratch(1 << 20)
  local _, message, errno = iolua.job { target = { f, f }, numjobs = 2, rw = "write",
    bs = "4k", verify = true }
  t.equal(errno, EBUSY)
  t.contains(message, "another job of the same targets")
end)

t.case("a volume in user space is whole, and damage on a leg has the volume's offset", function()
  local a <close> = scratch(1 << 20)
  local b <close> = scratch(1 << 20)
  local v <close> = assert(iolua.volume.stripe { members = { a, b }, chunk = "16k",
    backend = "user" })
  local options = { target = v, rw = "write", bs = "64k", iodepth = 4, verify = true, seed = 9 }
  t.equal(assert(iolua.job(options)).verify.damaged, 0)
  local buf <close> = iolua.buffer(512)
  assert(b:read(buf, 16384))              -- member 2, its second chunk: offset 48k
  buf:set(string.char(buf:string(1, 1):byte() ~ 1), 1)
  assert(b:write(buf, 16384))
  local _, message = iolua.job { target = v, rw = "read", bs = "64k", verify = true, seed = 9 }
  t.contains(message, "flip at 49152")
end)

t.case("fibers stamp and check buffers", function()
  local f <close> = scratch(64 << 10)
  local buf <close> = iolua.buffer(4096)
  core.stamp.fill(buf, { seed = 3, offset = 8192, number = 2 })
  assert(f:write(buf, 8192))
  assert(f:read(buf, 8192))
  t.equal(#core.stamp.check(buf, { seed = 3, offset = 8192, number = 2 }), 0)
  t.equal(core.stamp.check(buf, { seed = 3, offset = 4096 })[1].kind, "misplaced")
  t.equal(core.stamp.check(buf, { seed = 3, offset = 8192, number = 3 })[1].kind, "stale")
  local damage, unwritten = core.stamp.check(buf, { seed = 4, offset = 8192 })
  t.equal(#damage, 0)
  t.equal(unwritten, 4096)
end)

t.case("what verify cannot do is refused", function()
  local f <close> = scratch(1 << 20)
  t.raises("has no data to verify", iolua.job, { rw = "nop", runtime = "1ms", verify = true })
  t.raises("replay needs verify", iolua.job, { target = f, rw = "read", replay = {} })
  local _, message = iolua.job { target = f, rw = "read", bs = 1000, verify = true }
  t.contains(message, "multiples of 512")
end)

t.case("a target that keeps no data cannot be verified", function()
  local empty = iolua.sim.device { service = "1ms", size = "1m" }
  local r, message = iolua.job { target = empty, rw = "write", number_ios = 1, verify = true }
  t.equal(r, nil)
  t.contains(message, "verify needs a target that keeps data")
  -- A volume keeps data where its members do.
  local v <close> = assert(iolua.volume.stripe { members = { empty,
    iolua.sim.device { service = "1ms", size = "1m" } }, chunk = "4k" })
  t.contains(select(2, iolua.job { target = v, rw = "write", number_ios = 1, verify = true }),
    "verify needs a target that keeps data")
end)

t.done()
