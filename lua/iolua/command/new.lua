--- iolua new FILE: a scenario to start from. An existing file is left as it is.
local arguments = require "iolua.command.arguments"

local TEXT = [==[
-- Question: does latency grow with depth?
-- Needs:    a file or device to read (never written).   Takes: 12 runs of a second.
-- Shows:    a row a depth with its interval, and whether the depths differ.
local iolua = require "iolua"
local opt = iolua.options {
  "How does latency grow with depth?",
  target = { type = "path", required = true, help = "file or device to read" },
  runtime = { type = "duration", default = "1s", help = "time measured in each run" },
  experiment = true,
}
local target <close> = assert(iolua.open(opt.target, { direct = true }))

local result = iolua.experiment {
  name = "depth", factors = { depth = { 1, 4, 16, 64 } }, replicates = 3, seed = 1, options = opt,
  metrics = { "p99_us", "iops" }, better = { p99_us = "lower" },
  measure = function(case, _, run)
    local r = assert(iolua.job { target = target, rw = "randread", bs = "4k", seed = run.seed,
      iodepth = case.depth, runtime = opt.runtime, ramp_time = "200ms" })
    return { p99_us = r.read.lat:percentile(99) / 1000, iops = r.read.iops }
  end,
}
result:report(opt, { result:compare { factor = "depth", metric = "p99_us" } })
]==]

return function(path, more)
  if not path or more then arguments.usage("new", "usage: iolua new FILE.lua") end
  if io.open(path) then arguments.fail("new", path .. " exists already") end
  local file, message = io.open(path, "w")
  if not file then arguments.fail("new", message) end
  file:write(TEXT)
  file:close()
  print(("%s is written: iolua %s --help"):format(path, path))
end
