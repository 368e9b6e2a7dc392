-- `iolua fio`: runs what it says, does as many operations as fio, harms no file.
local t = require "check"
local IOLUA = os.getenv("IOLUA")
local dir = io.popen("mktemp -d"):read("l")

local function write(name, text)
  local f <close> = assert(io.open(dir .. "/" .. name, "w"))
  f:write(text)
  return dir .. "/" .. name
end

local function iolua(...)
  return t.run(table.concat({ "cd " .. dir .. ";", IOLUA, "fio", ... }, " "))
end

-- Sequential writing, then random reading by two copies, then a mix.
local JOB = [[
[global]
directory=DIR
size=2m
bs=4k
[seq]
rw=write
bs=64k
[rnd]
stonewall
rw=randread
ioengine=libaio
iodepth=4
numjobs=2
group_reporting
[mix]
stonewall
rw=randrw
rwmixread=75
]]
local path = write("a.fio", (JOB:gsub("DIR", dir)))

local function counts(text)
  local program = require "iolua.program"
  local r = assert(program.fio.read(text))
  local list = {}
  for _, job in ipairs(r.jobs) do
    for _, side in ipairs { "read", "write" } do
      local s = job[side]
      list[#list + 1] = ("%s %s %s %s"):format(job.name, side, s and s.ios, s and s.bytes)
    end
  end
  return list
end

t.case("a value that a job refuses is told with the job's name, without a traceback", function()
  for _, line in ipairs { "iodepth=0", "number_ios=0", "rate=0", "fsync=9223372036854775807" } do
    local file = write("refused.fio", ("[odd]\nfilename=%s/odd\nsize=64k\nrw=write\n"
      .. "ioengine=libaio\n%s\n"):format(dir, line))
    local out = iolua(file, "2>&1")
    t.contains(out, "iolua fio: odd, copy 1: job: ")
    t.equal(out:find("traceback", 1, true), nil)
    t.run("rm -f " .. dir .. "/odd " .. file)
  end
end)

t.case("the same number and size of operations as fio", function()
  local ours, status = iolua("--json", path)
  t.equal(status, 0, ours)
  ours = counts(ours)
  t.equal(ours[2], "seq write 32 2097152")
  t.equal(ours[3], "rnd read 1024 4194304")
  local total = 0
  for _, i in ipairs { 5, 6 } do total = total + tonumber(ours[i]:match("^mix %a+ (%d+)")) end
  t.equal(total, 512)
  if select(2, t.run("command -v fio")) ~= 0 then t.skip("fio is not installed") end
  t.run("rm -f " .. dir .. "/*.0")
  local theirs = counts((t.run("fio --output-format=json " .. path)))
  for i = 1, 4 do t.equal(ours[i], theirs[i]) end
end)

t.case("a file that exists is not overwritten, with --overwrite it is", function()
  t.run("rm -f " .. dir .. "/*.0; echo precious > " .. dir .. "/seq.0.0")
  local out, status = iolua(path)
  t.equal(status, 1)
  t.contains(out, "the file exists")
  t.equal(t.run("cat " .. dir .. "/seq.0.0"), "precious\n")
  t.equal(t.run("ls " .. dir), "a.fio\nseq.0.0\n")      -- what was made meanwhile is gone
  out, status = iolua("--overwrite", path)
  t.equal(status, 0, out)
end)

t.case("the converted script runs", function()
  t.run("rm -f " .. dir .. "/*.0")
  local script, status = iolua("--convert", path)
  t.equal(status, 0)
  local out, ended = t.run(IOLUA .. " " .. write("a.lua", script))
  t.equal(ended, 0, out)
  t.contains(out, "rnd\t2\tread")
end)

t.case("what is not supported refuses the job by name; --anyway leaves it out", function()
  local bad = write("b.fio", ("[a]\nfilename=%s/seq.0.0\nsize=1m\nverify=pattern\n"):format(dir))
  local out, status = iolua(bad)
  t.equal(status, 1)
  t.contains(out, "b.fio:4: verify=pattern: verify=pattern is not to be had")
  out, status = iolua("--anyway", bad)
  t.equal(status, 0, out)
  t.contains(out, "left out: ")
end)

t.case("--with-fio runs it by fio", function()
  if select(2, t.run("command -v fio")) ~= 0 then t.skip("fio is not installed") end
  local out, status = iolua("--with-fio", path)
  t.equal(status, 0, out)
  t.contains(out, "seq write: 32 operations")
end)

t.case("several files of one job, each block in turn", function()
  local several = write("d.fio", ("[a]\ndirectory=%s\nfilename=m1:m2\nrw=write\nbs=4k\n"
    .. "size=64k\n"):format(dir))
  local out, status = iolua("--json", several)
  t.equal(status, 0, out)
  t.equal(counts(out)[2], "a write 16 65536")
  t.equal(t.run("stat -c %s " .. dir .. "/m1 " .. dir .. "/m2"), "32768\n32768\n")
end)

t.case("a ramp is not in what is told: the window is the runtime", function()
  local path_of = write("r.fio", ("[a]\ndirectory=%s\nrw=read\nsize=64k\ntime_based\nruntime=200ms\n"
    .. "ramp_time=100ms\n"):format(dir))
  local out, status = iolua("--json", path_of)
  t.equal(status, 0, out)
  t.equal(require("dkjson").decode(out).jobs[1].read.runtime, 200)
end)

t.case("what was read back of a verified job is told beside it", function()
  local verified = write("v.fio", ("[v]\ndirectory=%s\nrw=randwrite\nsize=256k\nverify=crc32c\n"
    .. "[b]\nstonewall\nfilename=%s/v.0.0\nrw=randtrim\nsize=256k\n"):format(dir, dir))
  local out, status = iolua(verified)
  t.equal(status, 0, out)
  t.contains(out, "iolua's stamps and sums")
  t.ok(out:find("v +1 +write +64 "), out)
  t.ok(out:find("v +1 +verify +64 "), out)
  t.ok(out:find("b +1 +trim +64 "), out)
  -- The trimmed file reads as zeros.
  t.equal(t.run(("tr -d '\\0' < %s/v.0.0 | wc -c"):format(dir)), "0\n")
end)

t.case("usage", function()
  t.equal(select(2, iolua()), 2)
  t.equal(select(2, iolua("--nonsense", path)), 2)
  t.contains(iolua("--help"), "--convert")
  local out, status = iolua(dir .. "/none.fio")
  t.equal(status, 1)
  t.contains(out, "No such file")
end)

t.run("rm -rf " .. dir)
t.done()
