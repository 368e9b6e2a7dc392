--- Values as text for a person: tables with sorted keys, indented when they are long.
--
-- Used by the prompt and for error objects. Never fails: a __tostring that raises is shown as
-- its type. Depth, width and number of entries are bounded.
local show = {}

local WIDTH, DEPTH, ENTRIES = 78, 6, 200

local function key_order(a, b)
  local ta, tb = type(a), type(b)
  if ta ~= tb then return ta < tb end
  if ta == "number" or ta == "string" then return a < b end
  return tostring(a) < tostring(b)
end

local function key_text(key, render)
  if type(key) == "string" and key:find("^[%a_][%w_]*$") then return key end
  return "[" .. render(key) .. "]"
end

local function scalar(value)
  if type(value) == "string" then
    return (("%q"):format(value):gsub("\\\n", "\\n"):gsub("\\9", "\\t"))
  end
  local ok, text = pcall(tostring, value)
  return ok and text or type(value)
end

local function is_plain(value)
  local meta = debug.getmetatable(value)
  return type(value) == "table"
    and not (type(meta) == "table" and rawget(meta, "__tostring"))
end

-- The entries of a table as texts: the list part first, then its other keys in order.
local function entries(t, render)
  local out, n = {}, rawlen(t)
  for i = 1, math.min(n, ENTRIES) do out[i] = render(rawget(t, i)) end
  local keys = {}
  for key in next, t do
    if not (math.type(key) == "integer" and key >= 1 and key <= n) then keys[#keys + 1] = key end
  end
  pcall(table.sort, keys, key_order)
  for i = 1, math.min(#keys, ENTRIES) do
    out[#out + 1] = key_text(keys[i], render) .. " = " .. render(rawget(t, keys[i]))
  end
  if n > ENTRIES or #keys > ENTRIES then out[#out + 1] = "..." end
  return out
end

local function render_table(t, indent, depth, seen)
  if seen[t] then return "<circular>" end
  if depth == 0 then return "{...}" end
  seen[t] = true
  local function render(value)
    if not is_plain(value) then return scalar(value) end
    return render_table(value, indent .. "  ", depth - 1, seen)
  end
  local list = entries(t, render)
  seen[t] = nil
  if #list == 0 then return "{}" end
  local line = "{ " .. table.concat(list, ", ") .. " }"
  if #indent + #line <= WIDTH and not line:find("\n") then return line end
  return "{\n" .. indent .. "  " .. table.concat(list, ",\n" .. indent .. "  ") ..
    "\n" .. indent .. "}"
end

--- The text of one value.
---@param value any
---@return string
function show.text(value)
  if not is_plain(value) then return scalar(value) end
  return render_table(value, "", DEPTH, {})
end

return setmetatable(show, { __call = function(_, value) return show.text(value) end })
