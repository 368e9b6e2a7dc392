-- Question: do iolua's own dd, hdparm, spew and fio jobs do what the programs do, as fast?
-- Needs:    root (a loop device over a scratch file of its own; without it hdparm is left out),
--           and those of dd, hdparm, spew and fio that are to be compared.   Takes: a minute.
-- Shows:    a row a program: MB/s of the original and of ours with 95 % intervals, run
--           alternately on the same device (of a known rate where the kernel can limit it);
--           what each moved by the kernel's counters; a verdict.
local iolua = require "iolua"

local opt = iolua.options {
  "Do iolua's own dd, hdparm, spew and fio jobs do what the programs do, as fast?",
  size = { type = "size", default = "8m", help = "of the scratch device" },
  bandwidth = { type = "string", default = "20MB/s",
    help = "of the scratch device, where the kernel can limit it; \"none\": as it comes" },
  bs = { type = "size", default = "64k", help = "bytes an operation" },
  programs = { type = "string", list = true, default = { "dd", "hdparm", "spew", "fio" },
    help = "which" },
  replicates = { type = "integer", default = 3, min = 2, help = "pairs of runs of each program" },
  smallest = { type = "string", default = "10%", help = "smallest difference that is of interest" },
  seed = { type = "integer", default = 1, min = 0, help = "of the order" },
  experiment = true,
}

local function fail(message) iolua.leave(1, message) end

local function word(format, ...) return (format):format(...) end

-- fio's job and ours are one text.
local function job_file(device)
  local path = os.tmpname()
  local f <close> = assert(io.open(path, "w"))
  f:write(word("[read]\nfilename=%s\nrw=randread\nbs=%d\nsize=%d\ndirect=1\nioengine=libaio\n"
    .. "iodepth=8\nloops=4\n", (device:gsub(":", "\\:")), opt.bs, opt.size))
  return path
end

-- Of each program: theirs(device) and ours(device), bytes a second or nil, message.
local programs = {
  { name = "dd", theirs = function(device)
      local r, message = iolua.run { "dd", "if=" .. device, "of=/dev/null", "bs=" .. opt.bs,
        "iflag=direct" }
      if not r then return nil, message end
      local told, why = iolua.program.dd.read(r.err)
      return told and told.bytes_per_s, why
    end,
    ours = function(device)
      local r, message = iolua.workload.dd { read = device, bs = opt.bs, direct = true }
      return r and r.bytes_per_s, message
    end },
  { name = "hdparm", block = true, theirs = function(device)
      local r, message = iolua.run { "hdparm", "-t", "--direct", device }
      if not r then return nil, message end
      local told, why = iolua.program.hdparm.read(r.out)
      return told and told[device].disk.bytes_per_s, why
    end,
    ours = function(device)
      local r, message = iolua.workload.hdparm { target = device, direct = true }
      return r and r[device].disk.bytes_per_s, message
    end },
  { name = "spew", theirs = function(device)
      local r, message = iolua.run { "spew", "-d", "-b", opt.bs, "-B", opt.bs, opt.size, device }
      if not r then return nil, message end
      local told, why = iolua.program.spew.read(r.out)
      return told and told.write.bytes_per_s, why
    end,
    ours = function(device)
      local r, message = iolua.workload.spew { target = device, size = opt.size, min = opt.bs,
        direct = true, overwrite = true }
      return r and r.write.bytes_per_s, message
    end },
  { name = "fio", theirs = function(_, path)
      local r, message = iolua.run { "fio", "--output-format=json", path }
      if not r then return nil, message end
      local told, why = iolua.program.fio.read(r.out)
      return told and told.jobs[1].read.bytes_per_s, why
    end,
    ours = function(_, path)
      local list, message = iolua.fio.run(path)
      return list and list[1].results[1].read.bytes_per_s, message
    end },
}

local counter = require "iolua.run.device"

-- One run: its rate, and what the device moved.
local function measure_of(program, device, path)
  return function(case)
    iolua.sleep("300ms")                -- a limit lets a burst through after a pause: same for all
    local before = counter.before(device)
    local rate, message = program[case.by](device, path)
    if not rate then return nil, message end
    local moved = before and counter.since(before) or {}
    return { MB_per_s = rate / 1e6, operations = (moved.reads or 0) + (moved.writes or 0),
      MB = ((moved.read_bytes or 0) + (moved.write_bytes or 0)) / 1e6 }
  end
end

local function compare(program, device, path)
  local result = iolua.experiment { name = program.name, options = opt, seed = opt.seed,
    factors = { by = { "theirs", "ours" } }, replicates = opt.replicates, duplicate = true,
    metrics = { "MB_per_s", "operations", "MB" }, gates = false,
    writes = { "a scratch disk of its own" },
    measure = measure_of(program, device, path) }
  print(("\n%s"):format(program.name))
  print(result:table())
  local ok, compared = pcall(result.compare, result, { factor = "by", metric = "MB_per_s",
    smallest = opt.smallest })
  print(ok and compared.sentence or tostring(compared))
end

local disks, message = iolua.scratch.disks { count = 1, size = opt.size,
  bandwidth = opt.bandwidth ~= "none" and opt.bandwidth or nil }
if not disks then fail(message) end
local _ <close> = disks
local device = type(disks[1]) == "string" and disks[1] or disks[1]:path()
for _, note in ipairs(disks.notes) do print(note) end
print(("scratch %s of %s%s, bs %s, direct; theirs and ours in random order, %d pairs"):format(
  disks.kind, iolua.units.format_bytes(opt.size),
  disks.throttled and " at " .. opt.bandwidth or "", iolua.units.format_size(opt.bs), opt.replicates))

if opt.plan then                        -- the plan of the first ends the script
  print("for each that is here of " .. table.concat(opt.programs, ", ") .. ", as for the first:")
end
local path = job_file(device)
local _ <close> = setmetatable({}, { __close = function() os.remove(path) end })
local wanted = {}
for _, name in ipairs(opt.programs) do wanted[name] = true end
for _, program in ipairs(programs) do
  if not wanted[program.name] then goto continue end
  local there = iolua.run { "sh", "-c", "command -v "
    .. program.name .. " /usr/sbin/" .. program.name, check = false }
  if program.block and disks.kind == "file" then
    print(("\n%s: needs a block device, and there is none to be had here"):format(program.name))
  elseif not there or there.out == "" then
    print("\n" .. require("iolua.run.packages").missing(program.name))
  else
    compare(program, device, path)
  end
  ::continue::
end
