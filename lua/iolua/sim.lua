--- Simulated devices in virtual time: a job runs on them unchanged.
local schema = require "iolua.schema"

local sim = {}

local DEVICE = {
  size = { type = "size", default = 2^30 | 0, min = 512, help = "bytes" },
  channels = { type = "integer", default = 1, min = 1, max = 4096,
    help = "requests served at once" },
  service = { type = "duration", default = 1000000, min = 1, help = "time of one request" },
}

local device = {}
device.__index = device
device.__name = "iolua.sim.device"

function device:size() return self.bytes end
function device:path() return "simulated device" end
function device:close() return true end

--- A device with `channels` servers of a fixed service time.
---@param options table  size, channels, service
---@return table device
function sim.device(options)
  local o = schema.check(DEVICE, options or {}, 1, "sim.device")
  return setmetatable({ simulated = true, bytes = o.size, channels = o.channels,
    service_ns = o.service }, device)
end

return sim
