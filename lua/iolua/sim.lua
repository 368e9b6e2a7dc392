--- Simulated devices in virtual time: a job runs on them unchanged.
--
-- A device is what it is described as, from its first state at the start of each job. Jobs on
-- it take no longer than their arithmetic, and the same seed gives the same result to the bit.
local core = require "iolua.core"
local schema = require "iolua.schema"
local units = require "iolua.units"

local sim = {}

local EXAMPLE = "\"1ms\", \"exp:1ms\", \"normal:1ms:0.1ms\" or \"uniform:1ms:2ms\""

local function ns_of(text)
  local ns, message = units.ns(text)
  if not ns then return nil, message end
  if math.type(text) and ns > 0 and ns < 1000 then
    return nil, ("%s ns is less than 1 us; write as in \"5s\" or \"500ms\""):format(text)
  end
  return ns
end

-- The text of a service time -> { kind, a, b } of core/simdevice.h.
local function time(value)
  local kind, first, second = "fixed", value, nil
  if type(value) == "string" and value:find(":", 1, true) then
    kind, first, second = value:match("^(%a+):([^:]*):?([^:]*)$")
    local known = kind == "exp" or kind == "normal" or kind == "uniform"
    if not known or (second == "") ~= (kind == "exp") then
      return nil, ("%q is not a service time; write %s"):format(value, EXAMPLE)
    end
  end
  local a, message = ns_of(first)
  if not a then return nil, message .. "; write " .. EXAMPLE end
  local b, why = 0, nil
  if kind == "normal" or kind == "uniform" then b, why = ns_of(second) end
  if not b then return nil, why end
  if kind == "uniform" and b < a then
    return nil, ("%q ends below where it begins"):format(value)
  end
  return { kind = kind, a = a, b = b }
end

local function rate(value)
  local bytes, message = units.rate(value)
  if bytes and bytes < 1 then return nil, "0 is no rate" end
  return bytes, message
end

local ERRNO = { EIO = 5, ENXIO = 6, ENOMEM = 12, EBUSY = 16, EINVAL = 22, ENOSPC = 28, EROFS = 30,
  ENODATA = 61, ETIMEDOUT = 110, EREMOTEIO = 121, EILSEQ = 84, EBADMSG = 74 }

local function errno(value)
  local number = ERRNO[value] or math.tointeger(value)
  if number and number > 0 and number < 4096 then return number end
  return nil, ("%q is not an error; write as in \"EIO\""):format(tostring(value))
end

local BUS = {
  bandwidth = { type = "any", required = true, check = rate, help = "bytes a second" },
  overhead = { type = "duration", default = 0, help = "time of each operation beside its bytes" },
}

local SEEK = {
  min = { type = "duration", default = 0, help = "to the next place" },
  max = { type = "duration", required = true, help = "across the whole device" },
}

local CACHE = {
  size = { type = "size", required = true, min = 512, help = "bytes" },
  line = { type = "size", default = 65536, min = 512, help = "bytes kept together" },
  service = { type = "any", default = 0, check = time, help = "time of an operation that hits" },
}

local PHASE = {
  at = { type = "duration", required = true, help = "from then on" },
  service = { type = "any", required = true, check = time, help = "operations take that long" },
}

local STALL = {
  operation = { type = "integer", min = 1, help = "the one with this number" },
  at = { type = "duration", help = "or the first that begins then or later" },
  time = { type = "duration", required = true, help = "takes that long in all" },
}

local ERROR = {
  offset = { type = "size", default = 0, help = "first byte of the bad range" },
  bytes = { type = "size", default = 512, min = 1, help = "and its length" },
  errno = { type = "any", default = "EIO", check = errno, help = "what touching it gives" },
  kind = { choices = { "read", "write", "both" }, default = "both",
    help = "operations that fail" },
  count = { type = "integer", default = 0, min = 0, help = "that many times; 0: always" },
}

local CORRUPTION = {
  write = { type = "integer", required = true, min = 1, help = "the write with this number" },
  kind = { choices = { "flip", "misplaced", "torn", "lost" }, required = true,
    help = "what goes wrong with it" },
  byte = { type = "size", default = 0,
    help = "which is flipped; the first that is not written; how far off it goes" },
}

local function listed(fields, help)
  return { type = "table", list = true, fields = fields, default = {}, help = help }
end

