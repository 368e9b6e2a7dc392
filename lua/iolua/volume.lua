--- Volumes: the kernel's device-mapper where it is, the same mapping in user space where not.
--
-- `volume.stripe { members = { a, b, c }, chunk = "16k" }`, also mirror and concat. Members are
-- paths, open files, or { device =, offset =, size = }. backend = "dm" or "user" insists;
-- "auto" takes dm where it can be had for these members, and says in v.notes why it did not.
local build = require "iolua.dm.build"
local core = require "iolua.core"
local dm = require "iolua.dm"
local kernel = require "iolua.volume.kernel"
local open = require "iolua.open"
local schema = require "iolua.schema"
local units = require "iolua.units"
local user = require "iolua.volume.user"

local volume = {}

local SECTOR = 512

local COMMON = {
  members = { type = "any", required = true, help = "paths, files, or { device, offset, size }" },
  backend = { type = "choice", choices = { "auto", "dm", "user" }, default = "auto",
    help = "who maps" },
  name = { type = "string", help = "in /dev/mapper; default: one of our own" },
  write = { type = "boolean", default = false, help = "members are opened for writing (user)" },
  direct = { type = "boolean", default = false, help = "and with direct I/O" },
  overwrite = { type = "boolean", help = "regular files that exist may be written" },
  destroy = { type = "any", help = "devices whose data is given up: a path or a list" },
  merge = { type = "boolean", default = true, help = "pieces that touch are one request (user)" },
}

local function options_with(more)
  local spec = {}
  for key, entry in pairs(COMMON) do spec[key] = entry end
  for key, entry in pairs(more) do spec[key] = entry end
  return spec
end

local SPECS = {
  stripe = options_with { chunk = { type = "size", default = "64k", help = "bytes a member" } },
  concat = options_with {},
  mirror = options_with { sync = { type = "boolean", default = false,
    help = "let the kernel copy the first member to the others first" } },
}

local function misuse(kind, text, ...)
  error(("volume.%s: " .. text):format(kind, ...), 4)
end

local function bytes_of(kind, value, what)
  local bytes, message = units.bytes(value)
  if not bytes then misuse(kind, "%s: %s", what, message) end
  return bytes
end

-- What was given as { device, offset, size, error }: device a path, a file or a volume.
local function member_of(kind, item)
  local plain = type(item) == "table" and not getmetatable(item) and item.path == nil
  if not plain then return { device = item, offset = 0 } end
  local m = { device = item.device or item[1], error = item.error,
    offset = bytes_of(kind, item.offset or item[2] or 0, "offset"),
    size = (item.size or item[3]) and bytes_of(kind, item.size or item[3], "size") }
  if m.error and not m.size then misuse(kind, "an error leg needs a size") end
  if not m.error and m.device == nil then misuse(kind, "a member has no device") end
  return m
end

local function members_of(kind, list)
  if type(list) ~= "table" or #list == 0 then misuse(kind, "members is a list, not empty") end
  local members = {}
  for i, item in ipairs(list) do members[i] = member_of(kind, item) end
  return members
end

local function listed(value)
  if value == nil or type(value) == "table" and not value.path then return value or {} end
  return { value }
end

-- The entry of destroy for a member: it names that very device.
local function given_up(o, path)
  for _, item in ipairs(listed(o.destroy)) do
    if item == path then return path end
  end
  return listed(o.destroy)[1]
end

-- Is it a block device? Else why device-mapper cannot have it.
local function block_reason(m)
  if m.error then return "an error leg is in user space only" end
  if type(m.device) == "table" and m.device.simulated then
    return "a simulated member is in user space only"
  end
  local path = build.path_of(m.device)
  local sectors, message = dm.sectors(path)
  return not sectors and message or nil
end

-- Why these members cannot be a volume of the kernel, or nil.
local function why_not_dm(members)
  local available, why = dm.available()
  if not available then return why end
  for _, m in ipairs(members) do
    local reason = block_reason(m)
    if reason then return reason end
  end
end

