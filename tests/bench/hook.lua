-- The next hook: a function in the worker chooses every operation. Prints "IOPS n".
-- Usage: iolua hook.lua null|sparse SECONDS FILE
local iolua = require "iolua"

local what, seconds, path = arg[1], arg[2], arg[3]
local LOADS = {
  null = { rw = "write", target = "/dev/null", overwrite = true },
  sparse = { rw = "randread", target = path, direct = true },
}
local load = LOADS[what]
load.bs, load.iodepth, load.batch = "4k", 128, 64
load.runtime, load.ramp_time = seconds .. "s", "200ms"
load.next = function() return true end
local r = assert(iolua.job(load))
print(("IOPS %d CPU %.1f"):format((r.read or r.write).iops // 1, r.cpu.ns_per_io))
