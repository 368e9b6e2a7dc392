--- `iolua fio job.fio`: run a fio job file, by iolua.job or by fio, or print it as Lua.
local fio = require "iolua.fio"

local USAGE = [[
usage: iolua fio [options] job.fio
  --convert          print the Lua script that does the same, run nothing
  --anyway           leave out what is not supported, and run the rest
  --with-fio         run it by fio itself, placed and ended as iolua.run does
  --json             print fio's json+
  --overwrite        files that exist may be written
  --destroy DEVICE   the data of this device may be lost
]]

local FLAGS = { ["--convert"] = "convert", ["--anyway"] = "anyway", ["--with-fio"] = "with_fio",
                ["--json"] = "json", ["--overwrite"] = "overwrite" }

local function parse(words)
  local o, i = {}, 1
  while i <= #words do
    local word = words[i]
    if FLAGS[word] then o[FLAGS[word]] = true
    elseif word == "--help" or word == "-h" then o.help = true
    elseif word == "--destroy" and words[i + 1] then
      i = i + 1
      o.destroy = words[i]
    elseif word:sub(1, 1) == "-" and word ~= "-" then return nil, "unknown option " .. word
    elseif o.path then return nil, "one job file at a time"
    else o.path = word end
    i = i + 1
  end
  if not o.path and not o.help then return nil, "no job file" end
  return o
end

local function say(message)
  io.stderr:write("iolua fio: ", message, "\n")
end

local function with_fio(o)
  local run = require "iolua.run"
  local r, message = run { "fio", "--output-format=json+", o.path }
  if not r then
    say(message)
    return 1
  end
  if o.json then
    io.stdout:write(r.out)
    return 0
  end
  local told, why = require("iolua.program.fio").read(r.out)
  if not told then
    say(why)
    return 1
  end
  for _, job in ipairs(told.jobs) do
    for _, side in ipairs { "read", "write" } do
      local s = job[side]
      if s then
        io.stdout:write(("%s %s: %d operations, %.0f IOPS, %.2f MB/s\n"):format(job.name, side,
          s.ios, s.iops, s.bytes_per_s / 1e6))
      end
    end
  end
  return 0
end

local function refuse(refused)
  for _, sentence in ipairs(fio.sentences(refused)) do say(sentence) end
  say("what is named above is not supported: --anyway leaves it out, --with-fio runs fio")
  return 1
end

local function run(o, jobs)
  local list, message = require("iolua.fio.run").jobs(jobs, o)
  if not list then
    say(message)
    return 1
  end
  local report = require "iolua.fio.report"
  io.stdout:write(o.json and report.json(list) .. "\n" or report.text(list))
  return 0
end

return function(...)
  local o, wrong = parse { ... }
  if not o then
    say(wrong)
    io.stderr:write(USAGE)
    return 2
  elseif o.help then
    io.stdout:write(USAGE)
    return 0
  elseif o.with_fio then
    return with_fio(o)
  end
  local jobs, refused = fio.load(o.path)
  if not jobs then
    say(refused)
    return 1
  end
  if #refused > 0 and not o.anyway then return refuse(refused) end
  for _, sentence in ipairs(fio.sentences(refused)) do say("left out: " .. sentence) end
  for _, job in ipairs(jobs) do
    for _, note in ipairs(job.notes) do say(("job %s: %s"):format(job.name, note)) end
  end
  if o.convert then
    io.stdout:write(fio.convert(jobs, o.path, refused))
    return 0
  end
  return run(o, jobs)
end
