-- Counts and times of iolua.trace against blktrace, which is another reader of the same kernel,
-- and against /proc/diskstats.
-- when: short
-- timeout: 180
-- qemu: -blockdev driver=null-co,node-name=f0,size=268435456,read-zeroes=on
-- qemu: -device virtio-blk-pci,drive=f0,num-queues=4
local guest = require "vm.guest"
local t = require "check"

local run = guest.run
local trace = require("iolua").trace

local DISK, SYS = "/dev/vda", "/sys/block/vda/"
local TOOLS = os.getenv("VM_CACHE") .. "/blktrace/usr/"

-- blktrace's events of what fn does: counts[action][cpu], and the folder they lie in.
local function with_blktrace(fn)
  local dir = run("mktemp -d")
  run(("cd %s && { %ssbin/blktrace -d %s -o t >log 2>&1 & echo $! >pid; } && " ..
    "for i in 1 2 3 4 5 6 7 8 9; do [ -e t.blktrace.3 ] && break; sleep 0.2; done; sleep 0.5")
    :format(dir, TOOLS, DISK))
  local results = table.pack(pcall(fn))
  run(("cd %s && kill -INT $(cat pid) && while kill -0 $(cat pid) 2>/dev/null; do sleep 0.1; done")
    :format(dir))
  if not results[1] then error(results[2], 0) end
  local counts = setmetatable({}, { __index = function(self, action)
    self[action] = {}
    return self[action]
  end })
  -- Actions of a disk's own, with data: flushes have none.
  for line in io.popen(("cd %s && %sbin/blkparse -q -i t -f 'E %%a %%c %%d %%n\\n'")
      :format(dir, TOOLS)):lines() do
    local action, cpu = line:match("^E (%u) +(%d+) ")
    if action then
      cpu = tonumber(cpu)
      counts[action][cpu] = (counts[action][cpu] or 0) + 1
    end
  end
  return counts, dir, table.unpack(results, 2, results.n)
end

local function same(ours, theirs, what)
  for cpu = 0, 3 do t.equal(ours[cpu], theirs[cpu] or 0, what .. " on CPU " .. cpu) end
end

local function diskstats()
  local fields = {}
  for n in run("cat " .. SYS .. "stat"):gmatch("%d+") do fields[#fields + 1] = tonumber(n) end
  return { reads = fields[1], read_merges = fields[2], read_sectors = fields[3],
           writes = fields[5], write_merges = fields[6] }
end

local function load_of(kind)
  if kind == "merges" then      -- neighbours that are handed over together
    run(("fio --name=m --filename=%s --rw=write --bs=4k --size=4m --direct=1 " ..
      "--ioengine=io_uring --iodepth=16 --iodepth_batch_submit=16 " ..
      "--iodepth_batch_complete_min=16 --cpus_allowed=2 --output=/dev/null"):format(DISK))
  elseif kind == "splits" then
    run(("taskset -c 3 dd if=%s of=/dev/null bs=1M count=4 iflag=direct status=none"):format(DISK))
  else
    run(("for c in 0 1 2 3; do taskset -c $c dd if=%s of=/dev/null bs=4k count=200 " ..
      "skip=${c}000 iflag=direct status=none & done; wait"):format(DISK))
  end
end

local function watch(kind)
  local before = diskstats()
  local counts, dir, recorded, n = with_blktrace(function()
    return trace.record(DISK, function()
      return (assert(trace.count(DISK, function() load_of(kind) end)))
    end)
  end)
  local after = diskstats()
  for key, value in pairs(after) do after[key] = value - before[key] end
  return { theirs = counts, dir = dir, recorded = assert(recorded, n), ours = n, stats = after }
end

run("modprobe virtio_blk")
run("echo mq-deadline >" .. SYS .. "queue/scheduler 2>/dev/null || modprobe mq-deadline")
if not io.open(TOOLS .. "sbin/blktrace") then
  print("skipped counters: no blktrace could be had")
  print("0 passed, 0 failed, 1 skipped")
  os.exit(0)
end

local function compare(seen)
  same(seen.ours.queue, seen.theirs.Q, "queue")
  same(seen.ours.issue, seen.theirs.D, "issue")
  same(seen.ours.complete, seen.theirs.C, "complete")
  same(seen.ours.backmerge, seen.theirs.M, "backmerge")
  same(seen.ours.frontmerge, seen.theirs.F, "frontmerge")
  same(seen.ours.split, seen.theirs.X, "split")
  t.equal(seen.recorded.lost, 0)
  t.equal(seen.recorded.unmatched + seen.recorded.in_flight, 0)
  t.equal(seen.recorded.events.queue, seen.ours.total.queue)
end

-- btt's table of all devices: name -> { min, avg, max, n } in seconds. (It takes a virtio disk
-- for a volume of device-mapper and calls two of its rows Q2Qdm and Q2Cdm.)
local function btt(seen)
  run(("cd %s && %sbin/blkparse -q -i t -d t.bin >/dev/null"):format(seen.dir, TOOLS))
  local output = run(("cd %s && %sbin/btt -i t.bin"):format(seen.dir, TOOLS))
  local rows = {}
  for name, min, avg, max, n in output:match("All Devices =+(.-)=====")
      :gmatch("(%u2%u)%a*%s+([%d.]+)%s+([%d.]+)%s+([%d.]+)%s+(%d+)") do
    rows[name] = { min = tonumber(min), avg = tonumber(avg), max = tonumber(max), n = tonumber(n) }
  end
  return rows, output
