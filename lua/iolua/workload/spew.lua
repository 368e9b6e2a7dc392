--- spew: every block of a region once, written, read, or written and then read.
--
-- With buffers of different sizes each chunk of (d + 1) * max bytes, d = log2(max / min), has
-- one transfer of max, two of max / 2 and so on to min; what is left goes in transfers of min.
-- Their sizes are shuffled and laid out one after another; with `random` they are visited in
-- another order.
local base = require "iolua.workload.base"
local errand = require "iolua.workload.errand"
local random = require "iolua.random"
local schema = require "iolua.schema"

local spew = {}

local OPTIONS = base.options {
  target = { type = "any", required = true, help = "path or file" },
  size = { type = "size", required = true, min = 1, help = "bytes of the region" },
  mode = { choices = { "write", "read", "raw" }, default = "write",
    help = "raw: read after write" },
  min = { type = "size", default = 512, min = 1, help = "bytes of the smallest transfer" },
  max = { type = "size", help = "bytes of the largest; default: min" },
  offset = { type = "size", default = 0, help = "first byte" },
  random = { type = "boolean", default = false, help = "in random order" },
  seed = { type = "integer", default = 1, min = 0, help = "of order and sizes" },
}

local function shuffle(list, generator)
  for i = #list, 2, -1 do
    local k = generator:below(i)
    list[i], list[k] = list[k], list[i]
  end
end

--- The sizes of the transfers of a region, largest first, before they are shuffled.
---@param size integer
---@param min integer
---@param max integer  min times a power of two
---@return integer[]
function spew.sizes(size, min, max)
  local list, steps = {}, 0
  while min << steps < max do steps = steps + 1 end
  local chunk = (steps + 1) * max
  for _ = 1, size // chunk do
    for step = 0, steps do
      for _ = 1, 1 << step do list[#list + 1] = max >> step end
    end
  end
  for _ = 1, size % chunk // min do list[#list + 1] = min end
  return list
end

-- The transfers in their order: lists of positions and sizes.
local function transfers(o)
  local generator = random.new(o.seed)
  local sizes, order, at = spew.sizes(o.size, o.min, o.max), {}, o.offset
  if o.max > o.min then shuffle(sizes, generator) end
  for i, bytes in ipairs(sizes) do
    order[i] = { pos = at, bytes = bytes }
    at = at + bytes
  end
  if o.random then shuffle(order, generator) end
  return order
end

-- Sizes differ: down a list.
local function walk(f, way, o)
  local steps = {}
  for i, t in ipairs(transfers(o)) do steps[i] = errand.step(way, t.pos, t.bytes) end
  local r, message, errno = errand.walk(f, steps)
  if not r then return nil, message, errno end
  return r.elapsed_ns / 1e9, #steps
end

-- All the same size: the C loop.
local function loop(f, way, o)
  local r, message, errno = base.sync { target = f, rw = (o.random and "rand" or "") .. way,
    bs = o.max, offset = o.offset, size = o.size // o.max * o.max, norepeat = o.random or nil,
    seed = o.seed }
  if not r then return nil, message, errno end
  return base.seconds(r), r[way].ios
end

-- One direction: its entry, or nil, message, errno.
local function transfer(f, way, o)
  local seconds, n, errno = (o.max > o.min and walk or loop)(f, way, o)
  if not seconds then return nil, n, errno end
  local bytes = o.max > o.min and o.size // o.min * o.min or n * o.max
  return { way = way, bytes = bytes, transfers = n, seconds = seconds,
    bytes_per_s = seconds > 0 and bytes / seconds or nil, iops = seconds > 0 and n / seconds or nil,
    whole_seconds = math.floor(seconds) }
end

local function check(options, level)
  local o = schema.check(OPTIONS, options, level + 1, "spew")
  o.max = o.max or o.min
  local ratio = o.max // o.min
  if o.max % o.min ~= 0 or ratio < 1 or ratio & (ratio - 1) ~= 0 then
    error(("spew: max = %d is not min = %d times a power of two"):format(o.max, o.min), level + 1)
  end
  if o.size < o.max then
    error(("spew: size = %d is less than a transfer of %d"):format(o.size, o.max), level + 1)
  end
  return o
end

--- Run it.
---@param options table
---@return table? result  transfers: a list; write, read: { bytes_per_s, iops, transfers, seconds }
---@return string? message
---@return integer? errno
---@async
function spew.run(options)
  local o = check(options, 2)
  local f, message, errno = base.open(o.target, o, o.mode ~= "read")
  if not f then return nil, message, errno end
  local _ <close> = base.owned(o.target, f)
  local r = { transfers = {}, errors = 0 }
  for _, way in ipairs(o.mode == "raw" and { "write", "read" } or { o.mode }) do
    local entry
    entry, message, errno = transfer(f, way, o)
    if not entry then return nil, message, errno end
    r[way], r.transfers[#r.transfers + 1] = entry, entry
  end
  return r
end

--- As spew prints it.
---@param r table
---@return string
function spew.text(r)
  local lines = {}
  for i, t in ipairs(r.transfers) do
    local s = t.whole_seconds
    lines[i] = ("%s: %11.2f KiB/s   Transfer time: %02d:%02d:%02d    IOPS: %11.2f\n"):format(
      t.way == "write" and "WTR" or "RTR", (t.bytes_per_s or 0) / 1024, s // 3600, s // 60 % 60,
      s % 60, t.iops or 0)
  end
  return table.concat(lines)
end

return setmetatable(spew, { __call = function(_, options) return spew.run(options) end })
