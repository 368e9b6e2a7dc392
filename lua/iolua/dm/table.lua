--- Tables of device-mapper, checked before the kernel sees them.
--
-- A line is "START LENGTH TYPE PARAMETERS", in sectors of 512 bytes, or a table
-- { sectors =, type =, params = [, start =] } as dm.line makes it.
local targets = require "iolua.dm.targets"
local words = require "iolua.dm.words"

local tables = {}

local function parse(text)
  if text:find("\r") then return nil, "holds a carriage return" end
  if text:find("[%z\1-\8\11-\31]") then return nil, "holds a control character" end
  local start, length, kind, params = text:match("^%s*(%S+)%s+(%S+)%s+(%S+)%s*(.-)%s*$")
  if not start then return nil, ("%q is not START LENGTH TYPE PARAMETERS"):format(text) end
  local first, message = words.sectors(start)
  if not first then return nil, "start: " .. message end
  local sectors, why = words.sectors(length)
  if not sectors then return nil, "length: " .. why end
  return { start = first, sectors = sectors, type = kind, params = params }
end

local function line_of(item, expected)
  if type(item) == "string" then return parse(item) end
  if type(item) ~= "table" then return nil, ("is a %s, not a line"):format(type(item)) end
  return { start = item.start or expected, sectors = item.sectors, type = item.type,
    params = item.params, notes = item.notes }
end

local function check_place(line, expected, number)
  if line.sectors < 1 then return nil, "length: 0 sectors are no segment" end
  if line.start == expected then return true end
  if number == 1 then
    return nil, ("starts at %d, but the first line starts at 0"):format(line.start)
  end
  local off = line.start - expected
  return nil, ("starts at %d, but the line before ends at %d: %s of %d sectors"):format(
    line.start, expected, off > 0 and "a gap" or "an overlap", math.abs(off))
end

-- The multiples of unit next to length.
local function nearest_length(length, unit)
  local below = length // unit * unit
  local above = below + unit
  if below == 0 or above - length < length - below then return above end
  return below
end

local function check_multiple(line, description, values)
  local unit = description.multiple and description.multiple(values) or 1
  if line.sectors % unit == 0 then return true end
  return nil, ("a length of %d sectors is no multiple of %d, one row of %s; the nearest is %d")
    :format(line.sectors, unit, line.type, nearest_length(line.sectors, unit))
end

--- Every device a segment uses: { device, offset, need } with need nil where it is not told.
---@param description table
---@param values table
---@param sectors integer
---@return table[]
function tables.devices(description, values, sectors)
  local list = {}
  local function collect(fields, group)
    for _, field in ipairs(fields) do
      local value = group[field.name]
      if field.kind == "device" and value and value ~= "-" then
        list[#list + 1] = { device = value, offset = field.at and group[field.at] or 0,
          need = field.need and field.need(values, sectors), field = field.name }
      elseif field.kind == "members" then
        for _, member in ipairs(value) do collect(field.of, member) end
      end
    end
  end
  collect(description.fields, values)
  return list
end

-- Is every leg as long as the segment needs it?
local function check_legs(line, description, values, size_of)
  for i, leg in ipairs(tables.devices(description, values, line.sectors)) do
    local size, message = size_of(leg.device)
    if not size then return nil, message end
    if leg.need and leg.offset + leg.need > size then
      return nil, ("leg %d, %s, has %d sectors, %d are needed from %d on"):format(i, leg.device,
        size, leg.need, leg.offset)
    end
  end
  return true
end

local function check_target(line, size_of)
  local description = targets[line.type]
  if not description then return true end       -- goes by its own line
  local values, message = words.read(description.fields, line.params)
  if not values then return nil, message end
  local ok, why = check_multiple(line, description, values)
  if not ok then return nil, why end
  line.notes = line.notes or description.notes and description.notes(values)
  return check_legs(line, description, values, size_of)
end

local function check_line(item, expected, number, size_of)
  local line, message = line_of(item, expected)
  if not line then return nil, message end
  local ok, why = check_place(line, expected, number)
  if not ok then return nil, why end
  ok, why = check_target(line, size_of)
  if not ok then return nil, ("%s: %s"):format(line.type, why) end
  return line
end

local function split(text)
  local list = {}
  for line in text:gmatch("[^\n]+") do list[#list + 1] = line end
  return list
end

--- A table, checked.
---@param list table|string   lines; a string holds one a line
---@param size_of fun(device: string): integer?, string?  sectors of a device, or why not
---@return table[]? lines     { start, sectors, type, params, notes }
---@return string? message    "line 2: starts at 100, but ..."
function tables.check(list, size_of)
  if type(list) == "string" then list = split(list) end
  if type(list) ~= "table" then
    return nil, ("a table is a list of lines, not a %s"):format(type(list))
  end
  if #list == 0 then return nil, "the table is empty" end
  local lines, expected = {}, 0
  for i, item in ipairs(list) do
    local line, message = check_line(item, expected, i, size_of)
    if not line then return nil, ("line %d: %s"):format(i, message) end
    expected = line.start + line.sectors
    lines[i] = line
  end
  return lines
end

return tables
