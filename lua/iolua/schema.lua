--- Option tables: what keys there are, of what type, within what bounds.
--
-- A spec is a table name -> entry:
--   { type =, default =, help =, required =, min =, max =, choices =, list =, fields =,
--     check = }
-- type is size, duration, integer, number, boolean, string, choice, path, cpuset, table,
-- function, any, or several joined by "|" (the first that fits is taken). Sizes and
-- durations come out as integer bytes and ns. `list` takes one value or an array and gives
-- an array. `fields` is the spec of a nested table. `check` is a function of the converted
-- value that gives the final one, or nil and why not.
local nearest = require "iolua.nearest"
local units = require "iolua.units"

local schema = {}

local SHOWN = 60        -- of a text, characters

local function shown(value)
  if type(value) == "string" then
    return #value > SHOWN and ("%q..."):format(value:sub(1, SHOWN)) or ("%q"):format(value)
  end
  return tostring(value)
end

-- Every converter: value, entry -> converted | nil, message without the option's name.
local convert = {}

local function of_type(name, article)
  return function(value)
    if type(value) == name then return value end
    return nil, ("%s is not %s"):format(shown(value), article)
  end
end

convert.table = of_type("table", "a table")
convert["function"] = of_type("function", "a function")

function convert.any(value) return value end
-- The owner of the option reads it: a text, a number, an array or a set.
function convert.cpuset(value) return value end

function convert.string(value)
  if type(value) == "string" then return value end
  return nil, ("%s is not a string; write %q"):format(shown(value), tostring(value))
end

function convert.path(value)
  if type(value) == "string" and value ~= "" and not value:find("\0", 1, true) then
    return value
  end
  return nil, ("%s is not a path"):format(shown(value))
end

function convert.boolean(value)
  if type(value) == "boolean" then return value end
  local word = { ["true"] = true, yes = true, on = true, [1] = true }
  return nil, ("%s is not a boolean; write %s"):format(shown(value),
    word[value] and "true" or "true or false")
end

-- The bounds of an entry in words, or nil.
local function bounds(entry, show)
  local low, high = entry.min, entry.max
  if low and high then return ("%s to %s"):format(show(low), show(high)) end
  if low then return ("%s or more"):format(show(low)) end
  if high then return ("%s or less"):format(show(high)) end
end

local function plain(value) return tostring(value) end

-- value within the entry's bounds, or a message that names the nearest one that is.
local function within(value, entry, given, show)
  local limit
  if entry.min and value < entry.min then limit = entry.min end
  if entry.max and value > entry.max then limit = entry.max end
  if not limit then return value end
  return nil, ("%s is out of range: it must be %s; the nearest is %s"):format(shown(given),
    bounds(entry, show), show(limit))
end

local function numeric(value, entry, number, article)
  if number then return within(number, entry, value, plain) end
  local range = bounds(entry, plain)
  local message = ("%s is not %s%s"):format(shown(value), article,
    range and " (" .. range .. ")" or "")
  local meant = type(value) == "string" and tonumber(value)
    or math.type(value) == "float" and value == value and math.abs(value) < 2^53
    and math.floor(value + 0.5)
  return nil, meant and ("%s; write %s"):format(message, meant) or message
end

function convert.integer(value, entry)
  return numeric(value, entry, math.type(value) and math.tointeger(value), "an integer")
end

function convert.number(value, entry)
  return numeric(value, entry, math.type(value) and value == value and value, "a number")
end

function convert.size(value, entry)
  local bytes, message = units.bytes(value)
  if not bytes then return nil, message .. "; write bytes or as in \"4k\"" end
  return within(bytes, entry, value, units.format_bytes)
end

-- An integer is ns. One that is not 0 and under 1 us was meant in seconds.
function convert.duration(value, entry)
  local ns, message = units.ns(value)
  if not ns then
    local unit = message:find("needs a unit", 1, true)
    return nil, unit and message or message .. "; write as in \"5s\" or \"500ms\""
  end
  if math.type(value) and ns > 0 and ns < 1000 then
    return nil, ("%s is %d ns, less than 1 us; write \"%ds\" for seconds"):format(
      shown(value), ns, ns)
  end
  return within(ns, entry, value, units.format_ns)
end

function convert.choice(value, entry)
  for _, choice in ipairs(entry.choices) do
    if choice == value then return value end
  end
  local known = {}
  for i, choice in ipairs(entry.choices) do known[i] = tostring(choice) end
  return nil, ("%s is not one of %s%s"):format(shown(value), table.concat(known, ", "),
    nearest.find(value, known) and nearest.hint(value, known) or "")
