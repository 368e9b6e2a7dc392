-- fio job files run by fio, by `iolua fio` and by the script it converts them to, alternately on
-- the same loop devices: the same operations and bytes, by the kernel's counters.
local t = require "check"
local IOLUA = os.getenv("IOLUA")

if not IOLUA:find("/release/", 1, true) then      -- what is compared is the same in all builds
  print("0 passed, 0 failed, 0 skipped")
  os.exit(0)
end
if t.run("id -u") ~= "0\n" or select(2, t.run("command -v fio")) ~= 0 then
  print("skipped all: needs root and fio")
  print("0 passed, 0 failed, 1 skipped")
  os.exit(0)
end

local dir = (t.run("mktemp -d /var/tmp/fio.XXXXXX")):gsub("\n", "")
local devices, held = {}, {}

local function finish()
  for _, f in ipairs(held) do f:close() end
  for _, device in ipairs(devices) do t.run("losetup -d " .. device) end
  t.run("rm -rf " .. dir)
end

for i = 1, 2 do
  local out, status = t.run(("head -c 4m /dev/urandom > %s/%d; losetup -f --show --direct-io=on %s/%d")
    :format(dir, i, dir, i))
  if status ~= 0 then
    finish()
    print("skipped all: no loop device: " .. out)
    print("0 passed, 0 failed, 1 skipped")
    os.exit(0)
  end
  devices[i] = out:gsub("\n", "")
  -- What is read of it before it may be written stays in the cache, and so out of the counts.
  held[i] = assert(io.open(devices[i]))
end

local function look()
  for _, device in ipairs(devices) do
    t.run(("%s -e 'assert(require(\"iolua\").open(\"%s\", { write = true })):close()'"):format(IOLUA,
      device))
  end
end

