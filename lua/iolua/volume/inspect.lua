--- What an existing volume is made of: a logical volume, device-mapper, md, a loop device or a
--- partition, as legs, chunk and mapping, down to the disks and what those hang on.
--
-- Nothing is opened: sysfs and, as root, device-mapper's tables are read.
local core = require "iolua.core"
local dm = require "iolua.dm"
local targets = require "iolua.dm.targets"
local tables = require "iolua.dm.table"
local words = require "iolua.dm.words"

local SECTOR = 512

---@class iolua.inspected
---@field name string      the kernel's name
---@field path string
---@field kind string      "stripe" "concat" "mirror" "raid5" ... "partition" "loop" "disk", or a
---  target's name
---@field size integer     bytes
---@field chunk integer?   bytes
---@field legs table[]?    { offset, size, node }: bytes on the leg
---@field disk table?      of a disk: iolua.device.find
local inspected = {}
inspected.__index = inspected
inspected.__name = "iolua.inspected"

local look                      -- number -> node

local function number_at(path)
  local text = core.attr.read(path)
  return text and math.tointeger(tonumber(text))
end

-- Legs as { offset, size, node }; what cannot be looked at is a leg with its number only.
local function leg(context, number, offset, size)
  local node, message = look(context, number)
  return { dev = number, offset = offset, size = size, node = node, message = message }
end

-- The arithmetic of legs that are mapped as core/stripe does; nil where they are not.
local function arithmetic(kind, chunk, legs)
  if kind ~= "stripe" and kind ~= "concat" and kind ~= "mirror" then return nil end
  local given = {}
  for i, l in ipairs(legs) do
    if not l.size then return nil end
    given[i] = { offset = l.offset, size = l.size }
  end
  return core.volume.new { kind = kind, chunk = chunk or 0, legs = given }
end

local function partition(context, node, info)
  local start = (number_at(info.sys .. "/start") or 0) * SECTOR
  node.kind = "partition"
  node.legs = { leg(context, info.disk_dev, start, info.bytes) }
end

local LEVELS = { raid0 = "stripe", raid1 = "mirror", linear = "concat" }

-- md: slots from md/dev-*/, each with its data's offset in sectors and size in KiB.
local function md(context, node, info)
  local folder = info.sys .. "/md"
  local level = core.attr.read(folder .. "/level") or "md"
  local by_slot, last = {}, -1
  for _, name in ipairs(core.attr.list(folder) or {}) do
    local slot = name:find("^dev%-") and number_at(folder .. "/" .. name .. "/slot")
    if slot then
      by_slot[slot], last = folder .. "/" .. name, math.max(last, slot)
    end
  end
  node.kind, node.level, node.legs = LEVELS[level] or level, level, {}
  node.chunk = number_at(folder .. "/chunk_size")
  if node.chunk == 0 then node.chunk = nil end
  for slot = 0, last do
    local member = by_slot[slot]
    local dev = member and core.attr.read(member .. "/block/dev")
    if dev then
      node.legs[#node.legs + 1] = leg(context, dev, (number_at(member .. "/offset") or 0) * SECTOR,
        (number_at(member .. "/size") or 0) * 1024)
    end
  end
  -- raid0 over unequal members has zones, which this arithmetic does not know.
  local low, high = math.huge, 0
  for _, l in ipairs(node.legs) do low, high = math.min(low, l.size), math.max(high, l.size) end
  node.unequal = node.kind == "stripe" and low ~= high or nil
end

-- The devices of one line as legs.
local function legs_of_line(context, line)
  local description = targets[line.type]
  local values = description and words.read(description.fields, line.params)
  if not values then return {}, nil end
  local legs = {}
  for _, d in ipairs(tables.devices(description, values, line.sectors)) do
    if d.field ~= "meta" then
      legs[#legs + 1] = leg(context, d.device, d.offset * SECTOR,
        d.need and d.need * SECTOR or nil)
    end
  end
  return legs, values
end

local KINDS = { striped = "stripe", linear = "concat" }

local function all_linear(lines)
  for _, line in ipairs(lines) do
    if line.type ~= "linear" then return false end
  end
  return true
end

