-- Functions in the workers: next chooses, on_complete hears, upvalues and arrays travel.
local iolua = require "iolua"
local t = require "check"

local function device(o)
  o = o or {}
  o.service, o.size = o.service or "1ms", o.size or "1m"
  return iolua.sim.device(o)
end

local function job(o)
  o.target, o.rw, o.seed = o.target or device(), o.rw or "randread", 3
  return assert(iolua.job(o))
end

t.case("next chooses kind, offset, bytes and when to end", function()
  local seen = iolua.array(64)
  local n = 0
  local r = job { rw = "randrw", bs = "4k", bs_max = "64k", next = function()
    n = n + 1
    if n > 6 then return nil end
    if n % 3 == 0 then return nil, nil, "fsync" end
    return n * 4096, n * 512, n % 3 == 1 and "write" or "read"
  end, on_complete = function(kind, offset, bytes, result, latency)
    local i = seen:add(1, 1) * 5
    seen[i], seen[i + 1], seen[i + 2] = #kind, offset, bytes
    seen[i + 3], seen[i + 4] = result, latency
  end }
  t.equal(n, 0)                         -- the worker counts in its own copy
  t.equal(seen[1], 6)
  local kinds = { 5, 4, 5, 5, 4, 5 }    -- write read fsync write read fsync
  for i = 1, 6 do
    local at, sync = i * 5, i % 3 == 0
    t.equal(seen[at], kinds[i])
    t.equal(seen[at + 1], sync and 0 or i * 4096)
    t.equal(seen[at + 2], sync and 0 or i * 512)
    t.equal(seen[at + 3], sync and 0 or i * 512)
    t.equal(seen[at + 4], 1000000)
  end
  t.equal(r.read.ios, 2)
  t.equal(r.write.ios, 2)
  t.equal(r.sync.ios, 2)
  t.equal(r.write.bytes, 512 + 4 * 512)
end)

