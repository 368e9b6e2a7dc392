-- Block events counted and joined against a known number of reads of a loop device that this
-- test makes. Needs root; everything made here is put back.
local t = require "check"
local iolua = require "iolua"
local trace = iolua.trace

local function run(command)
  local output, status = t.run(command)
  if status ~= 0 then error(command .. ": " .. output) end
  return (output:gsub("%s+$", ""))
end

local ROOT = run("id -u") == "0"

-- A loop device over a new file of 1 MiB while fn runs.
local function with_loop(fn)
  if not ROOT then t.skip("needs root") end
  local file = os.tmpname()
  run(("truncate -s 1M %s"):format(file))
  local disk, status = t.run(("losetup -f --show --direct-io=off %s"):format(file))
  os.remove(file)
  if status ~= 0 then t.skip("no loop device: " .. disk) end
  disk = disk:gsub("%s+$", "")
  local ok, err = pcall(fn, disk)
  run("losetup -d " .. disk)
  if not ok then error(err, 0) end
end

-- n direct reads of 4096 bytes, one at a time, on one CPU, by a program that is not ours.
local function read(disk, n, cpu)
  for _ = 1, n // 250 do
    run(("taskset -c %d dd if=%s of=/dev/null bs=4k count=250 iflag=direct status=none")
      :format(cpu or 0, disk))
  end
end

local function sum(counts)
  local total = 0
  for _, n in pairs(counts) do total = total + n end
  return total
end

t.case("a thousand reads pinned to a CPU are a thousand events of each kind", function()
  with_loop(function(disk)
    local last = tonumber(run("nproc")) - 1
    local n = assert(trace.count(disk, function() read(disk, 1000, last) end))
    t.equal(n.queue[last], 1000, "queued on the CPU")
    t.equal(sum(n.queue), 1000)
    t.equal(sum(n.issue), 1000)
    t.equal(sum(n.complete), 1000)
    t.equal(n.total.queue, 1000)
    t.equal(n.total.complete, 1000)
    t.equal(n.total.split + n.total.backmerge + n.total.frontmerge, 0)
    t.equal(n.total.bio_complete, 0)            -- requests complete as requests
    t.equal(n.disks[1], disk:match("[^/]+$"))
    t.equal(n.punts, 0)
    t.equal(n.legs, nil)
    t.ok(n.elapsed_ns > 0)
  end)
end)

