--- The layers that are read: a device, and a volume over it; what is set on them and counted.
local core = require "iolua.core"
local iolua = require "iolua"

local layers = {}

local layer = {}
layer.__index = layer

local GRAIN = 1 << 20           -- places are whole MiB

-- Requests and bytes that the disks at the bottom have read so far.
function layer:counted()
  local sum = { requests = 0, bytes = 0 }
  for _, disk in ipairs(self.disks) do
    local file <close> = assert(io.open(("/sys/dev/block/%s/stat"):format(disk.disk_dev)))
    local words = {}
    for word in file:read("a"):gmatch("%d+") do words[#words + 1] = math.tointeger(word) end
    sum.requests, sum.bytes = sum.requests + words[1], sum.bytes + 512 * words[3]
  end
  return sum
end

local function set_all(paths, kib)
  local effective
  for _, path in ipairs(paths) do
    local taken, message = iolua.settings.set(path, { read_ahead_kb = kib })
    if not taken then return nil, message end
    effective = taken.read_ahead_kb
  end
  return effective
end

--- Set the read-ahead, KiB, of what holds it in this layer; what it became.
function layer:set(kib)
  if self.fixed then return self.found end
  return set_all(self.set_on, kib)
end

--- The same of the members of a kernel's volume, which has its own.
function layer:set_legs(kib) return set_all(self.legs, kib) end

--- What it is now, KiB.
function layer:get()
  local values, message = iolua.settings.get(self.set_on[1])
  return values and values.read_ahead_kb, message
end

-- Opened after the value was set: an open file keeps the value it was opened with.
local function open_list(paths, options)
  local files = {}
  for i, path in ipairs(paths) do
    local f, message, errno = iolua.open(path, options)
    if not f then return nil, message, errno end
    files[i] = f
  end
  return files
end

-- Its cache is dropped by the stated means and proved empty.
local function drop(files, means)
  local left = 0
  for _, f in ipairs(files) do
    local proof, message = require("iolua.job.buffered").drop(f, means)
    if not proof then return nil, message end
    left = left + proof.left_bytes
  end
  return left
end

--- What a job reads, opened now: { target =, files =, left_bytes = }; closed by its close().
function layer:open(options)
  local files, message = open_list(self.paths, { direct = options and options.direct })
  if not files then return nil, message end
  local left, why = drop(files, self.means)
  if not left then return nil, why end
  local open = { files = files, left_bytes = left, target = files[1] }
  function open.close()
    if open.volume then open.volume:close() end
    for _, f in ipairs(files) do f:close() end
  end
  if not self.members then return open end
  open.volume, why = iolua.volume.stripe { members = files, chunk = self.chunk, backend = "user" }
  open.target = open.volume
  if open.volume then return open end
  open.close()
  return nil, why
end

--- Where a run reads: `span` bytes at a place that follows from its seed.
function layer:place(seed)
  local places = (self.size - self.span) // GRAIN
  return places > 0 and seed % (places + 1) * GRAIN or 0
end

local function disks_of(paths)
  local list, seen = {}, {}
  for _, path in ipairs(paths) do
    local disk = assert(core.blk.find(path))
    if not seen[disk.disk_dev] then list[#list + 1], seen[disk.disk_dev] = disk, true end
  end
  return list
end

-- How much there is, and how much of it a run reads.
local function measure_size(self, span)
  local open = assert(self:open())
  self.size = open.target:size()
  open.close()
  self.span = math.min(span, self.size) // GRAIN * GRAIN
  if self.span == 0 then error(self.text .. ": smaller than 1 MiB", 0) end
end

local function new(fields, options)
  fields.disks = disks_of(fields.bottom)
  fields.means, fields.fixed = options.drop, options.fixed
  local self = setmetatable(fields, layer)
  self.found = assert(self:get())
  measure_size(self, options.span)
  return self
end

-- The devices right below one, each once.
local function parents_of(path)
  local device, list = assert(core.blk.find(path)), {}
  for _, dev in ipairs(core.blk.related(device.dev, "parents") or {}) do
    local leg = core.blk.at(dev)
    if leg and leg.disk_dev ~= device.disk_dev then list[#list + 1] = "/dev/" .. leg.name end
  end
  return list
end

--- A block device or volume that is there, or what a file lies on. Its data stays as it is.
function layers.device(path, options, text)
  local legs = parents_of(path)
  return new({ paths = { path }, set_on = { path }, bottom = #legs > 0 and legs or { path },
    legs = legs, text = text or path, kernel = true }, options)
end

--- A stripe over scratch disks: of the kernel, or in user space, where it has no read-ahead of
--- its own and what is set is its members'.
function layers.volume(disks, chunk, options)
  local paths = table.move(disks, 1, #disks, 1, {})
  local v = not options.fixed
    and iolua.volume.stripe { members = paths, chunk = chunk, backend = "dm" }
  if v then
    return new({ paths = { v.path }, set_on = { v.path }, bottom = paths, kernel = true,
      legs = paths, volume = v,
      text = ("%s, device-mapper stripe over %d disks"):format(v.path, #paths) }, options)
  end
  return new({ paths = paths, set_on = paths, bottom = paths, members = true, chunk = chunk,
    text = ("%d disks in user space, without a read-ahead of its own: set is the disks'")
      :format(#paths) }, options)
end

return layers
