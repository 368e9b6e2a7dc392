--- dd: read a target, or write one, block by block in order; what dd prints of it.
--
-- Reading is dd of=/dev/null, writing is dd if=/dev/zero, but for the contents: what is
-- written here does not compress. The tail of a target that is no whole block is read too.
local base = require "iolua.workload.base"
local core = require "iolua.core"
local schema = require "iolua.schema"

local dd = {}

local OPTIONS = base.options {
  read = { type = "any", help = "path or file to read" },
  write = { type = "any", help = "path or file to write" },
  bs = { type = "size", default = 512, min = 1, max = 0x7ffff000, help = "bytes a block" },
  count = { type = "integer", min = 1, help = "blocks; default: to the end of what is read" },
  skip = { type = "integer", default = 0, min = 0, help = "blocks passed over when reading" },
  seek = { type = "integer", default = 0, min = 0, help = "blocks passed over when writing" },
  fsync = { type = "boolean", default = false, help = "conv=fsync: within the time" },
}

local function check(options, level)
  local o = schema.check(OPTIONS, options, level + 1, "dd")
  if (o.read == nil) == (o.write == nil) then error("dd: read or write, one of them", level + 1) end
  if o.write and not o.count then error("dd: write needs a count", level + 1) end
  return o
end

-- Blocks that are there from the offset on, whole and the bytes of a last partial one.
local function extent(f, o, offset)
  if o.write or f:type() == "char" then return o.count, 0 end
  local rest = math.max(0, f:size() - offset)
  local whole, tail = rest // o.bs, rest % o.bs
  if o.count and o.count <= whole then return o.count, 0 end
  return whole, tail
end

-- Read what is no whole block: seconds, or nil, message, errno.
local function read_tail(f, pos, tail)
  local buf <close> = core.buf.new((tail + 4095) // 4096 * 4096)
  local from = core.clock.now()
  local n, message, errno = f:read(buf, pos)
  if not n then return nil, message, errno end
  return (core.clock.now() - from) / 1e9
end

local function result(o, r, whole, tail, seconds)
  local bytes = whole * o.bs + tail
  local records = { whole = whole, partial = tail > 0 and 1 or 0 }
  return { records_in = records, records_out = records, bytes = bytes, seconds = seconds,
    bytes_per_s = seconds > 0 and bytes / seconds or nil,
    lat = r and (r.read or r.write).lat, cpu = r and r.cpu }
end

--- Run it.
---@param options table
---@return table? result  records_in, records_out, bytes, seconds, bytes_per_s; lat
---@return string? message
---@return integer? errno
---@async
function dd.run(options)
  local o = check(options, 2)
  local f, message, errno = base.open(o.read or o.write, o, o.write ~= nil)
  if not f then return nil, message, errno end
  local _ <close> = base.owned(o.read or o.write, f)
  local offset = (o.write and o.seek or o.skip) * o.bs
  local whole, tail = extent(f, o, offset)
  local r, seconds
  if whole and whole > 0 then
    r, message, errno = base.sync { target = f, rw = o.write and "write" or "read", bs = o.bs,
      offset = offset, size = f:type() == "char" and o.bs or whole * o.bs, number_ios = whole,
      end_fsync = o.write and o.fsync or nil }
    if not r then return nil, message, errno end
  end
  seconds = r and base.seconds(r) or 0
  if tail > 0 then
    local more, why, number = read_tail(f, offset + whole * o.bs, tail)
    if not more then return nil, why, number end
    seconds = seconds + more
  end
  return result(o, r, whole, tail, seconds)
end

-- "6.6 MB" as dd prints it: one decimal below ten.
local function human(value, base_, units)
  local i = 1
  while value >= base_ and i < #units do value, i = value / base_, i + 1 end
  if i == 1 then return ("%.0f %s"):format(value, units[1]) end
  return (value < 9.95 and "%.1f %s" or "%.0f %s"):format(value, units[i])
end

local SI = { "B", "kB", "MB", "GB", "TB", "PB" }
local IEC = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" }

--- As dd says it on stderr.
---@param r table
---@return string
function dd.text(r)
  local size = r.bytes < 1000 and "" or r.bytes < 1024 and (" (%s)"):format(human(r.bytes, 1000, SI))
    or (" (%s, %s)"):format(human(r.bytes, 1000, SI), human(r.bytes, 1024, IEC))
  return ("%d+%d records in\n%d+%d records out\n%d bytes%s copied, %g s, %s/s\n"):format(
    r.records_in.whole, r.records_in.partial, r.records_out.whole, r.records_out.partial,
    r.bytes, size, r.seconds, human(r.bytes_per_s or 0, 1000, SI))
end

return setmetatable(dd, { __call = function(_, options) return dd.run(options) end })
