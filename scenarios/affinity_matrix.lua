-- Question: does the distance between submitting, interrupt and completing CPU cost CPU time or
--           tail latency? (--view 2008: does it matter which CPU submits, queues and completes?)
-- Needs:    nothing (a scratch file of its own), or a file or disk to read. As root on a block
--           device that is named, rq_affinity is set and the interrupt held, and both put back.
-- Takes:    under a minute on two CPUs; --runtime 30s --ramp 10s --replicates 8 for a finding.
-- Shows:    for each load and mode of submission: latencies, rates and CPU time by distance and
--           rq_affinity, who did the work, and verdicts; or the 18 rows of 2008.
local iolua = require "iolua"
local control = require "affinity.control"
local place = require "affinity.place"
local witness = require "affinity.witness"

local opt = iolua.options {
  "Does it matter which CPU submits, queues and completes?",
  view = { choices = { "distance", "2008" }, default = "distance",
    help = "distance x rq_affinity x mode, or the 18 rows of the table of 2008" },
  target = { type = "path", list = true,
    help = "file or disk, or several; default: a scratch file" },
  size = { type = "size", default = "256m", help = "of the scratch file" },
  runtime = { type = "duration",
    help = "time measured in each run (default: 500ms; 1s with --view 2008)" },
  ramp = { type = "duration",
    help = "time before it, not counted (default: a fifth of the runtime)" },
  replicates = { type = "integer", default = 3, min = 1, help = "runs of each row" },
  seed = { type = "integer", default = 1, min = 0, help = "of the order and the places" },
  bs = { type = "size", default = "4k", help = "bytes an operation" },
  iodepth = { type = "integer", min = 1,
    help = "operations in flight, each target (default: 32; else the depth of best IOPS)" },
  rw = { choices = { "read", "write", "randread", "randwrite", "rw", "randrw" },
    default = "randread", help = "what to do" },
  loads = { type = "string", list = true, default = { "single", "peak", "control" },
    help = "of distance: one operation at a time, the best depth, 256 KiB as a control" },
  modes = { type = "string", list = true,
    default = { "inline", "iopoll", "sqpoll-near", "sqpoll-far" },
    help = "of distance: who submits and who completes" },
  aliases = { type = "boolean", default = false,
    help = "of distance: run also cells that should be the same machine state as another" },
  set = { type = "boolean", help = "turn rq_affinity and hold the interrupt also of the disk "
    .. "under a file; --no-set: of no disk" },
  count = { type = "boolean", default = true, help = "count block events by CPU, where that is "
    .. "allowed: it costs some time, in every row" },
  irq_cpu = { type = "integer", min = 0, max = 8191,
    help = "CPU to hold the interrupt on, where it can be moved (default: where it is)" },
  overwrite = { type = "boolean", default = false, help = "the files given may be overwritten" },
  destroy = { type = "path", help = "the disk whose data may be lost: its own path" },
  smallest = { type = "string", default = "2%", help = "smallest difference that is of interest" },
  gates = { type = "boolean", default = true, help = "void runs that the machine disturbed" },
  experiment = true,
}
opt.runtime = opt.runtime or iolua.units.ns(opt.view == "2008" and "1s" or "500ms")
opt.ramp = opt.ramp or opt.runtime // 5
if opt.view == "2008" then opt.iodepth = opt.iodepth or 32 end

local function fail(message, status) iolua.leave(status or 1, message) end

-- A described machine's disks, where it is one.
local described = package.loaded["iolua.machine"] and package.loaded["iolua.machine"].current()
opt.target = opt.target or described and described.paths

local writing = opt.rw:find("write") or opt.rw:find("rw$")

local function open_targets()
  local list = {}
  for i, path in ipairs(opt.target) do
    local options = { direct = true, write = writing and true or nil,
      overwrite = writing and opt.overwrite or nil, destroy = writing and opt.destroy or nil }
    local f, message, errno = iolua.open(path, options)
    if not f and errno == 22 then
      options.direct = nil                      -- no direct I/O there: the header says so
      f, message = iolua.open(path, options)
    end
    if not f then fail(message) end
    list[i] = f
  end
  return list
end

local function scratch()
  local f, message = iolua.scratch.file { size = opt.size }
  if not f then fail(message) end
  return f, ("scratch file of %s in %s"):format(iolua.units.format_bytes(f:size()), message)
end

local targets = opt.target and open_targets() or {}
local what = opt.target and table.concat(opt.target, ", ")
  or ("scratch file of %s, made and removed"):format(iolua.units.format_bytes(opt.size))
