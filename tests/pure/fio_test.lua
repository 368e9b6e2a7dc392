-- fio job files: syntax, units and what each option becomes.
local t = require "check"
local parse = require "iolua.fio.parse"
local plan = require "iolua.fio.plan"
local units = require "iolua.fio.units"
local convert = require "iolua.fio.convert"

local KNOWN = {}
for key in ("target rw bs iodepth batch offset size io_size number_ios runtime ramp_time "
  .. "rwmixread distribution rate rate_iops arrival norepeat fsync fdatasync end_fsync "
  .. "direct cpus cpus_allowed_policy seed engine continue_on_error ring "
  .. "thinktime thinktime_blocks verify do_verify"):gmatch("%S+") do
  KNOWN[key] = true
end

local function jobs(text, about)
  return plan.jobs(assert(parse.text(text, about)), KNOWN)
end

-- The options of one job with these lines.
local function one(lines)
  local list, refused = jobs("[j]\n" .. lines)
  return list[1].o, refused, list[1]
end

-- fio 3.33 itself: k and ki are 1024 and kib 1000 with kb_base=1024, the other way round with 1000
-- (its manual says that of ki, too).
for text, bytes in pairs { ["4k"] = 4096, ["4K"] = 4096, ["4kb"] = 4096, ["4ki"] = 4096,
  ["4KiB"] = 4000, ["1m"] = 1 << 20, ["1g"] = 1 << 30, ["0x1000"] = 4096, ["512"] = 512,
  ["1.5k"] = 1536 } do
  t.case(text .. " as a size with kb_base=1024", function()
    t.equal(units.bytes(text, 1024), bytes)
  end)
end

t.case("sizes with kb_base=1000", function()
  t.equal(units.bytes("4k", 1000), 4000)
  t.equal(units.bytes("4ki", 1000), 4000)
  t.equal(units.bytes("4kib", 1000), 4096)
  for _, text in ipairs { "", "k", "4x", "-1", "4 k", "4i" } do
    t.equal(units.bytes(text), nil, text)
  end
end)

t.case("times: seconds or us without a unit", function()
  t.equal(units.ns("10"), 10000000000)
  t.equal(units.ns("10", "us"), 10000)
  t.equal(units.ns("500ms"), 500000000)
  t.equal(units.ns("2m"), 120000000000)
  t.equal(units.ns("1h"), 3600000000000)
  t.equal(units.ns("ten"), nil)
  t.equal(units.ns("9223372036854775807"), nil)
  t.equal(units.ns("9223372036854775808", "us"), nil)
  t.equal(units.ns(("9"):rep(400)), nil)
  t.equal(units.bytes("0x7fffffffffffff"), (1 << 55) - 1)
  t.equal(units.bytes("0x0000000000000000001000"), 4096)
  t.equal(units.bytes("0xffffffffffffffff"), nil)
end)

