-- Question: where does a stripe's width stop paying, and what does a transfer that wraps cost?
-- Needs:    nothing (scratch members), or --devices to read.   Takes: under two minutes by
--           default; --runtime 20s --replicates 6 for a finding.
-- Shows:    members alone and all at once (the ceiling), MB/s and time per transfer by width and
--           bytes a segment at depth 1 (as in 2005) and at saturation, controls, verdicts.
local iolua = require "iolua"
local analysis = require "stripe.analysis"
local chart = require "stripe.chart"
local legs = require "stripe.legs"
local members = require "stripe.members"
local verdicts = require "stripe.verdicts"

local opt = iolua.options {
  "Where does a stripe's width stop paying, and what does a transfer that wraps cost?",
  devices = { type = "path", list = true,
    help = "members, read only; default: scratch disks" },
  widths = { type = "integer", list = true, min = 1, help = "default: 1 to the number of members" },
  segments = { type = "size", list = true, help = "bytes a member; default: 16k,32k,48k,64k" },
  chunk = { type = "size", default = "16k", min = 512, help = "bytes before the next member" },
  runtime = { type = "duration", default = "300ms", help = "time measured in each run" },
  ramp = { type = "duration", default = "50ms", help = "time before it, not counted" },
  replicates = { type = "integer", default = 3, min = 1, help = "runs of each case" },
  iodepth = { type = "integer", default = 16, min = 2, help = "transfers in flight at saturation" },
  backend = { choices = { "auto", "dm", "user" }, default = "auto", help = "who maps" },
  count = { type = "integer", default = 4, min = 1, help = "of scratch members" },
  size = { type = "size", default = "64m", help = "of a scratch member" },
  bandwidth = { type = "string", help = "of a scratch member, as in 20MB/s; default: no limit" },
  seed = { type = "integer", default = 1, min = 0, help = "of the order and the places" },
  chart = { type = "path", help = "write PATH.agr, PATH.svg, PATH.png" },
  experiment = true,
}

local function fail(message) iolua.leave(1, message) end
local say = iolua.options.say(opt)

local segments = opt.segments or { 16384, 32768, 49152, 65536 }
table.sort(segments)
local segment_names = {}
for i, bytes in ipairs(segments) do segment_names[i] = iolua.units.format_size(bytes) end

local function scratch_disks()
  if opt.plan then
    local names = {}
    for i = 1, opt.count do names[i] = "scratch disk " .. i end
    return names
  end
  local disks, message = iolua.scratch.disks { count = opt.count, size = opt.size,
    bandwidth = opt.bandwidth }
  if not disks then fail(message) end
  return disks
end

-- Without --devices: all of a described machine, on this one scratch disks.
local described = package.loaded["iolua.machine"] and package.loaded["iolua.machine"].current()
local given = opt.devices or described and described.paths
local devices = given or scratch_disks()
local list = {}
local _ <close> = setmetatable({}, { __close = function()
  members.close(list)
  if type(devices.close) == "function" then devices:close() end
end })
if not opt.plan then
  local opened, message = members.open(devices)
  if not opened then fail(message) end
  list = opened
end