local DEVICE = {
  size = { type = "size", default = 2^30 | 0, min = 512, help = "bytes" },
  block_size = { type = "size", default = 512, min = 512, help = "what direct I/O goes by" },
  name = { type = "string", default = "simulated device", help = "its name in messages" },
  channels = { type = "integer", default = 1, min = 1, max = 4096, help = "operations at once" },
  service = { type = "any", check = time, help = "time of each: " .. EXAMPLE },
  bandwidth = { type = "any", check = rate, help = "bytes a second of a channel" },
  seek = { type = "any", help = "time to another place: \"8ms\" or { min =, max = }" },
  cache = { type = "table", fields = CACHE, help = "{ size =, line =, service = }" },
  bus = { type = "any", help = "what its data goes over: iolua.sim.bus" },
  phases = listed(PHASE, "{ at =, service = }: another service from a moment on"),
  stalls = listed(STALL, "{ operation = or at =, time = }: an operation that hangs"),
  data = { type = "boolean", default = false,
    help = "keep what is written, in memory, from job to job" },
  corruptions = listed(CORRUPTION, "{ write =, kind =, byte = }: what becomes of written data"),
  errors = listed(ERROR, "{ offset =, bytes =, errno =, kind =, count = }: what fails"),
}

local bus = {}
bus.__index = bus
bus.__name = "iolua.sim.bus"

--- A bus that devices share: one operation's data at a time, in order.
---@param options table  bandwidth, overhead
---@return table bus
function sim.bus(options)
  local o = schema.check(BUS, options, 2, "sim.bus")
  local handle = assert(core.sim.bus(o.bandwidth, o.overhead))
  return setmetatable({ handle = handle, bandwidth = o.bandwidth, overhead_ns = o.overhead }, bus)
end

local device = {}
device.__index = device
device.__name = "iolua.sim.device"

function device:size() return self.bytes end
function device:block_size() return self.block end
function device:path() return self.name end
function device.direct() return true end
function device:writable() return self.read_only ~= true end
function device.read() error("read: a simulated device holds no data: only jobs run on it", 2) end
device.write = device.read

--- The same device as iolua.open gives it on a described machine.
function device:opened(options)
  local copy = {}
  for key, value in pairs(self) do copy[key] = value end
  copy.read_only = not options.write
  return setmetatable(copy, device)
end

function device.close() return true end
device.__close = function() end
device.__tostring = function(self) return "simulated device: " .. self.name end

local function misuse(level, text, ...)
  error(("sim.device: " .. text):format(...), level + 1)
end

-- The seek option -> shortest and longest, ns.
local function seek(value, level)
  if value == nil then return 0, 0 end
  if type(value) == "table" then
    local s = schema.check(SEEK, value, level + 1, "sim.device: seek")
    if s.max < s.min then misuse(level + 1, "seek: max is below min") end
    return s.min, s.max
  end
  local ns, message = ns_of(value)
  if not ns then misuse(level + 1, "seek: %s", message) end
  return ns, ns
end

local function check(o, level)
  if o.bus and getmetatable(o.bus) ~= bus then
    misuse(level + 1, "bus is a %s, not what iolua.sim.bus gives", type(o.bus))
  end
  for i, stall in ipairs(o.stalls) do
    if (stall.operation == nil) == (stall.at == nil) then
      misuse(level + 1, "stall %d needs an operation or a moment `at`", i)
    end
  end
  if #o.corruptions > 0 and not o.data then misuse(level + 1, "corruptions need data = true") end
  -- A device of which nothing is said takes 1 ms; one with a rate takes what that says.
  o.service = o.service or { kind = "fixed", b = 0,
    a = (o.bandwidth or o.bus or o.seek) and 0 or 1000000 }
  table.sort(o.phases, function(a, b) return a.at < b.at end)
  for _, e in ipairs(o.errors) do
    e.reads, e.writes = e.kind ~= "write", e.kind ~= "read"
  end
end

-- The description as core.sim.device takes it.
local function description(o, level)
  local low, high = seek(o.seek, level + 1)
  local cache = o.cache
  return { size = o.size, channels = o.channels, service = o.service, bandwidth = o.bandwidth,
    seek_min = low, seek_max = high, cache_lines = cache and cache.size // cache.line,
    cache_line = cache and cache.line, cache_service = cache and cache.service,
    phases = o.phases, stalls = o.stalls, errors = o.errors,
    data = o.data, corruptions = o.corruptions }
end

--- A device. An operation takes service + seek + bytes / bandwidth on one of its channels.
---@param options table  size, channels, service, bandwidth, seek, cache, bus, phases, stalls,
---  errors, name, block_size
---@return table device
function sim.device(options)
  local o = schema.check(DEVICE, options or {}, 2, "sim.device")
  check(o, 2)
  local handle = assert(core.sim.device(description(o, 2), o.bus and o.bus.handle))
  return setmetatable({ simulated = true, handle = handle, bytes = o.size, name = o.name,
    block = o.block_size, channels = o.channels, bus = o.bus }, device)
end

return sim
