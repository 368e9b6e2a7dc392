-- Question: does it matter which CPU submits, queues and completes?
-- Needs:    nothing (a scratch file of its own), or a file or disk to read.   Takes: about a
--           minute by default; --runtime 30s --ramp 10s --replicates 8 for a finding.
-- Shows:    the 18 rows of 2008 (A: where the application runs; Q: where requests are queued;
--           C: where completions are handled; X: another CPU, I: the interrupt's CPU), rq_affinity
--           0 and 1, and whether the rows differ by more than A/A and replicates do.
local iolua = require "iolua"
local place = require "affinity.place"
local rows = require "affinity.rows"
local view = require "affinity.view"

local opt = iolua.options {
  "Does it matter which CPU submits, queues and completes?",
  target = { type = "path", list = true,
    help = "file or disk, or several; default: a scratch file" },
  size = { type = "size", default = "256m", help = "of the scratch file" },
  runtime = { type = "duration", default = "1s", help = "time measured in each run" },
  ramp = { type = "duration", default = "200ms", help = "time before it, not counted" },
  replicates = { type = "integer", default = 3, min = 1, help = "runs of each row" },
  seed = { type = "integer", default = 1, min = 0, help = "of the order and the places" },
  bs = { type = "size", default = "4k", help = "bytes an operation" },
  iodepth = { type = "integer", default = 32, min = 1,
    help = "operations in flight, each target" },
  rw = { choices = { "read", "write", "randread", "randwrite", "rw", "randrw" },
    default = "randread",
         help = "what to do" },
  overwrite = { type = "boolean", default = false, help = "the files given may be overwritten" },
  destroy = { type = "path", help = "the disk whose data may be lost: its own path" },
  set = { type = "boolean", default = false,
    help = "set rq_affinity of the disk for each row, and put it back" },
  count = { type = "boolean", default = true,
    help = "count block events by CPU, where that is allowed: it costs some time, in every row" },
  smallest = { type = "string", default = "2%", help = "smallest difference that is of interest" },
  gates = { type = "boolean", default = true, help = "void runs that the machine disturbed" },
  experiment = true,
}

local function fail(message)
  error(setmetatable({ iolua_exit = 1, message = message },
    { __tostring = function(e) return e.message end }), 0)
end

local function open_targets()
  local list = {}
  for i, path in ipairs(opt.target) do
    local writes = opt.rw:find("write") or opt.rw:find("rw$")
    local options = { direct = true, write = writes and true or nil,
      overwrite = writes and opt.overwrite or nil, destroy = writes and opt.destroy or nil }
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

local here = place.find(targets[1] or opt.plan and iolua.scratch.folder())
if opt.set and not (here.irq and here.rq) then
  fail("--set needs a disk whose interrupt and rq_affinity can be read: "
    .. tostring(here.i_why or here.rq_why))
end
local all = rows.all(here, opt.set)
local runnable, labels = rows.runnable(all)
local to_stdout = opt.json == "-" or opt.csv == "-"

local function header()
  local u = iolua.units
  local direct = targets[1] and not targets[1]:direct() and ", through the page cache"
    or ", direct"
  local lines = {
    { "target", what .. direct },
    { "load", ("%s, bs %s, iodepth %d; %s a run after %s of ramp; "
      .. "%d replicates in randomised blocks, seed %d")
      :format(opt.rw, u.format_size(opt.bs), opt.iodepth, u.format_ns(opt.runtime),
        u.format_ns(opt.ramp),
        opt.replicates, opt.seed) },
    table.unpack(place.header(here, opt.set)),
  }
  local text = { "affinity matrix: does it matter which CPU submits, queues and completes?" }
  for _, line in ipairs(lines) do text[#text + 1] = ("%-8s %s"):format(line[1], line[2]) end
  return table.concat(text, "\n") .. "\n\n"
end

local counter, no_counter
if opt.count and targets[1] then counter, no_counter = place.counter(targets) end
here.counting = opt.count and targets[1] and (counter and "block events on the disk, by CPU"
  or "none: " .. tostring(no_counter)) or nil

-- What a row needs of the disk; it comes back by itself at the end.
local function setup(case)
  local row = runnable[case.row]
  if not row.rq then return true end
  for _, f in ipairs(targets) do
    local taken, message = iolua.settings.set(f, { rq_affinity = row.rq })
    if not taken then return nil, message end
  end
  return true
end

local function job_of(row, run)
  return iolua.job {
    target = targets, numjobs = #targets, rw = opt.rw, bs = opt.bs, iodepth = opt.iodepth,
    runtime = opt.runtime, ramp_time = opt.ramp, seed = run.seed, cpus = row.cpus,
    mem = { node = row.node }, ring = row.ring, continue_on_error = true,
  }
end

-- The job, with its block events counted where they can be.
local function counted(row, run)
  if not counter then return nil, job_of(row, run) end
  return counter:count(function() return job_of(row, run) end)
end

local function measure(case, _, run)
  local row = runnable[case.row]
  local counts, r, message = counted(row, run)
  if not r then return nil, message end
  local metrics = view.metrics(r)
  if counts then view.add_counts(metrics, row, counts, here, #targets) end
  return metrics, iolua.experiment.evidence(r)
end

-- Somebody else set it meanwhile: the row is void.
local function kept(result_row)
  local row = runnable[result_row.levels.row]
  if not row.rq then return nil end
  local now = iolua.settings.get(targets[1])
  return now and now.rq_affinity ~= row.rq and "rq_affinity was changed meanwhile" or nil
end

local function write(path, text)
  if not path then return end
  if path == "-" then return io.stdout:write(text) end
  local file, message = io.open(path, "w")
  if not file then fail("cannot write the result: " .. message) end
  file:write(text)
  file:close()
end

if not opt.quiet and not to_stdout then io.stdout:write(header()) end
if opt.plan then
  for _, row in ipairs(all) do
    if row.status ~= "run" then print(("%-6s %s: %s"):format(row.label, row.status,
      row.reason)) end
  end
end

-- What a row sets: of itself, and of the disk.
local function sets(case)
  local row = runnable[case.row]
  local list = { row.cpus and "worker on CPU " .. row.cpus[1] or "no placement" }
  if row.ring then list[#list + 1] = "submission thread on CPU " .. row.ring.sq_cpu end
  if row.rq then list[#list + 1] = ("rq_affinity %d on %s"):format(row.rq, here.disk) end
  return list
end

local function writes()
  if not opt.target then return what end
  return (opt.rw:find("write") or opt.rw:find("rw$")) and table.concat(opt.target, ", ") or nil
end

local result = iolua.experiment {
  name = "affinity-matrix", question = "Does it matter which CPU submits, queues and completes?",
  factors = { row = labels }, replicates = opt.replicates, seed = opt.seed, options = opt,
  metrics = { "MB_per_s", "avg_latency_s", "stddev_s" }, run_time = opt.runtime + opt.ramp,
  targets = targets, changes = sets, writes = writes, gates = opt.gates and { kept = kept }
    or false,
  setup = setup, measure = measure,
}

local list = view.rows(all, result)
local sentences, comparisons = view.verdicts(all, result, opt.smallest)
if not opt.quiet and not to_stdout then
  io.stdout:write(view.text(list, result), "\n", table.concat(sentences, "\n"), "\n")
end
write(opt.json, view.json(list, result, sentences, comparisons, {
  scenario = "affinity_matrix", target = what, placement = here, rw = opt.rw, bs_bytes = opt.bs,
  iodepth = opt.iodepth, runtime_ns = opt.runtime, ramp_ns = opt.ramp,
}))
write(opt.csv, view.csv(list))
if not result:measured() and not result.interrupted then
  local first = result.rows[1]
  fail("nothing was measured: " .. tostring(first and (first.error or "void: "
    .. tostring(first.void))))
end