local function check_widths()
  local widths = opt.widths or {}
  if #widths == 0 then
    for i = 1, #devices do widths[i] = i end
  end
  table.sort(widths)
  if widths[#widths] > #devices then
    fail(("width %d, but there are %d members"):format(widths[#widths], #devices))
  end
  return widths
end

local widths = check_widths()
local widest = widths[#widths]

-- A fresh place each run, the same fraction of the members for all arms.
local function place(size, bs, seed)
  local blocks = size // bs // 2
  return blocks > 0 and seed % blocks * bs or 0
end

local function read(target, bs, depth, seed, numjobs)
  local size
  if type(target) == "table" and target.backend then size = target:size() else size = nil end
  return iolua.job { target = target, rw = "read", bs = bs, iodepth = depth, seed = seed,
    offset = size and place(size, bs, seed) or 0, numjobs = numjobs or 1,
    runtime = opt.runtime, ramp_time = opt.ramp }
end

local function metrics(r)
  return { MB_per_s = r.read.bytes_per_s / 1e6, us_per_transfer = r.read.lat:mean() / 1e3 }
end

-- What disturbs this machine does not disturb a simulated one.
local function gates_with(own)
  local gates = { table.unpack(own or {}) }
  if list[1] and list[1].simulated then
    gates.steal_percent, gates.throttled, gates.memory_pressure_percent = false, false, false
  end
  return gates
end

local function common(name, factors, more)
  local e = { name = name, factors = factors, replicates = opt.replicates, seed = opt.seed,
    metrics = { "MB_per_s", "us_per_transfer" }, run_time = opt.runtime + opt.ramp,
    quiet = opt.quiet, plan = opt.plan }
  for key, value in pairs(more) do e[key] = value end
  e.gates = gates_with(e.gates)
  return iolua.experiment(e)
end

-- Members alone and the first w at once, with the largest segment, saturated.
local function ceiling()
  local levels = {}
  for i = 1, widest do levels[i] = ("alone %d"):format(i) end
  for _, w in ipairs(widths) do
    if w > 1 then levels[#levels + 1] = ("at once %d"):format(w) end
  end
  return common("members", { members = levels }, { duplicate = false,
    measure = function(case, _, run)
      local how, n = case.members:match("^(%a+ ?%a*) (%d+)$")
      n = math.tointeger(tonumber(n))
      local files = how == "alone" and { list[n].file } or members.files(list, n)
      local r, message = read(files, segments[#segments], opt.iodepth, run.seed, #files)
      if not r then return nil, message end
      return metrics(r), iolua.experiment.evidence(r)
    end })
end

local function make(w, more)
  local o = { members = members.of_volume(list, w), chunk = opt.chunk, backend = opt.backend,
    direct = true }
  for key, value in pairs(more or {}) do o[key] = value end
  return iolua.volume.stripe(o)
end

local backend

local function sweep()
  return common("stripe-sweep", { width = widths, segment = segment_names,
    depth = { 1, opt.iodepth } }, {
    order = { "width", "segment", "depth" }, options = opt,
    question = "Where does width stop paying, and what does wrapping cost?",
    writes = not given and ("%d scratch disks of %s, made and removed"):format(opt.count,
      iolua.units.format_bytes(opt.size)) or nil,
    setup = function(case)
      local v = assert(make(case.width))
      backend = v.backend
      return v
    end,
    gates = { function(row)
      local imbalance = row.evidence and row.evidence.imbalance_percent
      if imbalance and imbalance > 10 then
        return ("the legs moved bytes that differ by %.0f %%"):format(imbalance)
      end
    end, function(row)
      local e = row.evidence
      if e and e.predicted_bytes and e.request_bytes
        and math.abs(e.request_bytes / e.predicted_bytes - 1) > 0.05 then
        return ("requests of %.0f bytes, not of %d as predicted"):format(e.request_bytes,
          e.predicted_bytes)
      end
    end },
    measure = function(case, v, run)
      local bytes = iolua.units.bytes(case.segment)
      local counts, r, message = legs.count(list, case.width, function()
        return read(v, case.width * bytes, case.depth, run.seed)
      end)
      if not r then return nil, message end
      local evidence = iolua.experiment.evidence(r)
      evidence.backend = v.backend
      evidence.imbalance_percent = legs.imbalance(counts)
      evidence.request_bytes = legs.request_bytes(counts)
      evidence.predicted_bytes = v.backend == "user" and bytes % opt.chunk == 0 and bytes or nil
      return metrics(r), evidence
    end })
end

-- What the volume itself costs: the same transfer with and without it.
local function controls()
  local one, two = segments[1], segments[math.min(2, #segments)]
  local arms = {
    ["one member, raw"] = function(seed) return read({ list[1].file }, one, 1, seed) end,
    ["one member, user"] = function(seed)
      local v <close> = assert(make(1, { backend = "user" }))
      return read(v, one, 1, seed)
    end,
    ["stripe, user"] = function(seed)
      local v <close> = assert(make(widest, { backend = "user" }))
      return read(v, widest * two, 1, seed)
    end,
    ["stripe, user, pieces apart"] = function(seed)
      local v <close> = assert(make(widest, { backend = "user", merge = false }))
      return read(v, widest * two, 1, seed)
    end,
  }
  local names = { "one member, raw", "one member, user", "stripe, user",
    "stripe, user, pieces apart" }
  if backend == "dm" then
    arms["one member, dm-linear"] = function(seed)
      local v <close> = assert(iolua.volume.linear { device = list[1].path, direct = true })
      return read(v, one, 1, seed)
    end
    arms["stripe, dm"] = function(seed)
      local v <close> = assert(make(widest, { backend = "dm" }))
      return read(v, widest * two, 1, seed)
    end
    arms["stripe, dm, nomerges"] = function(seed)
      for i = 1, widest do
        assert(iolua.settings.set(list[i].path, { nomerges = 2 }))
      end
      local v <close> = assert(make(widest, { backend = "dm" }))
      local r, message = read(v, widest * two, 1, seed)
      iolua.settings.restore()
      return r, message
    end
    table.move({ "one member, dm-linear", "stripe, dm", "stripe, dm, nomerges" }, 1, 3,
      #names + 1, names)
  end
  return common("controls", { control = names }, { duplicate = false,
    measure = function(case, _, run)
      local r, message = arms[case.control](run.seed)
      if not r then return nil, message end
      return metrics(r), iolua.experiment.evidence(r)
    end })
end

local function header()
  local u = iolua.units
  say("stripe sweep: where does width stop paying, and what does wrapping cost?")
  say("%8s chunk %s; %s a segment; depth 1 and %d; %s a run after %s of ramp; %d replicates",
    "load", u.format_size(opt.chunk), table.concat(segment_names, ", "), opt.iodepth,
    u.format_ns(opt.runtime), u.format_ns(opt.ramp), opt.replicates)
  if not opt.plan then say("%s", members.text(list)) end
  for _, note in ipairs(devices.notes or {}) do say("%8s %s", "note", note) end
  if devices.throttled then
    say("%8s members are throttled (%s): they show their throttle, not a finding", "note",
      devices.throttled)
  elseif not given then
    say("%8s scratch members share one disk: good for a try, not for findings", "note")
  end
end

local function show(title, result)
  say("\n%s\n%s", title, (require("iolua.report.summary").text(result):gsub("\n$", "")))
end

header()
if opt.plan then                        -- a plan ends its script, as --help does: one after the other
  for _, part in ipairs { ceiling, sweep, controls } do
    local ok, err = pcall(part)
    if not ok and not (type(err) == "table" and err.iolua_exit == 0) then error(err, 0) end
    say("")
  end
  return
end
local alone = ceiling()
local result = sweep()
local control = not result.interrupted and controls() or nil

local told = { widths = widths, widest = widest, segments = segments,
  segment_names = segment_names, chunk = opt.chunk, iodepth = opt.iodepth,
  replicates = opt.replicates, list = list }
local single, at = verdicts.rates_at(told, result, 1), verdicts.ceiling_rates(told, alone)
local sentences = verdicts.sentences(told, alone, result)

show("Members alone, and the first of them all at once:", alone)
if control then show("Controls, one transfer at a time:", control) end
say("\nThe sweep (backend %s):", tostring(backend))
assert(result:report(opt, {}))
say("%s", table.concat(sentences, "\n"))
if opt.chart then
  local title = ("Stripe sweep, %d members, %s"):format(#list, tostring(backend))
  local c = chart.of(title, segment_names, widths, single, at)
  local written, message = chart.write(c, opt.chart)
  if not written then fail("cannot write the chart: " .. message) end
  say("chart: %s", table.concat(written, ", "))
end
if result:nothing() then fail(result:nothing()) end