end

-- The two tools take the time of an event at different moments of the same tracepoint: some us
-- apart in the emulator, and far more where its processor was taken away in between: cases that
-- compare means are timed ones.
local function close_to(hist, row, what)
  t.equal(hist:count(), row.n, what .. " count")
  t.near(hist:mean() / 1e9, row.avg, math.max(20e-6, 0.05 * row.avg), what .. " mean in s")
end

t.timed("single requests from four CPUs: counts equal blktrace's to the event", function()
  local seen = watch("single")
  compare(seen)
  t.equal(seen.ours.total.queue, 800)
  for cpu = 0, 3 do t.equal(seen.ours.queue[cpu], 200) end
  t.equal(seen.stats.reads, 800)
  local rows, text = btt(seen)
  t.ok(rows.Q2C, text)
  close_to(seen.recorded.q2q, rows.Q2Q, "Q2Q")
  close_to(seen.recorded.q2c, rows.Q2C, "Q2C")
  close_to(seen.recorded.i2d, rows.I2D, "I2D")
  close_to(seen.recorded.d2c, rows.D2C, "D2C")
  t.near(seen.recorded.q2i:mean() / 1e9, rows.Q2G.avg + rows.G2I.avg, 60e-6, "Q2I = Q2G + G2I")
end)

t.timed("merged requests: as many merges as blktrace and diskstats saw", function()
  if t.run("command -v fio") == "" then t.skip("no fio") end
  local seen = watch("merges")
  compare(seen)
  t.equal(seen.ours.total.queue, 1024)
  t.ok(seen.ours.total.backmerge > 0, "some merged")
  t.equal(seen.ours.total.backmerge + seen.ours.total.frontmerge, seen.stats.write_merges)
  t.equal(seen.ours.total.complete, seen.stats.writes)
  local rows, text = btt(seen)
  t.ok(rows.Q2C, text)
  close_to(seen.recorded.q2c, rows.Q2C, "Q2C")
end)

t.case("split requests: a bio is queued once and issued in pieces", function()
  run("echo 64 >" .. SYS .. "queue/max_sectors_kb")
  local seen = watch("splits")
  compare(seen)
  t.equal(seen.ours.queue[3], 4)
  t.equal(seen.ours.total.split, 4 * 15)
  t.equal(seen.ours.total.issue, 4 * 16)
  t.equal(seen.recorded.q2c:count(), 4)
  t.equal(seen.recorded.d2c:count(), 64)
  t.equal(seen.stats.read_sectors, 4 * 2048)
end)

t.done()