end

-- The converter of one type name; a spec that names an unknown one is a mistake of its own.
local function converter(kind)
  local found = convert[kind]
  if found then return found end
  error(("schema: unknown type %s%s"):format(shown(kind),
    nearest.hint(kind, nearest.keys(convert))), 0)
end

local ENTRY = { "type", "default", "help", "required", "min", "max", "choices", "list",
  "fields", "check" }

--- Is this an entry of a spec: keys that mean something, types that there are?
---@param entry table
---@return boolean? ok
---@return string? message
function schema.entry(entry)
  for key in pairs(entry) do
    local known = false
    for _, name in ipairs(ENTRY) do known = known or name == key end
    if not known then
      return nil, ("unknown key %s%s"):format(shown(key), nearest.hint(key, ENTRY))
    end
  end
  for kind in (entry.type or "any"):gmatch("[^|]+") do
    if not convert[kind] then
      return nil, ("unknown type %s%s"):format(shown(kind),
        nearest.hint(kind, nearest.keys(convert)))
    end
  end
  return true
end

-- One value by one entry, lists apart.
local function single(entry, value)
  local kinds, message = entry.type or entry.choices and "choice" or "any", nil
  local result
  for kind in kinds:gmatch("[^|]+") do
    local why
    result, why = converter(kind)(value, entry)
    if result ~= nil then break end
    message = message and message .. ", and " .. why or why
  end
  if result == nil then return nil, message end
  if entry.choices and kinds ~= "choice" then
    local _, refusal = convert.choice(result, entry)
    if refusal then return nil, refusal end
  end
  if entry.fields and type(result) == "table" then
    result, message = schema.convert(entry.fields, result)
    if result == nil then return nil, message end
  end
  if entry.check then return entry.check(result) end
  return result
end

local function list(entry, value)
  if type(value) ~= "table" or getmetatable(value) then value = { value } end
  local result = {}
  for i = 1, #value do
    local converted, message = single(entry, value[i])
    if converted == nil then return nil, ("item %d: %s"):format(i, message) end
    result[i] = converted
  end
  for key in pairs(value) do
    if not result[key] and result[key] == nil then
      return nil, ("%s is a key of what must be a list%s"):format(shown(key), #value == 0 and
        type(key) == "string" and ("; one item alone is { { %s = ... } }"):format(key) or "")
    end
  end
  return result
end

--- One value by one entry.
---@param entry table
---@param value any
---@return any? converted
---@return string? message  what is wrong with it, beginning with the value
function schema.value(entry, value)
  if entry.list then return list(entry, value) end
  return single(entry, value)
end

-- The message with the option's name before it: `bs = "4x" is not a size`.
local function named(name, value, message)
  local given = shown(value)
  if message:sub(1, #given) == given then return ("%s = %s"):format(name, message) end
  return ("%s: %s"):format(name, message)
end

local function unknown(spec, options)
  local strays = {}
  for key in pairs(options) do
    if not spec[key] then strays[#strays + 1] = key end
  end
  if #strays == 0 then return nil end
  table.sort(strays, function(a, b) return tostring(a) < tostring(b) end)
  return ("unknown option %s%s"):format(shown(strays[1]),
    nearest.hint(strays[1], nearest.keys(spec)))
end

--- An option table by its spec, without raising.
---@param spec table
---@param options table
---@return table? converted  a new table with defaults
---@return string? message
function schema.convert(spec, options)
  local message = unknown(spec, options)
  if message then return nil, message end
  local result = {}
  for _, name in ipairs(nearest.keys(spec)) do
    local entry, given = spec[name], options[name]
    if given == nil then given = entry.default end
    local value, why
    if given ~= nil then value, why = schema.value(entry, given) end
    if why then return nil, named(name, given, why) end
    if value == nil and entry.required then
      return nil, ("%s is missing%s"):format(name, entry.help and ": " .. entry.help or "")
    end
    result[name] = value
  end
  return result
end

--- Check an option table and raise on the first thing wrong with it.
---@param spec table
---@param options table
---@param level? integer  whose fault it is, as in error(): 1 the caller (default), 2 its caller
---@param what? string    named before the message: "job"
---@return table converted  a new table: defaults filled in, sizes in bytes, durations in ns
function schema.check(spec, options, level, what)
  local prefix = what and what .. ": " or ""
  level = (level or 1) + 1
  if type(options) ~= "table" then
    error(("%soptions must be a table, not %s"):format(prefix, shown(options)), level)
  end
  local result, message = schema.convert(spec, options)
  if not result then error(prefix .. message, level) end
  return result
end

return schema
