-- One measured run of the C loop: prints "IOPS n" as bench.lua reads it.
-- Usage: iolua job.lua nop|null|sparse SECONDS FILE [workers [option]]
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
-- What a job pays for each thing that it may be told beside.
local OPTIONS = {
  plain = {},
  zipf = { rw = "randwrite", distribution = "zipf:1.2" },
  noscatter = { rw = "randwrite", distribution = "zipf:1.2", scatter = false },
  norepeat = { rw = "randwrite", norepeat = true },
  mix = { bs = { ["4k"] = 60, ["64k"] = 40 } },
  interval = { interval = "1s" },
  rate = { rate_iops = 1e9 },            -- always behind: as fast as it can
  each = { clock = "each" },
  next = { next = function() return true end },
  qd1 = { iodepth = 1 },
  verify = { verify = true, do_verify = false },
  on_complete = { on_complete = function() end },
}
for key, value in pairs(OPTIONS[arg[5] or "plain"]) do load[key] = value end
if arg[5] == "rate" or arg[5] == "qd1" then load.batch = nil end
local r = assert(iolua.job(load))
local side = r.read or r.write
print(("IOPS %d CPU %.1f"):format(side.iops // 1, r.cpu.ns_per_io))