-- Reads, bytes of them, writes, bytes, discards, bytes: of each device.
local FIELDS = { 1, 3, 5, 7, 12, 14 }
local function counters()
  local list = {}
  for _, device in ipairs(devices) do
    local f <close> = assert(io.open(("/sys/block/%s/stat"):format(device:match("loop%d+"))))
    local numbers = {}
    for word in f:read("a"):gmatch("%d+") do numbers[#numbers + 1] = math.tointeger(word) end
    for i, field in ipairs(FIELDS) do
      list[#list + 1] = numbers[field] * (i % 2 == 0 and 512 or 1)
    end
  end
  return list
end

local function counted(command)
  look()
  local before = counters()
  local out, status = t.run(command)
  t.equal(status, 0, out)
  local after = counters()
  for i, number in ipairs(before) do after[i] = after[i] - number end
  return after, out
end

local GLOBAL = "[global]\ndirect=1\nioengine=psync\nbs=4k\nsize=1m\n"

-- How much of the counts is to be the same: all; "bytes" where neighbours are merged; "sum" where
-- reads and writes are drawn; "mix" where sizes are.
local function same(what, theirs, ours, who)
  local function compare(a, b, i) t.equal(b, a, ("%s: counter %d"):format(who, i)) end
  if what == "sum" then
    for _, i in ipairs { 1, 2, 7, 8 } do
      compare(theirs[i] + theirs[i + 2], ours[i] + ours[i + 2], i)
    end
    return
  end
  if what == "mix" then                 -- the last one may go over
    for i = 2, #theirs, 2 do t.near(ours[i], theirs[i], 16383, who) end
    return
  end
  for i = 1, #theirs do
    if what ~= "bytes" or i % 2 == 0 then compare(theirs[i], ours[i], i) end
  end
end

local function case(name, what, text, expected)
  t.case(name, function()
    local path = dir .. "/job.fio"
    do
      local f <close> = assert(io.open(path, "w"))
      -- fio adds a job's files to those of [global]: so it is one or the other.
      local first = text:find("FIRST") and "" or "filename=FIRST\n"
      local whole = (GLOBAL .. first .. text):gsub("FIRST", devices[1])
      f:write((whole:gsub("SECOND", devices[2])))
    end
    local theirs = counted("cd " .. dir .. "; BLOCK=8kib fio --output-format=json " .. path)
    for i, number in pairs(expected) do t.equal(theirs[i], number, "fio's counter " .. i) end
    local ours = counted("cd " .. dir .. "; BLOCK=8kib " .. IOLUA .. " fio " .. path)
    same(what, theirs, ours, "iolua fio")
    local script = t.run("BLOCK=8kib " .. IOLUA .. " fio --convert " .. path .. " 2>/dev/null")
    local f <close> = assert(io.open(dir .. "/job.lua", "w"))
    f:write(script)
    f:flush()
    same(what, theirs, counted(IOLUA .. " " .. dir .. "/job.lua"), "converted")
  end)
end

local MIB = 1 << 20

case("reads in order, by the block", "all", "[a]\nrw=read\n", { 256, MIB })
case("writes at random, each place once", "all", "[a]\nrw=randwrite\n", { [3] = 256, [4] = MIB })
case("several in flight", "bytes", "[a]\nrw=randread\nioengine=libaio\niodepth=8\n", { [2] = MIB })
case("units, an offset, a variable of the environment", "all",
  "[a]\nrw=read\nbs=${BLOCK}\noffset=1mib\nsize=512kib\nkb_base=1000\n", { [2] = 512 << 10 })
do
  local f <close> = assert(io.open(dir .. "/more.fio", "w"))
  f:write("rw=write\nbs=32k\n")
end
case("an include", "all", "[a]\nrw=read\ninclude more.fio\n", { [3] = 32, [4] = MIB })
case("[global] again, one job after the other", "all",
  "[a]\nrw=read\n[global]\nbs=16k\nstonewall\n[b]\nrw=write\n[c]\nrw=randread\n",
  { 256 + 64, 2 * MIB, 64, MIB })
case("copies of a job", "all", "[a]\nrw=randread\nnumjobs=3\ngroup_reporting\n", { 768, 3 * MIB })
case("a job that waits for another", "all", "[a]\nrw=write\n[b]\nwait_for=a\nrw=read\n",
  { 256, MIB, 256, MIB })
case("loops", "all", "[a]\nrw=randread\nloops=3\n", { 768, 3 * MIB })
case("so many operations, so many bytes", "all",
  "[a]\nrw=read\nnumber_ios=100\n[b]\nstonewall\nrw=write\nio_size=256k\n",
  { 100, 409600, 64, 256 << 10 })
case("a mix of reads and writes", "sum", "[a]\nrw=randrw\nrwmixread=75\n", {})
case("places that are hot", "all", "[a]\nrw=randread\nrandom_distribution=zipf:1.1\n", { 256, MIB })
case("a rate", "all", "[a]\nrw=read\nrate=4m\n", { 256, MIB })
case("a rate of operations", "all", "[a]\nrw=write\nrate_iops=1000\n", { [3] = 256, [4] = MIB })
case("thinking", "all", "[a]\nrw=read\nsize=256k\nthinktime=1ms\nthinktime_blocks=4\n",
  { 64, 256 << 10 })
case("two devices, block by block in turn", "all", "[a]\nfilename=FIRST:SECOND\nrw=read\nsize=2m\n",
  { 256, MIB, [7] = 256, [8] = MIB })
case("two devices, one after the other", "all", "[a]\nfilename=FIRST:SECOND\nrw=write\nsize=2m\n"
  .. "file_service_type=sequential\n", { [3] = 256, [4] = MIB, [9] = 256, [10] = MIB })
case("flushes between", "bytes", "[a]\nrw=write\nfsync=8\n", { [4] = MIB })
case("verified: what was written is read back", "all", "[a]\nrw=randwrite\nverify=crc32c\n",
  { 256, MIB, 256, MIB })
case("verified, but not read back", "all", "[a]\nrw=write\nverify=md5\ndo_verify=0\n",
  { [3] = 256, [4] = MIB })
case("discards", "all", "[a]\nrw=trim\nbs=64k\n", { [5] = 16, [6] = MIB })
case("discards at random", "all", "[a]\nrw=randtrim\nbs=64k\n", { [5] = 16, [6] = MIB })

-- By the sizes that were drawn the number of operations differs, not what they cover.
case("a mix of sizes", "mix", "[a]\nrw=write\nbssplit=4k/50:16k/50\n", {})

finish()
t.done()
