--- The known name nearest to a mistyped one, for messages that say what was meant.
local nearest = {}

local function normal(name)
  return (name:lower():gsub("-", "_"))
end

-- Insertions, deletions, changes and swaps of neighbours that turn a into b.
local function distance(a, b)
  local before, last = nil, {}
  for j = 0, #b do last[j] = j end
  for i = 1, #a do
    local row = { [0] = i }
    for j = 1, #b do
      local cost = a:byte(i) == b:byte(j) and 0 or 1
      row[j] = math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + cost)
      if i > 1 and j > 1 and a:byte(i) == b:byte(j - 1) and a:byte(i - 1) == b:byte(j) then
        row[j] = math.min(row[j], before[j - 2] + 1)
      end
    end
    before, last = last, row
  end
  return last[#b]
end

-- How far name is from known, or nil when nobody would mean one by the other. A start of
-- a word ("run" for "runtime") counts as one slip.
local function far(name, known)
  local a, b = normal(name), normal(known)
  local d = distance(a, b)
  if #a >= 2 and b:sub(1, #a) == a or #b >= 2 and a:sub(1, #b) == b then d = math.min(d, 1) end
  return d <= math.max(1, math.max(#a, #b) // 3) and d or nil
end

--- The name in `known` (an array) nearest to `name`, or nil when none is near.
---@param name any
---@param known string[]
---@return string?
function nearest.find(name, known)
  if type(name) ~= "string" or #name > 100 then return nil end
  local best, least
  for _, candidate in ipairs(known) do
    local d = far(name, candidate)
    if d and (not least or d < least or d == least and candidate < best) then
      best, least = candidate, d
    end
  end
  return best
end

--- The keys of a table that are strings, sorted.
---@param map table
---@return string[]
function nearest.keys(map)
  local keys = {}
  for key in pairs(map) do
    if type(key) == "string" then keys[#keys + 1] = key end
  end
  table.sort(keys)
  return keys
end

--- The end of a message about an unknown name: `; did you mean "runtime"?`, or all that
--- are known.
---@param name any
---@param known string[]
---@return string
function nearest.hint(name, known)
  local near = nearest.find(name, known)
  if near then return ("; did you mean %q?"):format(near) end
  if #known == 0 then return "; none is known" end
  return "; known: " .. table.concat(known, ", ")
end

return nearest
