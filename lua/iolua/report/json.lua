--- JSON that loses nothing: lua-dkjson, with its edges mended.
--
-- Integers are exact to 2^63 and floats read back as they were (dkjson prints 14 digits);
-- nil, NaN and infinities are null; invalid UTF-8 becomes U+FFFD (dkjson lets it through);
-- keys come in a stable order: numbers, then names, or as `json.object` was told.
-- An empty table is an object unless marked by json.array.
local number = require "iolua.report.number"

local json = {}

--- Writes null explicitly: { name = json.null }.
json.null = setmetatable({}, { __tojson = function() return "null" end,
                               __tostring = function() return "null" end })

-- Marks live beside the tables, so that a table keeps its own metatable.
local lengths = setmetatable({}, { __mode = "k" })
local orders = setmetatable({}, { __mode = "k" })

--- Mark a table as an array of n items (default #items), holes being null. Returns it.
---@param items table
---@param n? integer
function json.array(items, n)
  lengths[items] = n or #items
  return items
end

--- Mark a table as an object whose keys come in this order, others after. Returns it.
---@param map table
---@param order? string[]
function json.object(map, order)
  orders[map] = order or {}
  return map
end

-- text with every byte that is not part of valid UTF-8 replaced by U+FFFD.
local function valid(text)
  local parts, from = {}, 1
  while true do
    local length, bad = utf8.len(text, from)
    if length then break end
    parts[#parts + 1] = text:sub(from, bad - 1) .. "\u{FFFD}"
    from = bad + 1
  end
  return #parts == 0 and text or table.concat(parts) .. text:sub(from)
end

-- How many items a table has if it is an array: only positive integer keys, few holes.
local function length_of(map)
  if lengths[map] then return lengths[map] end
  if orders[map] then return nil end
  local count, last = 0, 0
  for key in pairs(map) do
    if math.type(key) ~= "integer" or key < 1 then return nil end
    count, last = count + 1, math.max(last, key)
  end
  return count > 0 and last <= 2 * count and last or nil
end

local function before(a, b)
  local ta, tb = type(a), type(b)
  if ta ~= tb then return ta == "number" end
  return a < b
end

local function ordered_keys(map)
  local keys, seen = {}, {}
  for _, key in ipairs(orders[map] or {}) do
    if map[key] ~= nil and not seen[key] then keys[#keys + 1], seen[key] = key, true end
  end
  local rest = {}
  for key in pairs(map) do
    if type(key) ~= "string" and type(key) ~= "number" then
      error(("a key of type %s has no form in JSON"):format(type(key)), 0)
    end
    if not seen[key] then rest[#rest + 1] = key end
  end
  table.sort(rest, before)
  table.move(rest, 1, #rest, #keys + 1, keys)
  return keys
end

local mended -- value -> what dkjson prints right

local function mended_array(items, n, above)
  local copy = {}
  for i = 1, n do
    local item = items[i]
    copy[i] = item == nil and json.null or mended(item, above)
  end
  return copy
end

local function mended_object(map, above)
  local copy, order = {}, {}
  for i, key in ipairs(ordered_keys(map)) do
    order[i] = type(key) == "string" and valid(key) or number.text(key) or "null"
    copy[order[i]] = mended(map[key], above)
  end
  return setmetatable(copy, { __jsontype = "object", __jsonorder = order })
end

local function mended_table(value, above)
  if above[value] then error("a table that contains itself has no form in JSON", 0) end
  above[value] = true
  local n = length_of(value)
  local copy = n and mended_array(value, n, above) or mended_object(value, above)
  above[value] = nil
  return copy
end

-- A float as a value that dkjson asks for its text.
local Float = { __tojson = function(self) return self[1] end }

function mended(value, above)
  local kind = type(value)
  if math.type(value) == "float" then
    local text = number.float(value)
    return text and setmetatable({ text }, Float) or json.null
  elseif kind == "string" then return valid(value)
  elseif value == json.null or kind == "number" or kind == "boolean" then return value
  elseif kind == "table" then return mended_table(value, above)
  end
  error(("a value of type %s has no form in JSON"):format(kind), 0)
end

local function dkjson()
  local found, module = pcall(require, "dkjson")
  if found then return module end
  error("JSON needs lua-dkjson: apt-get install lua-dkjson", 0)
end

--- One JSON document, without a newline at its end.
---@param value any
---@param options? { indent: boolean }  indent: over several lines, for people
---@return string
function json.encode(value, options)
  if value == nil then return "null" end
  local encoder = dkjson()
  local ok, copy = pcall(mended, value, {})
  if not ok then error("json.encode: " .. tostring(copy), 2) end
  if copy == json.null then return "null" end
  return (assert(encoder.encode(copy, { indent = options and options.indent })))
end

--- Read one JSON document. Objects and arrays are plain tables.
---@param text string
---@param null? any  what null becomes; default nil, which leaves holes and no keys
---@return any value
---@return string? message  what is wrong, where the value is nil
function json.decode(text, null)
  local value, after, message = dkjson().decode(text, 1, null, nil, nil)
  if message then return nil, "json: " .. message end
  if text:find("%S", after) then
    return nil, ("json: something follows the value at byte %d"):format(text:find("%S", after))
  end
  return value
end

return json
