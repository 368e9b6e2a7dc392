-- Documents with a few of their values exchanged, as bytes say: what changes to a text of JSON
-- hardly ever reach, as most of them are no JSON.
local json = require "iolua.report.json"

local tree = {}

local OTHERS = { "false", "true", "0", "-1", "1", "1.5", "1e308", "9223372036854775807",
  "-9223372036854775808", '""', '"x"', '"1"', '"4k"', '"a\\r\\nb"', "[]", "[1]", "[{}]",
  '{"x":1}', '["x","y"]', "[[[1]]]" }

-- Every place in a document: the table and the key, the same order each time.
local function places(value, list)
  local keys = {}
  for key in pairs(value) do keys[#keys + 1] = key end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  for _, key in ipairs(keys) do
    list[#list + 1] = { value, key }
    if type(value[key]) == "table" then places(value[key], list) end
  end
  return list
end

local function exchange(document, where, what)
  local list = places(document, {})
  if #list == 0 then return end
  local place = list[where % #list + 1]
  if what % 8 == 0 then place[1][place[2]] = nil
  elseif what % 8 == 1 then
    local other = list[(where * 7 + what) % #list + 1]
    place[1][place[2]] = json.decode(json.encode(other[1][other[2]]))
  else place[1][place[2]] = json.decode(OTHERS[what % #OTHERS + 1]) end
end

--- The text of a document with up to five values exchanged: three bytes each.
---@param text string
---@param bytes string
---@return string
function tree.exchanged(text, bytes)
  local document = json.decode(text)
  if type(document) ~= "table" then return text end
  for i = 1, math.min(#bytes // 3, 5) * 3, 3 do
    local high, low, what = bytes:byte(i, i + 2)
    exchange(document, high * 256 + low, what)
  end
  return json.encode(document)
end

return tree