local function open_member(o, m, opened)
  if type(m.device) == "table" and m.device.backend == "user" then
    return nil, "a volume in user space cannot be a member of another", 22
  end
  if type(m.device) ~= "string" then return m.device end
  local f, message, errno = open(m.device, { write = o.write, direct = o.direct,
    overwrite = o.write and o.overwrite or nil,
    destroy = o.write and given_up(o, m.device) or nil })
  if not f then return nil, message, errno end
  opened[#opened + 1] = f
  return f
end

local function leg_of(o, m, opened)
  if m.error then return { offset = m.offset, size = m.size } end
  local f, message, errno = open_member(o, m, opened)
  if not f then return nil, message, errno end
  if type(f) == "table" and f.backend == "dm" then
    f, message, errno = f:target()
    if not f then return nil, message, errno end
  end
  local whole, why, number = f:size()
  if not whole then return nil, why, number end
  if whole < m.offset + (m.size or 0) then
    return nil, ("%s has %d bytes, %d are needed from %d on"):format(f:path(), whole,
      m.size or 1, m.offset), 28
  end
  local size = m.size or whole - m.offset
  if type(f) == "table" and f.simulated then
    return { sim = f.handle, device = f, offset = m.offset, size = size }
  end
  return { file = f, offset = m.offset, size = size }
end

local function close_all(opened)
  for _, f in ipairs(opened) do f:close() end
end

local function in_user_space(kind, o, members)
  local legs, opened = {}, {}
  for i, m in ipairs(members) do
    local leg, message, errno = leg_of(o, m, opened)
    if not leg then
      close_all(opened)
      return nil, ("volume.%s: %s"):format(kind, message), errno
    end
    legs[i] = leg
  end
  local v, message, errno = user.new { kind = kind, chunk = o.chunk or 0, merge = o.merge,
    legs = legs, opened = opened }
  if not v then close_all(opened) end
  return v, message, errno
end

-- Offset and size of a member in bytes, the size by the device where it is not given.
local function extent(m)
  local path = build.path_of(m.device)
  local sectors, message, errno = dm.sectors(path)
  if not sectors then return nil, message, errno end
  return { path = path, offset = m.offset, size = m.size or sectors * SECTOR - m.offset }
end

local lines = {}

function lines.stripe(o, legs)
  local members, least = {}, math.huge
  for i, leg in ipairs(legs) do
    members[i] = { device = leg.path, offset = leg.offset }
    least = math.min(least, leg.size)
  end
  local row = least // o.chunk * o.chunk
  return { dm.line("striped", { members = members, chunk = o.chunk, size = row * #legs }) }
end

function lines.concat(_, legs)
  local list = {}
  for i, leg in ipairs(legs) do
    list[i] = dm.line("linear", { device = leg.path, offset = leg.offset,
      size = leg.size // SECTOR * SECTOR })
  end
  return list
end

function lines.mirror(o, legs)
  local members, least = {}, math.huge
  for i, leg in ipairs(legs) do
    members[i] = leg.path
    least = math.min(least, leg.size)
  end
  return { dm.line("raid", { level = "raid1", members = members, sync = o.sync,
    size = least // SECTOR * SECTOR }) }
end

local function in_kernel(kind, o, members)
  local legs, given = {}, {}
  for i, m in ipairs(members) do
    local leg, message, errno = extent(m)
    if not leg then return nil, ("volume.%s: %s"):format(kind, message), errno end
    if kind == "mirror" and leg.offset > 0 then
      misuse(kind, "members of a mirror of the kernel begin at their start")
    end
    legs[i], given[i] = leg, leg.path
  end
  local map = { kind = kind, chunk = o.chunk or 0, merge = true, legs = legs }
  local try, message, errno = core.volume.new(map)      -- the sizes, before the kernel is asked
  if not try then return nil, ("volume.%s: %s"):format(kind, message), errno end
  try:close()
  return kernel.new { kind = kind, name = o.name, lines = lines[kind](o, legs), map = map,
    members = given, chunk = o.chunk, destroy = o.destroy,
    open_options = { write = o.write or nil, direct = o.direct or nil } }
end

-- What the guard says of devices that are in use, hold data, or are read-only.
local GUARDED = { [16] = true, [17] = true, [30] = true }

local function make(kind, options)
  local o = schema.check(SPECS[kind], options, 3, "volume." .. kind)
  local members = members_of(kind, o.members)
  if o.chunk and o.chunk % SECTOR ~= 0 or o.chunk == 0 then
    misuse(kind, "chunk = %d is no multiple of a sector, 512 bytes; the nearest is %d", o.chunk,
      math.max(1, (o.chunk + SECTOR // 2) // SECTOR) * SECTOR)
  end
  if o.backend == "user" then return in_user_space(kind, o, members) end
  local reason = why_not_dm(members)
  if not reason then
    local v, message, errno = in_kernel(kind, o, members)
    if v or o.backend == "dm" or o.write or not GUARDED[errno] then return v, message, errno end
    reason = message                    -- a table could write; reading in user space cannot
  end
  if o.backend == "dm" then
    return nil, ("volume.%s: backend = \"dm\" cannot be had: %s"):format(kind, reason), 19
  end
  local v, message, errno = in_user_space(kind, o, members)
  if v then v.notes[1] = "in user space: " .. reason end
  return v, message, errno
end

--- A stripe: chunk by chunk round its members.
---@param options table  members, chunk, backend, name, write, direct, overwrite, destroy, merge
---@return table? volume  backend, path (dm), members, notes; size(), map(), read(), write(), ...
---@return string? message
---@return integer? errno
function volume.stripe(options) return make("stripe", options) end

--- One member after the other.
---@param options table
---@return table? volume
---@return string? message
---@return integer? errno
function volume.concat(options) return make("concat", options) end

--- Every member holds the whole: reads go to the least busy one, writes to all.
---@param options table
---@return table? volume
---@return string? message
---@return integer? errno
function volume.mirror(options) return make("mirror", options) end

-- Kernel only: one line by its description, or by name why not.
local function only_kernel(kind, target, translate)
  return function(options)
    if type(options) ~= "table" then error(("volume.%s takes a table"):format(kind), 2) end
    local available, why, errno = dm.available()
    if not available then
      return nil, ("volume.%s is of device-mapper only: %s"):format(kind, why), errno
    end
    local o = {}
    for key, value in pairs(options) do o[key] = value end
    local name, destroy, write, direct = o.name, o.destroy, o.write, o.direct
    o.name, o.destroy, o.write, o.direct = nil, nil, nil, nil
    local line, message, number = dm.line(target, translate and translate(o) or o)
    if not line then return nil, ("volume.%s: %s"):format(kind, message), number end
    return kernel.new { kind = kind, name = name, lines = { line }, destroy = destroy,
      members = o.members or { o.device }, open_options = { write = write, direct = direct } }
  end
end

local function scaled(o, from, to, unit)
  if o[from] == nil then return end
  local ns, message = units.ns(o[from])
  if not ns then error(("volume: %s: %s"):format(from, message), 4) end
  o[to], o[from] = ns // unit, nil
end

--- Every request is held back: { device =, delay = "10ms" [, offset, size, write_delay] }.
volume.delay = only_kernel("delay", "delay", function(o)
  scaled(o, "delay", "delay_ms", 1000000)
  scaled(o, "write_delay", "write_delay_ms", 1000000)
  if o.write_delay_ms then
    o.write_device, o.write_offset = o.device, o.offset or 0
  end
  return o
end)

--- Fails for `down`, works for `up`, in turns: { device =, up = "5s", down = "1s", features }.
volume.flakey = only_kernel("flakey", "flakey", function(o)
  scaled(o, "up", "up_s", 1000000000)
  scaled(o, "down", "down_s", 1000000000)
  return o
end)

--- Refuses every request: { size = }.
volume.error = only_kernel("error", "error")

--- Reads zeros, forgets writes: { size = }.
volume.zero = only_kernel("zero", "zero")

--- A piece of a device, a concatenation of one: { device =, offset =, size = } and the options
--- of concat.
---@param options table
---@return table? volume
---@return string? message
---@return integer? errno
function volume.linear(options)
  if type(options) ~= "table" then error("volume.linear takes a table", 2) end
  local o = {}
  for key, value in pairs(options) do o[key] = value end
  o.members = { { device = o.device, offset = o.offset, size = o.size } }
  o.device, o.offset, o.size = nil, nil, nil
  return make("concat", o)
end

--- RAID by md in device-mapper: { level = "raid5_ls", members =, metadata =, chunk =,
--- region_size =, sync = }.
volume.raid = only_kernel("raid", "raid")

--- An existing volume, md or partition as legs, chunk and mapping, down to the disks.
---@param path string|iolua.file|table
---@return iolua.inspected?
---@return string? message
---@return integer? errno
function volume.inspect(path, options) return require("iolua.volume.inspect")(path, options) end

return volume