t.case("[global] is of the jobs after it, comments and blank lines are nothing", function()
  local list = assert(parse.text("; c\n# c\n[global]\nbs=4k\n\n[a]\nrw = read ; said\n"
    .. "[global]\nbs=8k\n[b]\nstonewall\n"))
  t.equal(#list, 2)
  t.equal(list[1].name, "a")
  local o = list[1].options
  t.same({ o[1].value, o[2].value, #o }, { "4k", "read", 2 })
  t.equal(list[2].options[2].value, "8k")     -- later lines win
  t.equal(list[2].options[3].value, "1")
end)

t.case("includes, variables and keywords", function()
  local list = assert(parse.text("[a]\ninclude other.inc\nsize=${SIZE}\nnumjobs=$ncpus\n", {
    path = "x.fio", env = function(name) return name == "SIZE" and "8m" or nil end,
    keywords = { ncpus = 6 },
    read = function(path, from)
      return path == "other.inc" and from == "x.fio" and "bs=4k\n"
    end }))
  local o = list[1].options
  t.same({ o[1].key, o[1].path, o[2].value, o[3].value }, { "bs", "other.inc", "8m", "6" })
  t.equal(select(2, parse.text("[a]\nsize=${NO}\n", { path = "x.fio" })),
    "x.fio:2: the variable NO is not set")
  t.contains(select(2, parse.text("bs=4k\n", { path = "x.fio" })),
    "x.fio:1: \"bs=4k\" is outside")
end)

t.case("an include that includes itself ends", function()
  local _, message = parse.text("include a\n", { read = function() return "include a\n" end })
  t.contains(message, "too deep")
end)

t.case("what is silent is as fio has it: buffered reads of 4k by one synchronous call", function()
  local o = one ""
  t.same({ o.rw, o.bs, o.direct, o.engine }, { "read", 4096, false, "sync" })
end)

t.case("a region is done once, loops repeat it, time_based goes on", function()
  t.equal(one("size=8m").io_size, 8 << 20)
  t.equal(one("size=8m\nloops=3").io_size, 24 << 20)
  t.equal(one("size=8m\nruntime=5").io_size, 8 << 20)
  t.equal(one("size=8m\nruntime=5\ntime_based").io_size, nil)
  t.equal(one("size=8m\nio_size=1m").io_size, 1 << 20)
end)

t.case("random places visit each block once, unless told or hot or mixed", function()
  t.equal(one("rw=randread").norepeat, true)
  t.equal(one("rw=randread\nnorandommap").norepeat, false)
  t.equal(one("rw=randread\nrandom_distribution=zipf:1.1").norepeat, nil)
  t.equal(one("rw=read").norepeat, nil)
  t.equal(one("rw=randread\nrandom_distribution=zipf:1.1").distribution, "zipf:1.1")
end)

t.case("what is cached is dropped before a job unless told", function()
  t.equal(select(3, one "").keep_cache, nil)
  t.equal(select(3, one "invalidate=0").keep_cache, true)
end)

t.case("mixes of sizes", function()
  t.same(one("bssplit=4k/60:64k/40").bs, { ["4096"] = 60, ["65536"] = 40 })
  t.same(one("bssplit=4k/60:64k/:8k").bs, { ["4096"] = 60, "65536", "8192" })
  t.equal(one("bsrange=4k-64k").bs, "4096-65536")
  t.equal(one("bs=8k,8k").bs, 8192)
  local _, refused = one("bs=4k,8k")
  t.equal(#refused, 1)
end)

t.case("rates, mixes, thinking, engines", function()
  local o = one("rw=randrw\nrwmixwrite=30\nrate=1m\nrate_process=poisson\nthinktime=100\n"
    .. "ioengine=libaio\niodepth=16\nhipri\nramp_time=2\nfsync=8")
  t.same({ o.rwmixread, o.rate, o.arrival, o.thinktime, o.engine, o.iodepth, o.ring.iopoll,
    o.ramp_time, o.fsync }, { 70, 1 << 20, "poisson", 100000, "auto", 16, true, 2000000000, 8 })
end)

t.case("thinking: in us, after every operation or so many; none is none", function()
  local o = one "thinktime=2ms\nthinktime_blocks=4"
  t.same({ o.thinktime, o.thinktime_blocks }, { 2000000, 4 })
  o = one "thinktime=0\nthinktime_blocks=4"
  t.same({ o.thinktime, o.thinktime_blocks }, {})
  t.equal(#select(2, one "thinktime=5\nthinktime_spin=5"), 1)
end)

t.case("a depth that the engine has not is told", function()
  local o, _, job = one("ioengine=psync\niodepth=16")
  t.equal(o.iodepth, 1)
  t.contains(job.notes[1], "iodepth=16 has no effect")
end)

t.case("files: names, folders, copies", function()
  local list = jobs("[global]\ndirectory=/d\n[a]\nnumjobs=2\n[b]\nfilename=f\nnumjobs=2\n"
    .. "[c]\nfilename=/dev/x\\:y\n")
  t.same(list[1].paths, { "/d/a.0.0", "/d/a.1.0" })
  t.same(list[2].paths, { "/d/f", "/d/f" })
  t.same(list[3].paths, { "/dev/x:y" })
end)

t.case("several files are visited in turn, or one after the other", function()
  local list, refused = jobs("[a]\nfilename=x:/y\ndirectory=/d\nbs=4k\nsize=10k\n"
    .. "[b]\nfilename=x:y\nfile_service_type=sequential\n")
  t.equal(#refused, 0)
  t.same(list[1].paths, { { "/d/x", "/y" } })
  t.same({ list[1].chunk, list[1].each_bytes, list[1].o.size }, { 4096, 4096, 8192 })
  t.equal(list[2].chunk, nil)
  t.equal(#select(2, jobs("[a]\nfilename=x:y\nbssplit=4k/50:8k/50\n")), 1)
  t.equal(#select(2, jobs("[a]\nfilename=x:y\nfile_service_type=zipf\n")), 1)
end)

t.case("who waits for whom, and what is one group", function()
  local list, refused = jobs("[a]\n[b]\nstonewall\n[c]\nwait_for=a\n[d]\nnew_group\n")
  t.same({ list[1].group, list[2].group, list[3].group, list[4].group }, { 1, 2, 2, 3 })
  t.equal(list[3].wait_for, "a")
  t.equal(#refused, 0)
  t.equal(#select(2, jobs("[c]\nwait_for=z\n")), 1)
end)

t.case("copies that split the CPUs have one each", function()
  local list = jobs("[a]\nnumjobs=2\ncpus_allowed=1,4-6\ncpus_allowed_policy=split\n")
  t.same(list[1].cpu_list, { 1, 4, 5, 6 })
end)

t.case("what is not supported is named with its line, and nothing else is", function()
  local _, refused = jobs("[a]\nverify=pattern\nrw=trimwrite\ndescription=x\nioengine=rdma\n",
    { path = "x.fio" })
  local said = {}
  for i, r in ipairs(refused) do said[i] = plan.sentence(r) end
  t.same(said, { "x.fio:2: verify=pattern: verify=pattern is not to be had: a sum of each block is",
    "x.fio:3: rw=trimwrite: rw=trimwrite is not to be had",
    "x.fio:5: ioengine=rdma: ioengine=rdma is not to be had" })
end)

t.case("what iolua.job does not know is refused, not dropped", function()
  local list = assert(parse.text("[a]\nthinktime=5\n"))
  local _, refused = plan.jobs(list, { rw = true, bs = true, direct = true, engine = true,
    norepeat = true })
  t.equal(plan.sentence(refused[1]), "job a: thinktime: not supported")
end)

t.case("a slip of the pen is told, a longer name of fio's own is none", function()
  local _, refused = jobs("[a]\niodepht=3\nthinktime_spin=5\nzonemode=zbd\n", { path = "x.fio" })
  local said = {}
  for i, r in ipairs(refused) do said[i] = plan.sentence(r) end
  t.same(said, { "x.fio:2: iodepht=3: not supported; did you mean iodepth?",
    "x.fio:3: thinktime_spin=5: not supported", "x.fio:4: zonemode=zbd: not supported" })
end)

t.case("verify: a sum of each block where a job writes; it says what differs", function()
  local o, refused, job = one "rw=randwrite\nverify=crc32c\ndo_verify=0"
  t.same({ o.verify, o.do_verify, #refused }, { true, false, 0 })
  t.contains(job.notes[1], "iolua's stamps")
  t.equal(#select(2, one "rw=read\nverify=md5"), 1)
  t.equal(#select(2, one "rw=write\nverify=meta"), 1)
end)

t.case("trims are of sequential and random places", function()
  t.equal(one("rw=trim").rw, "trim")
  t.equal(one("rw=randtrim").norepeat, true)
end)

t.case("the script of a job file compiles and names every job", function()
  local list, refused = jobs("[a]\nrw=randrw\nbssplit=4k/60:64k/40\nsize=8m\n[b]\nstonewall\n"
    .. "verify_pattern=0xff\n")
  local text = convert.text(list, "x.fio", refused)
  assert(load(text))
  for _, part in ipairs { 'start("a"', 'start("b"', "wait_all()", '["4096"] = 60',
                          "-- Left out: job file:7: verify_pattern" } do
    t.contains(text, part)
  end
end)

t.case("text of a job file stays in its line of the script", function()
  local list, refused = jobs("[]\ros.exit(3)]\nverify=a\rb\n")
  local text = convert.text(list, "x\nos.exit(4) --", refused)
  assert(load(text))
  for line in text:gmatch("[^\r\n]+") do
    t.ok(not line:find("^os.exit") and not line:find("^b"), line)
  end
end)

t.case("counts beyond all reason are refused at once", function()
  for _, text in ipairs { "numjobs=244444444444", "loops=9999999999999",
    "numjobs=2\ncpus_allowed=0-999999999\ncpus_allowed_policy=split",
    "numjobs=2\ncpus_allowed=x\ncpus_allowed_policy=split" } do
    t.equal(#select(2, jobs("[a]\n" .. text .. "\n")), 1, text)
  end
end)

t.done()
