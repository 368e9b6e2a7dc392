--- Intervals of a running job: each is given to on_interval, which may change what is to come.
local fiber = require "iolua.fiber"
local result = require "iolua.job.result"
local schema = require "iolua.schema"

local watch = {}

local CONTROL = {
  rate_iops = { type = "number", help = "operations a second of each worker" },
  rate = { type = "any", help = "bytes a second of each worker" },
  iodepth = { type = "integer", min = 1, max = 32768, help = "operations in flight, of each" },
  rwmixread = { type = "integer", min = 0, max = 100, help = "per cent of reads" },
}

local sample = {}
sample.__index = sample
sample.__name = "iolua.job.sample"

local function rate_of(control, o, level)
  local rate = control.rate_iops or control.rate
  if rate == nil then return nil end
  if control.rate and control.rate_iops then
    error("sample:set: rate and rate_iops exclude each other", level + 1)
  end
  if (control.rate ~= nil) ~= (o.rate ~= nil) or not (o.rate or o.rate_iops) then
    error("sample:set: the job has no such rate to change", level + 1)
  end
  if control.rate then rate = require("iolua.units").rate(control.rate) end
  if not rate or rate <= 0 then error("sample:set: not a rate over 0", level + 1) end
  return rate
end

--- Change the load from now on: rate_iops, rate, iodepth (up to the job's own), rwmixread.
---@param control table
function sample:set(control)
  local o, crew = self.options, self.crew
  local c = schema.check(CONTROL, control, 2, "sample:set")
  if c.iodepth and c.iodepth > o.iodepth then
    error(("sample:set: iodepth = %d is more than the job's %d"):format(c.iodepth, o.iodepth), 2)
  end
  if c.rwmixread and not o.rw:find("rw$") then
    error(("sample:set: rw = %q has no mix to change"):format(o.rw), 2)
  end
  crew:control(rate_of(c, o, 2), c.iodepth, c.rwmixread)
end

--- End the job: it drains and gives what it has measured.
function sample:stop() self.crew:stop() end

local function sample_of(crew, o, i)
  local s = result.point(crew:interval(i))
  s.index, s.crew, s.options = i, crew, o
  return setmetatable(s, sample)
end

--- Wait for a crew to end; until then give on_interval every interval as it ends.
---@async
function watch.wait(crew, o)
  local seen = 0
  repeat
    fiber.wait_readable(crew:fd())
    local ended = crew:ended()
    for i = seen + 1, crew:intervals() do
      seen = i
      o.on_interval(sample_of(crew, o, i))
    end
    crew:seen(seen)
  until ended
end

--- All intervals of a finished crew.
function watch.intervals(crew)
  local list = {}
  for i = 1, crew:intervals() do list[i] = result.point(crew:interval(i)) end
  return list
end

return watch
