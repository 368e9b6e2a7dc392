-- One measured run of the C loop: prints "IOPS n" as bench.lua reads it.
-- Usage: iolua job.lua nop|null|sparse SECONDS FILE [workers]
local iolua = require "iolua"

local what, seconds, path, workers = arg[1], arg[2], arg[3], tonumber(arg[4] or 1)
local LOADS = {
  nop = { rw = "nop" },
  null = { rw = "write", target = "/dev/null", overwrite = true },
  sparse = { rw = "randread", target = path, direct = true },
}
local load = LOADS[what]
load.bs, load.iodepth, load.batch = "4k", 128, 64
load.runtime, load.ramp_time = seconds .. "s", "200ms"
if workers > 1 then
  load.numjobs, load.cpus, load.cpus_allowed_policy = workers, ("0-%d"):format(workers - 1), "split"
end
local r = assert(iolua.job(load))
local side = r.read or r.write
print(("IOPS %d"):format(side.iops // 1))