if not opt.target and not opt.plan then targets[1], what = scratch() end
local _ <close> = setmetatable({}, { __close = function()
  for _, f in ipairs(targets) do f:close() end
end })

-- A plan makes no scratch file: it looks at the disk that would take it.
local knobs = control.new(#targets > 0 and targets or { iolua.scratch.folder() },
  opt.set)
local here, misplaced = place.find(knobs, opt)
if not here then fail(misplaced, 2) end
local seer <close> = witness.open(targets, knobs, opt.count)

-- All that the views need. `evidence` adds what was seen to a run's own.
local session = {
  options = opt, targets = targets, control = knobs, place = here, witness = seer,
  question = "Does it matter which CPU submits, queues and completes?",
  uncounted = seer.why,
  about = { scenario = "affinity_matrix", view = opt.view, target = what,
    placement = here:plain(), rw = opt.rw, bs_bytes = opt.bs, iodepth = opt.iodepth,
    runtime_ns = opt.runtime, ramp_ns = opt.ramp },
  say = function(lines)
    for _, line in ipairs(lines) do print(line) end
  end,
}

function session.evidence(evidence, seen, rq, against)
  if seen.counts then
    local n = seen.counts
    evidence.cpus = { queue = n.queue, issue = n.issue, complete = n.complete,
      bio_complete = n.bio_complete }
    evidence.merges = (n.total.backmerge or 0) + (n.total.frontmerge or 0)
  elseif seen.why then
    evidence.not_counted = seen.why
    session.uncounted = session.uncounted or seen.why
  end
  if seer.blocks then
    evidence.device_bytes, evidence.application_bytes = seen.device_bytes, seen.own_bytes
  end
  evidence.changed, evidence.contradiction = knobs:changed(rq), against
end

--- The standard gates, what somebody changed meanwhile and, where asked, what ran elsewhere than
--- its label says.
function session.gates(which)
  if not opt.gates then return {} end
  return {
    function(row) return row.evidence and row.evidence.changed end,
    which.contradictions and function(row) return row.evidence and row.evidence.contradiction end
      or nil,
  }
end

-- What would be written; and, for a plan, what would be changed beside the rows' own settings.
function session.writes()
  local list = {}
  if not opt.target then list[1] = what
  elseif writing then list[1] = table.concat(opt.target, ", ") end
  return list
end

local function header()
  local u = iolua.units
  local direct = targets[1] and not targets[1]:direct() and ", through the page cache"
    or ", direct"
  local lines = {
    { "target", what .. direct },
    { "load", ("%s, %s; %s a run after %s of ramp; %d replicates in randomised blocks, seed %d")
      :format(opt.rw, opt.view == "2008" and ("bs %s, iodepth %d"):format(u.format_size(opt.bs),
        opt.iodepth) or "see each table", u.format_ns(opt.runtime), u.format_ns(opt.ramp),
        opt.replicates, opt.seed) },
    table.unpack(here:header()),
  }
  local text = { "affinity matrix: does it matter which CPU submits, queues and completes?" }
  for _, line in ipairs(lines) do text[#text + 1] = ("%-8s %s"):format(line[1], line[2]) end
  return table.concat(text, "\n") .. "\n\n"
end

local function write(path, text)
  if not path then return end
  if path == "-" then return io.stdout:write(text) end
  local file, message = io.open(path, "w")
  if not file then fail("cannot write the result: " .. message) end
  file:write(text)
  file:close()
end

-- For --plan: all that is changed outside the process.
local function changes()
  if not knobs.may then
    return { "changed: nothing outside the process; " .. tostring(knobs.why or knobs.rq_why) }
  end
  local lines = { ("changed: rq_affinity of %s, found %s, for each run as below; put back at the "
    .. "end"):format(knobs:names(), tostring(knobs.rq)) }
  for _, line in ipairs(here.moves and knobs:plan_interrupts(here.i) or {}) do
    lines[#lines + 1] = "changed: " .. line .. "; put back at the end"
  end
  return lines
end

local shown = not opt.quiet and opt.json ~= "-" and opt.csv ~= "-"
if shown then io.stdout:write(header()) end
if opt.plan then session.say(changes()) end
local result, report = require(opt.view == "2008" and "affinity.matrix"
  or "affinity.protocol").run(session)
if shown then io.stdout:write(report.text) end
write(opt.json, report.json)
write(opt.csv, report.csv)
if result:nothing() then fail(result:nothing()) end
