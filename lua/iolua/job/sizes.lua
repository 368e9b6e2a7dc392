--- The sizes of operations: one, a range, or a mix with shares of the operations.
--
-- "4k"                                    one size
-- "4k-64k"                                4k, 8k, 12k ... 64k, each as often
-- { ["4k"] = 60, ["64k"] = 40 }           per cent of the operations
-- { ["4k"] = 60, "64k", "8k-32k" }        those without a number share the rest
local shares = require "iolua.shares"
local units = require "iolua.units"

local sizes = {}

local MAX = 0x7ffff000          -- IO_LEN_MAX of core/io.h
local COUNT_MAX = 256           -- MIX_MAX of core/mix.h

local function size(text)
  local bytes, message = units.bytes(text)
  if not bytes then return nil, message .. "; write bytes or as in \"4k\"" end
  if bytes < 1 or bytes > MAX then
    return nil, ("%s is out of range: it must be 1 B to 2 GiB less a page"):format(tostring(text))
  end
  return bytes
end

-- One size or "low-high" -> { low, high }.
local function range(text)
  local first, last = tostring(text):match("^([^%-]+)%-([^%-]+)$")
  if not first then
    local bytes, message = size(text)
    return bytes and { low = bytes, high = bytes, step = 1 }, message
  end
  local low, message = size(first)
  if not low then return nil, message end
  local high, why = size(last)
  if not high then return nil, why end
  if high < low then return nil, ("%q ends below where it begins"):format(text) end
  return { low = low, high = low + (high - low) // low * low, step = low }
end

local function entry(text, percent)
  local r, message = range(text)
  if not r then return nil, message end
  r.percent = percent
  return r
end

-- The items of a table, by rising size: the same for the same table.
local function items_of(mix)
  local items = {}
  for key, value in pairs(mix) do
    local item, message
    if value == true or math.type(key) == "integer" and type(value) == "string" then
      item, message = entry(value == true and key or value, false)
    elseif math.type(value) then
      item, message = entry(key, value)
    else
      message = ("%s = %s is not a share"):format(tostring(key), tostring(value))
    end
    if not item then return nil, message end
    items[#items + 1] = item
  end
  table.sort(items, function(a, b)
    if a.low ~= b.low then return a.low < b.low end
    return a.high < b.high
  end)
  for i = 2, #items do
    if items[i].low == items[i - 1].low and items[i].high == items[i - 1].high then
      return nil, ("%d is named twice"):format(items[i].low)
    end
  end
  return items
end

local function columns(items, parts)
  local mix = { count = #items, share = parts, low = {}, high = {}, step = {} }
  local smallest, largest = MAX, 1
  for i, item in ipairs(items) do
    mix.low[i], mix.high[i], mix.step[i] = item.low, item.high, item.step
    smallest, largest = math.min(smallest, item.low), math.max(largest, item.high)
  end
  return { bytes = smallest, max = largest, mix = mix }
end

local function of_items(items)
  if #items == 0 then return nil, "a mix without sizes" end
  if #items > COUNT_MAX then
    return nil, ("a mix of %d sizes; %d is the most"):format(#items, COUNT_MAX)
  end
  local percents = {}
  for i, item in ipairs(items) do percents[i] = item.percent end
  local parts, message = shares.complete(percents)
  if not parts then return nil, message end
  return columns(items, parts)
end

--- What the option bs says.
---@param value integer|string|table
---@return { bytes: integer, max: integer, mix: table? }?  smallest and largest size; columns
---@return string? message
function sizes.parse(value)
  if type(value) == "table" then
    local items, message = items_of(value)
    if not items then return nil, message end
    return of_items(items)
  end
  local one, message = range(value)
  if not one then return nil, message end
  if one.low == one.high then return { bytes = one.low, max = one.low } end
  one.percent = false
  return of_items { one }
end

--- Every size that can come, for checks: calls fn(bytes) with the ends and steps of ranges.
function sizes.each(parsed, fn)
  if not parsed.mix then return fn(parsed.bytes) end
  for i = 1, parsed.mix.count do
    fn(parsed.mix.low[i])
    if parsed.mix.high[i] > parsed.mix.low[i] then fn(parsed.mix.step[i]) end
  end
end

return sizes