local function by_table(context, node, lines)
  node.table = lines
  if #lines == 1 or all_linear(lines) then
    node.kind, node.legs = KINDS[lines[1].type] or lines[1].type, {}
    for _, line in ipairs(lines) do
      local legs, values = legs_of_line(context, line)
      table.move(legs, 1, #legs, #node.legs + 1, node.legs)
      if values and values.chunk then node.chunk = values.chunk * SECTOR end
      if values and values.level then
        node.level, node.kind = values.level, LEVELS[values.level] or values.level
        node.chunk = (tonumber(values.params[1]) or 0) * SECTOR
        if node.chunk == 0 then node.chunk = nil end
      end
    end
    return
  end
  node.kind, node.legs = "segments", {}
  for _, line in ipairs(lines) do
    local legs = legs_of_line(context, line)
    table.move(legs, 1, #legs, #node.legs + 1, node.legs)
  end
end

-- Where the table cannot be read (not root), sysfs still knows what it lies on.
local function parents(context, node, info, kind)
  node.kind, node.legs = kind, {}
  for _, number in ipairs(core.blk.related(info.dev, "parents", context.root) or {}) do
    node.legs[#node.legs + 1] = leg(context, number, 0, nil)
  end
end

local function volume_of_dm(context, node, info)
  local name = core.attr.read(info.sys .. "/dm/name")
  local uuid = core.attr.read(info.sys .. "/dm/uuid") or ""
  node.volume, node.lvm = name, uuid:find("^LVM%-") ~= nil or nil
  if context.root == "" then node.path = core.dm.path(name) end
  local lines, message = context.table_of(name)
  if lines and #lines > 0 then return by_table(context, node, lines) end
  parents(context, node, info, "dm")
  node.message = message
end

local function table_of(name)
  local available, why = dm.available()
  if not available then return nil, why end
  return core.dm.table(name)
end

local function describe(context, node, info)
  if info.partition then return partition(context, node, info) end
  if core.attr.read(info.sys .. "/dm/name") then return volume_of_dm(context, node, info) end
  if core.attr.read(info.sys .. "/md/level") then return md(context, node, info) end
  local file = core.attr.read(info.sys .. "/loop/backing_file")
  if file then
    parents(context, node, info, "loop")
    node.file = file
    return
  end
  node.kind = "disk"
  if context.root == "" then node.disk = require("iolua.device").find(node.path) end
end

function look(context, number)
  local info, message = core.blk.at(number, context.root)
  if not info then return nil, message end
  local node = setmetatable({ name = info.name, dev = info.dev, size = info.bytes,
    path = "/dev/" .. info.name:gsub("!", "/") }, inspected)
  describe(context, node, info)
  node.map_of = node.legs and not node.unequal
    and (node.kind == "partition" and arithmetic("concat", nil, node.legs)
      or arithmetic(node.kind, node.chunk, node.legs)) or nil
  return node
end

--- Where a sector of it lies, level by level down to the disk: { { name, sector, leg }, ... };
--- it ends where the mapping is not known (parity, caches, files).
---@param sector integer
---@return table[] steps
function inspected:map(sector)
  local steps, node = { { name = self.name, sector = sector } }, self
  while node and node.map_of do
    local i, pos = node.map_of:map(sector * SECTOR)
    local l = node.legs[i]
    node, sector = l.node, pos // SECTOR
    steps[#steps + 1] = { name = node and node.name or l.dev, sector = sector, leg = i }
  end
  return steps
end

--- The disks below it, each once.
---@return iolua.inspected[]
function inspected:disks()
  local list, seen = {}, {}
  local function collect(node)
    if node.kind == "disk" and not seen[node.dev] then
      seen[node.dev] = true
      list[#list + 1] = node
    end
    for _, l in ipairs(node.legs or {}) do
      if l.node then collect(l.node) end
    end
  end
  collect(self)
  return list
end

local function size_text(bytes)
  return require("iolua.units").format_bytes(bytes or 0)
end

local function title(node)
  local text = ("%s: %s, %s"):format(node.path, node.level or node.kind, size_text(node.size))
  if node.chunk then text = text .. ", chunk " .. size_text(node.chunk) end
  if node.file then text = text .. ", over " .. node.file end
  local d = node.disk
  if d and d.controller then text = text .. ", on " .. d.controller end
  if d and d.link and d.link.GT_per_s then
    text = text .. (", %g GT/s x%d"):format(d.link.GT_per_s, d.link.width)
  end
  if node.message then text = text .. (" (%s)"):format(node.message) end
  return text
end

local function add_lines(lines, node, head, indent)
  lines[#lines + 1] = head .. title(node)
  for i, l in ipairs(node.legs or {}) do
    local at = l.offset > 0 and (" from sector %d"):format(l.offset // SECTOR) or ""
    local start = ("%s  %d%s: "):format(indent, i, at)
    if l.node then
      add_lines(lines, l.node, start, indent .. "  ")
    else
      lines[#lines + 1] = ("%s%s (%s)"):format(start, l.dev, tostring(l.message))
    end
  end
end

function inspected:__tostring()
  local lines = {}
  add_lines(lines, self, "", "")
  return table.concat(lines, "\n")
end

--- Look at what a path leads to: a device, or the device a file lies on.
---@param path string|iolua.file|table  also a volume
---@param options? { root: string, table_of: function }  for tests: another tree, its tables
---@return iolua.inspected?
---@return string? message
---@return integer? errno
return function(path, options)
  local o = options or {}
  local context = { root = o.root or "", table_of = o.table_of or table_of }
  if type(path) == "table" then path = path.path end
  if path == nil then return nil, "inspect: the volume has no device of its own", 6 end
  if type(path) == "string" and path:find("^%d+:%d+$") then return look(context, path) end
  local info, message, errno = core.blk.find(path, context.root)
  if not info then return nil, "inspect: " .. message, errno end
  return look(context, info.dev)
end