t.case("an offset of true is the job's own choice", function()
  local blocks = iolua.array(256)
  job { rw = "randread", norepeat = true, number_ios = 256, bs = "4k",
    next = function() return true end,
    on_complete = function(_, offset) blocks:add(offset // 4096 + 1, 1) end }
  for i = 1, 256 do t.equal(blocks[i], 1) end
end)

-- On a file of a mebibyte, block i filled with the letter i mod 26: the loop that real jobs take.
local function with_file(fn)
  local path = os.tmpname()
  local f = assert(io.open(path, "wb"))
  for i = 0, 255 do f:write(string.char(97 + i % 26):rep(4096)) end
  f:close()
  local ok, err = pcall(fn, path)
  os.remove(path)
  if not ok then error(err, 0) end
end

t.case("a real job does exactly what was chosen: places, sizes, kinds, pauses", function()
  with_file(function(path)
    local r = job { target = path, overwrite = true, rw = "randrw", rwmixread = 50, bs = "4k",
      bs_max = "64k", iodepth = 16, batch = 4, next = (function()
        local n = 0
        return function()
          n = n + 1
          if n > 1000 then return nil end
          if n % 100 == 0 then return nil, nil, "fsync" end
          if n % 50 == 1 then return 8192, 8192, "write", 100000 end
          if n % 2 == 0 then return true, 65536, "read" end
          return 4096, 4096, "read"
        end
      end)() }
    t.equal(r.engine, "io_uring")
    t.equal(r.sync.ios, 10)
    t.equal(r.write.ios, 20)
    t.equal(r.write.bytes, 20 * 8192)
    t.equal(r.read.ios, 970)
    t.equal(r.read.bytes, 490 * 65536 + 480 * 4096)
    t.equal(r.read.lat:count(), 970)
    t.equal(r.read.short, 0)
  end)
end)

t.case("the job's own places are the same in each loop, and inside the region", function()
  with_file(function(path)
    local places = iolua.array(256)
    local r = job { target = path, rw = "randread", norepeat = true, number_ios = 256, bs = "4k",
      iodepth = 8, batch = 8, next = function() return true end }
    t.equal(r.read.ios, 256)
    -- A longer operation than bs fits in at each place that is drawn for it.
    r = job { target = path, rw = "randread", number_ios = 2000, bs = "4k", bs_max = "512k",
      iodepth = 8, next = function() return true, 524288 end,
      on_complete = function(_, offset, _, result)
        assert(result == 524288)
        places:add(offset // 4096 + 1, 1)
      end }
    t.equal(r.read.bytes, 2000 * 524288)
    for i = 130, 256 do t.equal(places[i], 0) end
  end)
end)

t.case("errors and short transfers of what a hook chose are counted as such", function()
  t.equal(t.run(arg[-1] .. [[ -e '
    local iolua = require "iolua"
    local r = iolua.job { target = "/dev/full", overwrite = true, size = "1m", rw = "write",
      bs = "4k", iodepth = 8, batch = 4, number_ios = 100, continue_on_error = true,
      next = function() return true end }
    print(r.write.errors, r.write.ios)']]), "100\t0\n")
  with_file(function(path)
    local open, first = io.open, true
    local r = job { target = path, rw = "read", bs = "4k", iodepth = 8, batch = 4,
      number_ios = 100,
      next = function()
        if first then
          first = false
          open(path, "wb"):close()                  -- now it is empty
        end
        return true
      end }
    t.equal(r.read.ios, 100)
    t.equal(r.read.short, 100)
    t.equal(r.read.bytes, 0)
  end)
end)

t.case("operations that think start later, others meanwhile", function()
  -- At depth 1 each of 10 operations thinks 4 ms and takes 1 ms.
  local r = job { iodepth = 1, number_ios = 10, next = function() return 0, nil, nil, 4000000 end }
  t.equal(r.elapsed_ns, 50000000)
  t.equal(r.read.lat:max(), 1000000)
  -- Ten users on ten channels do the same side by side.
  r = job { target = device { channels = 10 }, iodepth = 10, number_ios = 100,
    next = function() return 0, nil, nil, 4000000 end }
  t.equal(r.elapsed_ns, 50000000)
  t.equal(r.read.ios, 100)
end)

t.case("operations may think under a rate, and the clock goes on", function()
  -- Due at 0, 10, 20 ... ms; each starts 4 ms later than it was asked for, when it was due.
  local r = job { iodepth = 4, number_ios = 10, rate_iops = 100,
    next = function() return 0, nil, nil, 4000000 end }
  t.equal(r.read.ios, 10)
  t.ok(r.elapsed_ns >= 91000000 and r.elapsed_ns <= 110000000, r.elapsed_ns)
end)

t.case("io tells the worker who it is and draws for it", function()
  local who = iolua.array(8)
  local d = device { size = "8m" }
  job { target = d, numjobs = 4, bs = "4k", number_ios = 500, next = function(io)
    if who[io.worker] == 0 then who[io.worker] = io.offset end
    who[4 + io.worker] = math.max(who[4 + io.worker], io.now())
    assert(io.workers == 4 and io.bs == 4096 and io.size == 2 << 20)
    assert(io.random(10) < 10 and io.uniform() < 1)
    return io.block()
  end }
  t.equal(who[2], 2 << 20)
  t.equal(who[4], 6 << 20)
  t.ok(who[5] > 0)
end)

t.case("the same seed gives the same choices", function()
  local function run()
    local sum = iolua.array(1)
    job { numjobs = 2, number_ios = 200, next = function(io) return io.block() end,
      on_complete = function(_, offset) sum:add(1, offset * offset % 1000003) end }
    return sum[1]
  end
  t.equal(run(), run())
end)

t.case("upvalues travel as copies, shared ones stay shared, libraries go by name", function()
  local floor, units, count = math.floor, iolua.units, 0
  local options = { list = { 1, 2.5, "three" }, on = true, bytes = units.bytes("8k") }
  options.self = options
  local function double(x) return 2 * x end
  local out = iolua.array(4, "double")
  job { number_ios = 3, next = function()
    count = count + 1
    assert(options.self == options and options.list[3] == "three" and options.on)
    out[1] = double(options.list[2])
    out[2] = floor(units.bytes("1.5k")) + options.bytes
    return 0
  end, on_complete = function() out[3] = count end }
  t.equal(out[1], 5.0)
  t.equal(out[2], 1536 + 8192.0)
  t.equal(out[3], 3.0)
  t.equal(count, 0)
end)

t.case("what cannot travel is named", function()
  local f = io.tmpfile()
  local object = setmetatable({}, {})
  local deep = { a = { b = coroutine.create(print) } }
  local function raises(text, fn) t.raises(text, job, { next = fn, number_ios = 1 }) end
  raises("job: next: upvalue \"f\" is a userdata (file) and cannot travel to a worker",
    function() return f end)
  raises("next: upvalue \"object\" is a table with a metatable", function() return object end)
  raises("next: upvalue \"deep\"[\"a\"][\"b\"] is a thread", function() return deep end)
  f:close()
end)

t.case("an error in a function ends the job, with its place", function()
  local message = t.raises("job: next: ", job, { next = function() error("no more") end })
  t.contains(message, "hook_test.lua:")
  t.contains(message, "no more")
  t.raises("on_complete: ", job, { on_complete = function(x) return x.y.z end })
end)

t.case("os.exit in a hook ends the job, not the process with settings changed", function()
  t.raises("os.exit: a hook cannot end the process", job, { next = function() os.exit(0) end })
  t.raises("os.exit: a hook cannot end the process", job,
    { on_complete = function() os.exit(0, true) end })
end)

t.case("one worker's error ends the others too", function()
  local from = os.time()
  t.raises("enough", iolua.job, { target = "/dev/zero", rw = "read", runtime = "1h", numjobs = 2,
    next = function(io)
      if io.worker == 2 then error("enough") end
      return io.block()
    end })
  local output, status = t.run(arg[-1] .. [[ -e '
    print(iolua.job { target = { "/dev/null", "/dev/full" }, rw = "write", overwrite = true,
      size = "1m", runtime = "1h", numjobs = 2 })']])
  t.contains(output, "nil\twrite /dev/full at 0: No space left on device\t28")
  t.equal(status, 3)
  t.ok(os.time() - from < 60)
end)

t.case("choices outside of the job's bounds are refused", function()
  local function raises(text, fn, rw)
    t.raises(text, job, { next = fn, rw = rw, bs = "4k" })
  end
  raises("offset -4096 is not in", function() return -4096 end)
  raises("offset is a string, not an integer", function() return "here" end)
  raises("4096 bytes at 1048000 end outside of the region", function() return 1048000 end)
  raises("bytes 8192 is not in 1 to 4096", function() return 0, 8192 end)
  raises("a job that only reads cannot do a write", function() return 0, nil, "write" end)
  raises("\"erase\" is not a kind of operation", function() return 0, nil, "erase" end)
  local _, message = pcall(job, { next = function() return 0.5 end, rw = "randread", bs = "4k" })
  t.ok(message:find("offset is a number, not an integer$"), message)
end)

t.case("on_complete alone leaves the load as it is", function()
  local sum = iolua.array(1)
  local r = job { rw = "read", bs = "4k",
    on_complete = function(_, _, bytes) sum:add(1, bytes) end }
  t.equal(sum[1], 1 << 20)
  t.equal(r.read.bytes, 1 << 20)
end)

t.case("failed operations are told with their error", function()
  local output = t.run(arg[-1] .. [[ -e '
    local iolua = require "iolua"
    local out = iolua.array(2)
    iolua.job { target = iolua.sim.device { size = "1m", errors = { { bytes = 512 } } },
      rw = "read", bs = "4k", number_ios = 2, continue_on_error = true,
      on_complete = function(_, offset, _, result) out[offset // 4096 + 1] = result end }
    print(out[1], out[2])']])
  t.equal(output, "-5\t4096\n")
end)

t.case("two real workers with hooks share an array without losing a count", function()
  local path = os.tmpname()
  local f = assert(io.open(path, "wb"))
  f:write(("x"):rep(1 << 20))
  f:close()
  local counts = iolua.array(2)
  local sums = iolua.array(1, "double")
  local r = assert(iolua.job { target = path, rw = "randread", numjobs = 2, iodepth = 8,
    number_ios = 20000, next = function(io)
      counts:add(1, 1)
      return io.block()
    end, on_complete = function()
      counts:add(2, 1)
      sums:add(1, 0.5)
    end })
  os.remove(path)
  t.equal(r.read.ios, 40000)
  t.equal(counts[1], 40000)
  t.equal(counts[2], 40000)
  t.equal(sums[1], 20000.0)
end)

t.case("a function that never returns is interrupted when the job is given up", function()
  local from = os.time()
  local ok, message = iolua.timeout("200ms", function()
    return iolua.job { target = device(), rw = "randread",
      next = function() while true do end end }
  end)
  t.equal(ok, nil)
  t.contains(message, "timeout")
  t.ok(os.time() - from < 10)
end)

t.case("arrays keep their type and bounds", function()
  local a <close> = iolua.array(3)
  t.equal(#a, 3)
  t.equal(a:type(), "integer")
  a[3] = math.mininteger
  t.equal(a[3], math.mininteger)
  t.equal(a:add(3, -1), math.maxinteger)
  t.raises("number has no integer representation", function() a[1] = 0.5 end)
  t.raises("4 is not in 1..3", function() return a[4] end)
  t.raises("0 is not in 1..3", function() return a[0] end)
  local d = iolua.array(1, "double")
  d[1] = 1
  t.equal(d:add(1, 0.25), 1.25)
  t.raises("invalid option", iolua.array, 1, "string")
  t.equal(d.nothing, nil)
  d:close()
  d:close()
  t.raises("array is closed", function() return d[1] end)
end)

t.done()
