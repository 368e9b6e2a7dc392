--- Lines of tables from options: sizes in bytes, members as paths, files or volumes.
--
-- The description of the target says which words there are; what is not told takes the
-- default, the length as much as the devices give.
local nearest = require "iolua.nearest"
local tables = require "iolua.dm.table"
local targets = require "iolua.dm.targets"
local units = require "iolua.units"
local words = require "iolua.dm.words"

local SECTOR = 512

local function misuse(text, ...)
  error({ misuse = text:format(...) }, 0)
end

--- The path of a device that is given as a path, a file or a volume.
---@param value any
---@return string
local function path_of(value)
  if type(value) == "string" then return value end
  if type(value) == "table" and type(value.path) == "string" then return value.path end
  if type(value) == "userdata" and value.path then return value:path() end
  misuse("%s is no device: give a path, a file or a volume", tostring(value))
end

local function sectors_of(name, value)
  local bytes, message = units.bytes(value)
  if not bytes then misuse("%s: %s", name, message) end
  if bytes % SECTOR ~= 0 then
    misuse("%s = %d bytes is no multiple of a sector, 512 bytes; the nearest is %d", name, bytes,
      math.max(1, (bytes + SECTOR // 2) // SECTOR) * SECTOR)
  end
  return bytes // SECTOR
end

local convert = {}

function convert.device(field, value)
  if value == nil and field.may_be_missing then return "-" end
  return path_of(value)
end

function convert.sector(field, value)
  local sectors = sectors_of(field.name, value)
  if sectors < field.min then
    misuse("%s = %d bytes: at least %d", field.name, sectors * SECTOR, field.min * SECTOR)
  end
  return sectors
end

function convert.number(field, value)
  local n = math.tointeger(value)
  if not n or math.type(value) ~= "integer" and type(value) ~= "number" then
    misuse("%s = %s is no whole number", field.name, tostring(value))
  end
  if n < (field.min or n) then misuse("%s = %d: at least %d", field.name, n, field.min) end
  return n
end

function convert.word(field, value)
  for _, known in ipairs(field.one_of or { value }) do
    if value == known then return value end
  end
  misuse("%s = %s is not known%s", field.name, tostring(value), nearest.hint(value, field.one_of))
end

function convert.counted(field, value)
  if type(value) ~= "table" then misuse("%s is a list of words", field.name) end
  return value
end

-- One member: a device, or { device =, offset = }.
local function member(of, value)
  local group = {}
  if type(value) ~= "table" or value.path or getmetatable(value) then
    value = { device = value }
  elseif value.device == nil and value[1] ~= nil then
    value = { device = value[1], offset = value[2] }
  end
  for _, field in ipairs(of) do
    local given = value[field.name]
    if given == nil and field.default ~= nil then
      group[field.name] = field.default
    else
      group[field.name] = convert[field.kind](field, given)
    end
  end
  return group
end

function convert.members(field, value)
  if type(value) ~= "table" or #value == 0 then misuse("members is a list of devices") end
  local list = {}
  for i, item in ipairs(value) do list[i] = member(field.of, item) end
  return list
end

-- dm-raid's parameters from options: chunk, then what was asked for.
local function raid_params(o)
  local params = {}
  if o.level == "raid1" then
    params[1] = 0
  else
    params[1] = sectors_of("chunk", o.chunk or "64k")
  end
  if o.sync == false then params[#params + 1] = "nosync" end
  if o.sync == true then params[#params + 1] = "sync" end
  for _, i in ipairs(o.rebuild or {}) do
    params[#params + 1], params[#params + 2] = "rebuild", i - 1
  end
  if o.region_size then
    local region = sectors_of("region_size", o.region_size)
    if region & (region - 1) ~= 0 then
      misuse("region_size = %d bytes is no power of two", region * SECTOR)
    end
    params[#params + 1], params[#params + 2] = "region_size", region
  end
  if o.daemon_sleep then      -- when clean regions are told so: ms in the table
    local ns, message = units.ns(o.daemon_sleep)
    if not ns then misuse("daemon_sleep: %s", message) end
    params[#params + 1], params[#params + 2] = "daemon_sleep", ns // 1000000
  end
  if o.stripe_cache then
    local cache = sectors_of("stripe_cache", o.stripe_cache)
    params[#params + 1], params[#params + 2] = "stripe_cache", cache
  end
  return params
end

-- Options that are not fields: turned into what the fields want.
local SPECIAL = {
  raid = { names = { "chunk", "region_size", "daemon_sleep", "sync", "rebuild", "stripe_cache",
                     "metadata" },
    apply = function(o)
      local list = {}
      for i, device in ipairs(o.members or {}) do
        list[i] = { device = device, meta = o.metadata and o.metadata[i] }
      end
      if o.metadata and #o.metadata ~= #list then
        misuse("%d metadata devices for %d members: one each", #o.metadata, #list)
      end
      return { level = o.level, params = raid_params(o), devices = #list, members = list,
        size = o.size }
    end },
}

local function option_names(kind)
  local names = { "size" }
  for _, field in ipairs(targets[kind].fields) do names[#names + 1] = field.name end
  for _, name in ipairs(SPECIAL[kind] and SPECIAL[kind].names or {}) do
    names[#names + 1] = name
  end
  return names
end

local function check_names(kind, options)
  local names, known = option_names(kind), {}
  for _, name in ipairs(names) do known[name] = true end
  for key in pairs(options) do
    if not known[key] then
      misuse("unknown option %s%s", tostring(key), nearest.hint(key, names))
    end
  end
end

-- The value of a field: given, counted from the members, the default, or missing.
local function value_of(field, options)
  local given = options[field.name]
  if given ~= nil then return convert[field.kind](field, given) end
  if field.default ~= nil then return field.default end
  if field.kind == "counted" then return {} end
  misuse("%s is missing", field.name)
end

local function values_of(description, options)
  local values, rest = {}, false
  for _, field in ipairs(description.fields) do
    rest = rest or field.rest
    if rest and options[field.name] == nil and field.default == nil then return values end
    if field.kind == "members" then options[field.count] = #(options.members or {}) end
  end
  for _, field in ipairs(description.fields) do
    values[field.name] = value_of(field, options)
  end
  return values
end

-- Fields up to the first that may be left out and is.
local function values_with_rest(description, options)
  local fields = {}
  for _, field in ipairs(description.fields) do
    if field.rest and options[field.name] == nil then break end
    fields[#fields + 1] = field
    if field.kind == "members" then options[field.count] = #(options.members or {}) end
  end
  return values_of({ fields = fields }, options)
end

-- As long as the smallest device that is used from its offset on gives.
local function fitting(kind, description, values, size_of)
  local least
  for _, leg in ipairs(tables.devices(description, values, 0)) do
    if leg.need then
      local size, message, errno = size_of(leg.device)
      if not size then return nil, message, errno end
      local free = size - leg.offset
      if free < 1 then
        return nil, ("%s has %d sectors: nothing from %d on"):format(leg.device, size,
          leg.offset), 28
      end
      least = math.min(least or free, free)
    end
  end
  if not least then misuse("size is missing: no device gives it") end
  local fit = description.fit and description.fit(least, values) or least
  if fit < 1 then
    return nil, ("the smallest device has %d sectors, less than one row of %s"):format(least,
      kind), 28
  end
  return fit
end

-- What is left over on each member, in sectors.
local function unused(description, values, sectors, size_of)
  local list, any = {}, false
  for i, leg in ipairs(tables.devices(description, values, sectors)) do
    local size = leg.need and size_of(leg.device)
    list[i] = size and size - leg.offset - leg.need or 0
    any = any or list[i] > 0
  end
  return any and list or nil
end

local function line(kind, options, size_of)
  local description = targets[kind]
  check_names(kind, options)
  local o = {}
  for key, value in pairs(options) do o[key] = value end
  if SPECIAL[kind] then o = SPECIAL[kind].apply(o) end
  local values = values_with_rest(description, o)
  local sectors, message, errno
  if o.size then
    sectors = sectors_of("size", o.size)
  else
    sectors, message, errno = fitting(kind, description, values, size_of)
  end
  if not sectors then return nil, message, errno end
  return { sectors = sectors, type = kind, params = words.write(description.fields, values),
    notes = description.notes and description.notes(values),
    unused = unused(description, values, sectors, size_of) }
end

local build = { path_of = path_of }

--- A line of a table.
---@param kind string     a target that is described in iolua.dm.targets
---@param options table   its fields by name; size in bytes
---@param size_of fun(device: string): integer?, string?, integer?  sectors of a device
---@param level integer   whose fault misuse is
---@return table? line
---@return string? message
---@return integer? errno
function build.line(kind, options, size_of, level)
  if not targets[kind] then
    local known = nearest.keys(targets)
    error(("dm.line: no description of a target %q%s"):format(tostring(kind),
      nearest.hint(kind, known)), level + 1)
  end
  local result = table.pack(pcall(line, kind, options, size_of))
  if result[1] then return table.unpack(result, 2, result.n) end
  local problem = result[2]
  if type(problem) == "table" and problem.misuse then
    error(("dm.line %s: %s"):format(kind, problem.misuse), level + 1)
  end
  error(problem, 0)
end

return build
