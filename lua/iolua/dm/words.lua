--- The words of a target's parameters: read into named values, and written from them.
local words = {}

local nearest = require "iolua.nearest"
local units = require "iolua.units"

local SECTOR = 512

-- What is wrong with a text that should be a count of sectors.
local function no_sectors(text)
  local bytes = units.bytes(text)
  if bytes and text:find("^[%d.]+%a") and not text:find("^0[xX]") and bytes % SECTOR == 0 then
    return ("%q has a unit: write %d, its number of sectors"):format(text, bytes // SECTOR)
  end
  return ("%q is not a number of sectors"):format(text)
end

--- A whole number of sectors, written in decimal.
---@param text string
---@return integer?
---@return string? message
function words.sectors(text)
  local value = text:find("^%d+$") and math.tointeger(tonumber(text))
  if value then return value end
  return nil, no_sectors(text)
end

local function listed(one_of)
  return #one_of > 6 and table.concat(one_of, ", ", 1, 6) .. ", ..." or table.concat(one_of, ", ")
end

local read = {}

function read.sector(field, text)
  local value, message = words.sectors(text)
  if value and value < field.min then
    return nil, ("%d is less than %d, the least"):format(value, field.min)
  end
  return value, message
end

function read.number(field, text)
  local value = text:find("^%-?%d+$") and math.tointeger(tonumber(text))
  if not value then return nil, ("%q is not a whole number"):format(text) end
  if value < (field.min or value) then
    return nil, ("%d is less than %d, the least"):format(value, field.min)
  end
  return value
end

function read.word(field, text)
  if not field.one_of then return text end
  for _, known in ipairs(field.one_of) do
    if text == known then return text end
  end
  return nil, ("%q is not one of %s%s"):format(text, listed(field.one_of),
    nearest.hint(text, field.one_of))
end

function read.device(field, text)
  if text == "-" and field.may_be_missing then return text end
  if text:find("^/") or text:find("^%d+:%d+$") then return text end
  return nil, ("%q is no device: a path from / on, or MAJOR:MINOR"):format(text)
end

-- Where reading has come to in the list of words.
local function next_word(state, field)
  state.at = state.at + 1
  local text = state.list[state.at]
  if text then return text end
  return nil, ("%s is missing"):format(field.name)
end

local read_fields

local function read_counted(state, field)
  local text, message = next_word(state, field)
  if not text then return nil, message end
  local n, why = read.number({ min = 0 }, text)
  if not n then return nil, ("%s: their number %s"):format(field.name, why) end
  local list = {}
  for i = 1, n do
    list[i] = next_word(state, field)
    if not list[i] then
      return nil, ("%s: %d words are said to follow, there are %d"):format(field.name, n, i - 1)
    end
  end
  return list
end

local function read_members(state, field, values)
  local groups = {}
  for i = 1, values[field.count] do
    local group, message = read_fields(state, field.of, {})
    if not group then
      return nil, ("member %d of %d: %s"):format(i, values[field.count], message)
    end
    groups[i] = group
  end
  return groups
end

local function read_field(state, field, values)
  if field.kind == "counted" then return read_counted(state, field) end
  if field.kind == "members" then return read_members(state, field, values) end
  local text, message = next_word(state, field)
  if not text then return nil, message end
  local value, why = read[field.kind](field, text)
  if value == nil then return nil, ("%s: %s"):format(field.name, why) end
  return value
end

function read_fields(state, fields, values)
  for _, field in ipairs(fields) do
    if field.rest and state.at == #state.list then return values end
    local value, message = read_field(state, field, values)
    if value == nil then return nil, message end
    values[field.name] = value
  end
  return values
end

--- Parameters as named values, by a description's fields.
---@param fields table[]
---@param params string
---@return table? values
---@return string? message
function words.read(fields, params)
  local state = { list = {}, at = 0 }
  for text in params:gmatch("%S+") do state.list[#state.list + 1] = text end
  local values, message = read_fields(state, fields, {})
  if values and state.at < #state.list then
    return nil, ("%q is one word too many"):format(state.list[state.at + 1])
  end
  return values, message
end

local write_fields

local function write_field(list, field, value)
  if field.kind == "counted" then
    list[#list + 1] = tostring(#value)
    for _, text in ipairs(value) do list[#list + 1] = tostring(text) end
  elseif field.kind == "members" then
    for _, member in ipairs(value) do write_fields(list, field.of, member) end
  else
    list[#list + 1] = tostring(value)
  end
end

function write_fields(list, fields, values)
  for _, field in ipairs(fields) do
    if field.rest and values[field.name] == nil then return end
    write_field(list, field, values[field.name])
  end
end

--- Named values as parameters.
---@param fields table[]
---@param values table
---@return string
function words.write(fields, values)
  local list = {}
  write_fields(list, fields, values)
  return table.concat(list, " ")
end

return words
