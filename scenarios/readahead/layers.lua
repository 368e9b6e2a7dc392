--- The layers that are read: a device, and a volume over it; what is set on them and counted.
local iolua = require "iolua"

local layers = {}

local layer = {}
layer.__index = layer

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

--- Set the read-ahead, KiB, of what holds it in this layer; what it became.
function layer:set(kib)
  local effective
  for _, path in ipairs(self.set_on) do
    local taken, message = iolua.settings.set(path, { read_ahead_kb = kib })
    if not taken then return nil, message end
    effective = taken.read_ahead_kb
  end
  return effective
end

--- What it is now, KiB.
function layer:get()
  local values, message = iolua.settings.get(self.set_on[1])
  return values and values.read_ahead_kb, message
end

-- Opened after the value was set: an open file keeps the value it was opened with.
local function open_list(paths, options)
  local files = {}
  for i, path in ipairs(paths) do
    local f, message = iolua.open(path, options)
    if not f then return nil, message end
    files[i] = f
  end
  return files
end

--- What a job reads, opened now: { target =, files = }, closed by the experiment.
function layer:open(options)
  local files, message = open_list(self.paths, options)
  if not files then return nil, message end
  for _, f in ipairs(files) do
    local ok, why = require("iolua.core").cache.flush(f)
    if not ok then return nil, why end
  end
  if not self.members then return { target = files[1], files = files } end
  local v, why = iolua.volume.stripe { members = files, chunk = self.chunk, backend = "user" }
  if not v then return nil, why end
  return { target = v, files = files, volume = v }
end

local function disks_of(paths)
  local list = {}
  for i, path in ipairs(paths) do list[i] = assert(require("iolua.core").blk.find(path)) end
  return list
end

local function new(fields)
  fields.disks = disks_of(fields.bottom)
  local self = setmetatable(fields, layer)
  self.found = assert(self:get())
  return self
end

--- A block device, or what a file lies on.
function layers.device(path, bottom)
  return new { paths = { path }, set_on = { path }, bottom = bottom or { path }, text = path,
    kernel = true }
end

--- A stripe over scratch disks: of the kernel, or in user space, where it has no read-ahead of
--- its own and what is set is its members'.
function layers.volume(disks, chunk)
  local paths = table.move(disks, 1, #disks, 1, {})
  local v = iolua.volume.stripe { members = paths, chunk = chunk, backend = "dm" }
  if v then
    return new { paths = { v.path }, set_on = { v.path }, bottom = paths, kernel = true,
      text = v.path .. ", device-mapper", volume = v }
  end
  return new { paths = paths, set_on = paths, bottom = paths, members = true, chunk = chunk,
    text = ("%d members, in user space: the read-ahead is the members'"):format(#paths) }
end

return layers
