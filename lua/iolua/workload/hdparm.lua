--- hdparm -t and -T: blocks of 2 MiB read in order for 3 s, or the first one again for 2 s.
--
-- What is cached of the target is dropped before -t, and then it is left alone for 3 s, as
-- hdparm does; -T reads the first block once before.
local base = require "iolua.workload.base"
local core = require "iolua.core"
local fiber = require "iolua.fiber"
local schema = require "iolua.schema"

local hdparm = {}

local BLOCK, MIB = 2 << 20, 1 << 20

local OPTIONS = base.options {
  target = { type = "any", required = true, help = "path or file to read" },
  cached = { type = "boolean", default = false, help = "-T: the first block, again and again" },
  runtime = { type = "duration", min = 1000000, help = "default: 3s, with cached 2s" },
  settle = { type = "duration", default = "3s", help = "pause before the first read" },
  offset = { type = "size", default = 0, help = "first byte" },
}

local function timing(f, o)
  local size = o.cached and BLOCK or (f:size() - o.offset) // BLOCK * BLOCK
  if size < BLOCK then return nil, ("hdparm: %s has no block of 2 MiB"):format(f:path()), 22 end
  local flushed, why = core.flush.file(f)
  fiber.sleep(o.settle)
  if o.cached then base.sync { target = f, rw = "read", bs = BLOCK, offset = o.offset, size = size } end
  local r, message, errno = base.sync { target = f, rw = "read", bs = BLOCK, offset = o.offset,
    size = size, io_size = not o.cached and size or nil,
    runtime = o.runtime or (o.cached and 2000000000 or 3000000000) }
  if not r then return nil, message, errno end
  local seconds = base.seconds(r)
  return { bytes = r.read.bytes, seconds = seconds, direct = f:direct(),
    bytes_per_s = seconds > 0 and r.read.bytes / seconds or nil,
    note = not flushed and not o.direct and "its cached pages could not be dropped: " .. why or nil }
end

--- Run it.
---@param options table
---@return table? result  { [path] = { disk or cached = { bytes, seconds, bytes_per_s, direct } } }
---@return string? message
---@return integer? errno
---@async
function hdparm.run(options)
  local o = schema.check(OPTIONS, options, 2, "hdparm")
  local f, message, errno = base.open(o.target, o, false)
  if not f then return nil, message, errno end
  local _ <close> = base.owned(o.target, f)
  local entry
  entry, message, errno = timing(f, o)
  if not entry then return nil, message, errno end
  return { [f:path()] = { [o.cached and "cached" or "disk"] = entry } }
end

--- As hdparm prints it.
---@param r table
---@return string
function hdparm.text(r)
  local parts = {}
  for path, kinds in pairs(r) do
    parts[#parts + 1] = ("\n%s:\n"):format(path)
    for _, kind in ipairs { "cached", "disk" } do
      local e = kinds[kind]
      if e then
        local what = kind == "cached" and (e.direct and "O_DIRECT cached" or "cached")
          or (e.direct and "O_DIRECT disk" or "buffered disk")
        parts[#parts + 1] = (" Timing %s reads: %3d MB in %5.2f seconds = %6.2f MB/sec\n"):format(
          what, e.bytes // MIB, e.seconds, (e.bytes_per_s or 0) / MIB)
      end
    end
  end
  return table.concat(parts)
end

return setmetatable(hdparm, { __call = function(_, options) return hdparm.run(options) end })
