--- The stripe sweep as it is called: on scratch members, and on the machine of 2005.
local t = require "check"
local iolua = os.getenv("IOLUA")
local SCENARIO = iolua .. " scenarios/stripe_sweep.lua "
local MACHINE = iolua .. " --machine scenarios/machines/2005-u320.lua scenarios/stripe_sweep.lua "

t.case("on scratch members it measures, judges and leaves nothing", function()
  local dir = t.run("mktemp -d"):match("%S+")
  local output, status = t.run(SCENARIO .. "--count 2 --size 2m --runtime 50ms --ramp 5ms "
    .. "--replicates 1 --iodepth 4 --chart " .. dir .. "/c")
  t.equal(status, 0, output)
  t.contains(output, "Members alone, and the first of them all at once:")
  t.contains(output, "Controls, one transfer at a time:")
  t.contains(output, "16k a segment, one transfer at a time: Fewer than four widths ")
  t.contains(t.run("head -c 20 " .. dir .. "/c.agr"), "# Grace project file")
  t.contains(t.run("cat " .. dir .. "/c.svg"), "<svg")
  os.execute("rm -r " .. dir)
end)

-- 181 us on the disk and 51 us on the bus for 16 KiB: 70.6 MB/s, times the width while each disk
-- has its bus to itself; two on a bus take 51 us more.
t.case("on the simulated machine of 2005 a row costs what disk and bus take", function()
  local output, status = t.run(MACHINE .. "--widths 1,4,8,9 --replicates 2 --quiet --json -")
  t.equal(status, 0, output)
  local dkjson = require "dkjson"
  local document = assert(dkjson.decode(output))
  local rates = {}
  for _, row in ipairs(document.runs) do
    local l = row.levels
    if l.depth == 1 and row.values and not row.void then
      rates[l.width .. " " .. l.segment] = row.values.MB_per_s
    end
  end
  for _, segment in ipairs { "16k", "32k", "48k", "64k" } do
    t.near(rates["1 " .. segment], 70.6, 0.5)
    t.near(rates["4 " .. segment], 4 * 70.6, 2)
    t.near(rates["8 " .. segment], 8 * 70.6, 3)
    t.near(rates["9 " .. segment], 9 * 16384 / 283.2, 3)
  end
end)

t.case("without --devices the described machine's disks are the members", function()
  local output, status = t.run(MACHINE .. "--replicates 2")
  t.equal(status, 0, output)
  t.contains(output, "Width stops paying at 7.")
  t.contains(output, "8 members: first row 232 +- 0 us, each further one 232 +- 0 us, wrapping "
    .. "once 0 +- 0 us: no cost of wrapping itself is seen.")
  t.contains(output, "All 10 members at once give 90")
end)

t.case("members are ordered across buses", function()
  local output = t.run(MACHINE .. "--devices /dev/sda,/dev/sdi,/dev/sdb --replicates 1 "
    .. "--runtime 10ms --widths 2")
  t.ok(output:find(" 1  /dev/sda +on bus 1\n +2  /dev/sdb +on bus 2\n +3  /dev/sdi +on bus 1"),
    output)
end)

t.case("a member that is not there is named", function()
  local output, status = t.run(SCENARIO .. "--devices /dev/iolua-none")
  t.equal(status, 1)
  t.contains(output, "open /dev/iolua-none: ")
  t.ok(not output:find("traceback"), output)
end)

t.case("--plan says what would be done, and does nothing", function()
  local output, status = t.run(SCENARIO .. "--plan --count 3")
  t.equal(status, 0)
  t.contains(output, "3 scratch disks of 64 MiB, made and removed")
end)

t.case("more width than members is refused", function()
  local output, status = t.run(SCENARIO .. "--count 2 --size 64k --widths 4")
  t.equal(status, 1)
  t.contains(output, "width 4, but there are 2 members")
end)

t.done()
