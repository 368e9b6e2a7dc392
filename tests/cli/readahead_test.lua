-- The read-ahead scenario, short, on scratch disks: amplification as the kernel's read-ahead
-- makes it, and everything as it was afterwards.
local t = require "check"

local IOLUA = os.getenv("IOLUA")

local function loops()
  return (t.run("losetup -a 2>/dev/null | wc -l"))
end

t.case("what the scenario can do is in its help", function()
  local out, status = t.run(IOLUA .. " scenarios/readahead_compare.lua --help")
  t.equal(status, 0)
  t.contains(out, "--device")
  t.contains(out, "--values")
end)

t.case("faults read more at larger values, plain random preads do not", function()
  if t.run("id -u") ~= "0\n" then t.skip("scratch disks need root") end
  local before = loops()
  local out, status = t.run(IOLUA .. " scenarios/readahead_compare.lua --replicates 1 --size 16m"
    .. " --values 0,1m --patterns random,mmap --operations 40 2>&1")
  if out:find("without scratch disks name", 1, true) then t.skip("no loop devices here") end
  t.equal(status, 0)
  t.contains(out, "value    1m       effective 1024 KiB, 2048 sectors of 512")
  local zero, large = out:match("mmap%s+%S+ %((%S+)%)%s+%S+ %((%S+)%)")
  t.near(tonumber(zero), 1, 0.2)
  t.ok(tonumber(large) > 10, "a fault at 1m reads a window")
  local random = out:match("random%s+%S+ %(%S+%)%s+%S+ %((%S+)%)")
  t.near(tonumber(random), 1, 0.2)
  t.contains(out, "no value reads more than another")
  t.contains(out, "lacks: scratch disks share one real disk")
  t.equal(loops(), before)
end)

t.done()