t.case("other disks are not counted, lists of disks are", function()
  with_loop(function(a)
    with_loop(function(b)
      local n = assert(trace.count(a, function() read(b, 250) end))
      t.equal(n.total.queue, 0)
      n = assert(trace.count({ a, b, a }, function() read(a, 250) read(b, 500) end))
      t.equal(n.total.queue, 750)
      t.equal(#n.disks, 2)
    end)
  end)
end)

t.case("what the function returns comes after the counts, and its error is raised", function()
  with_loop(function(disk)
    local n, x, y, z = trace.count(disk, function() return 1, nil, 3 end)
    t.ok(n.queue)
    t.equal(x, 1)
    t.equal(y, nil)
    t.equal(z, 3)
    local _, err = pcall(trace.count, disk, function() error({ code = 7 }) end)
    t.equal(err.code, 7)
  end)
end)

t.case("a fiber may wait while it is counted", function()
  if not pcall(require, "iolua.fiber") then t.skip("no fibers yet") end
  with_loop(function(disk)
    local order = {}
    local fiber = iolua.spawn(function()
      order[#order + 1] = "other"
    end)
    local n = assert(trace.count(disk, function()
      iolua.sleep("20ms")
      order[#order + 1] = "counted"
    end))
    fiber:join()
    t.equal(order[1], "other")
    t.ok(n.elapsed_ns >= 20000000)
  end)
end)

t.case("a counter that stays open counts each run by itself", function()
  with_loop(function(disk)
    local c <close> = assert(trace.counter(disk))
    t.equal(c:count(function() read(disk, 250) end).total.queue, 250)
    read(disk, 250)
    t.equal(c:count(function() read(disk, 500) end).total.queue, 500)
    c:close()
    t.raises("counter is closed", c.count, c, print)
  end)
end)

t.case("a file is counted on its disk", function()
  if not ROOT then t.skip("needs root") end
  local n, message, errno = trace.count(arg[0], function() end)
  if n then
    t.equal(#n.disks, 1)
  else
    t.equal(errno, 19)          -- ENODEV: this tree lies on no block device
    t.contains(message, "no block device is known under it")
  end
end)

t.case("interrupts are counted by vector as /proc/interrupts does", function()
  if not ROOT then t.skip("needs root") end
  -- Vectors of this machine that have fired; the same ones before and after.
  local function read_interrupts()
    local counts = {}
    for line in io.lines("/proc/interrupts") do
      local vector, rest = line:match("^%s*(%d+):%s+(.*)$")
      local total = 0
      for n in (rest or ""):gmatch("%d+%f[%s]%s") do total = total + tonumber(n) end
      if vector then counts[tonumber(vector)] = total end
    end
    return counts
  end
  local vectors = {}
  for vector, n in pairs(read_interrupts()) do
    if n > 0 then vectors[#vectors + 1] = vector end
  end
  if #vectors == 0 then t.skip("this machine has no numbered interrupt that fires") end
  with_loop(function(disk)
    local c <close> = assert(trace.counter(disk, { irq = vectors }))
    local before, after
    local n = c:count(function()
      before = read_interrupts()
      os.execute("sleep 0.2")
      after = read_interrupts()
    end)
    for _, vector in ipairs(vectors) do
      -- Interrupts may fire between the two ways of looking, none may be missing.
      t.ok(n.irq.total[vector] >= after[vector] - before[vector],
        ("vector %d: %d counted of %d"):format(vector, n.irq.total[vector],
          after[vector] - before[vector]))
    end
  end)
end)

t.case("a disk without interrupts of its own has none counted", function()
  with_loop(function(disk)
    local n = assert(trace.count(disk, function() end, { irq = true }))
    t.equal(n.irq, nil)
    t.equal(n.total.queue, 0)
  end)
end)

t.case("each read is joined from its queueing to its completion", function()
  with_loop(function(disk)
    local r = assert(trace.record(disk, function() read(disk, 1000, 0) end))
    t.equal(r.lost, 0)
    t.equal(r.events.queue, 1000)
    t.equal(r.unmatched, 0, "unmatched")
    t.equal(r.in_flight, 0, "in flight")
    t.equal(r.forgotten, 0, "forgotten")
    t.equal(r.q2q:count(), 999)
    t.equal(r.q2d:count(), 1000)
    t.equal(r.d2c:count(), 1000)
    t.equal(r.q2c:count(), 1000)
    t.near(r.q2c:mean(), r.q2d:mean() + r.d2c:mean(), 1e-6 * r.q2c:mean(), "Q2C = Q2D + D2C")
    local total = 0
    for cpu, row in pairs(r.cpus) do
      t.equal(cpu, 0)           -- all queued on CPU 0
      total = total + sum(row)
    end
    t.equal(total, 1000)
  end)
end)

t.case("with a scheduler requests are inserted, and Q2D = Q2I + I2D", function()
  with_loop(function(disk)
    local name = "/sys/block/" .. disk:match("[^/]+$") .. "/queue/"
    local scheduler = run("cat " .. name .. "scheduler")
    local old = scheduler:match("%[(.-)%]")
    if not scheduler:find("mq%-deadline") then t.skip("no mq-deadline here") end
    local kept = run("cat " .. name .. "nr_requests " .. name .. "read_ahead_kb")
    run("echo mq-deadline > " .. name .. "scheduler")
    local r = assert(trace.record(disk, function() read(disk, 250, 0) end))
    run("echo " .. old .. " > " .. name .. "scheduler")
    local nr, ra = kept:match("(%d+)%s+(%d+)")
    run(("echo %s > %snr_requests; echo %s > %sread_ahead_kb"):format(nr, name, ra, name))
    t.equal(r.events.insert, 250)
    t.equal(r.i2d:count(), 250)
    t.near(r.q2d:mean(), r.q2i:mean() + r.i2d:mean(), 1e-6 * r.q2d:mean())
  end)
end)

t.case("zram has bios and no requests", function()
  if not ROOT then t.skip("needs root") end
  local id = io.open("/sys/class/zram-control/hot_add")
  if not id then t.skip("no zram here") end
  local number = id:read("n")
  id:close()
  if not number then t.skip("zram makes no new device") end
  local disk = "/dev/zram" .. number
  local ok, err = pcall(function()
    run(("echo 1M > /sys/block/zram%d/disksize"):format(number))
    local n = assert(trace.count(disk, function() read(disk, 250, 0) end))
    t.equal(n.total.queue, 250)
    t.equal(n.total.bio_complete, 250)
    t.equal(n.total.issue + n.total.complete, 0)
    local r = assert(trace.record(disk, function() read(disk, 250, 0) end))
    t.equal(r.q2c:count(), 250)
    t.equal(r.d2c, nil)         -- nothing measured is nil
    t.equal(r.in_flight, 0)
  end)
  run(("echo %d > /sys/class/zram-control/hot_remove"):format(number))
  if not ok then error(err, 0) end
end)

t.case("the cost is that of the events that fired", function()
  with_loop(function(disk)
    local cost = assert(trace.cost(disk, function() read(disk, 250, 0) end, 2))
    t.equal(cost.events, 750)   -- queue, issue, complete
    t.ok(cost.off_ns > 0 and cost.on_ns > 0)
    t.equal(type(cost.percent), "number")
  end)
end)

t.case("misuse names what is wrong", function()
  t.raises("the second argument is no function", trace.count, "/dev/null")
  t.raises("number is no file, volume or path", trace.count, 7, print)
  t.raises("an empty list", trace.count, {}, print)
  t.raises("punt", trace.count, "/dev/null", print, { punt = true })
  t.raises("irq x is not", trace.count, "/dev/null", print, { irq = { "x" } })
  t.raises("pairs must be 2", trace.cost, "/dev/null", print, 1)
end)

t.case("what has no disk is refused with the reason", function()
  local n, message, errno = trace.count("/proc/self/stat", print)
  t.equal(n, nil)
  t.contains(message, "/proc/self/stat")
  t.equal(errno, 19)
  n, message, errno = trace.count("/no/such/file", print)
  t.equal(n, nil)
  t.equal(errno, 2)
  t.contains(message, "/no/such/file")
end)

t.case("an event that no kernel has is named", function()
  if not ROOT then t.skip("needs root") end
  local ok, why = trace.available("block/none_such")
  t.equal(ok, nil)
  t.equal(why, "tracepoint block/none_such: this kernel has none")
end)

t.done()
