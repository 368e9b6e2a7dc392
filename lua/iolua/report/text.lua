--- Tables for a terminal: aligned columns, units in the header, one line a row.
--
-- A column is { key =, title =, unit =, format =, align =, plus_minus = } or
-- { text = "|" }, a rule between groups. format is a string.format pattern or a function of
-- value and row; plus_minus is the key of a half-width printed behind the value. Without a
-- format integers of five digits and more are grouped (12,345) and the floats of a column
-- share one number of decimals: five figures for the largest. Nothing measured is "-".
local number = require "iolua.report.number"

local text = {}

local FIGURES = 5

local function grouped(digits)
  if #digits < 5 then return digits end
  local head = #digits % 3
  local rest = digits:sub(head + 1):gsub("%d%d%d", ",%0")
  return head == 0 and rest:sub(2) or digits:sub(1, head) .. rest
end

local function integer(value)
  local text_of = ("%d"):format(value)
  local sign, digits = text_of:match("^(%-?)(%d+)$")
  return sign .. grouped(digits)
end

local function finite(value)
  return math.type(value) and value == value and math.abs(value) ~= math.huge
end

-- The finite floats of a column, half-widths too.
local function floats(column, rows)
  local found = {}
  for _, row in ipairs(rows) do
    for _, key in ipairs { column.key, column.plus_minus } do
      local value = row[key]
      if math.type(value) == "float" and finite(value) then found[#found + 1] = value end
    end
  end
  return found
end

local function has_more(value, places)
  local scaled = math.abs(value) * 10^places
  return math.abs(scaled - math.floor(scaled + 0.5)) > 1e-6
end

-- Decimals for the floats of a column: as many as give the largest five figures, fewer if
-- all of them end sooner.
local function decimals(column, rows)
  local values, largest, places = floats(column, rows), 0, 0
  for _, value in ipairs(values) do largest = math.max(largest, math.abs(value)) end
  local whole = largest > 0 and math.floor(math.log(largest, 10) + 1e-9) + 1 or 1
  local limit = math.min(12, math.max(0, FIGURES - whole))
  for _, value in ipairs(values) do
    while places < limit and has_more(value, places) do places = places + 1 end
  end
  return places
end

-- One line, whatever the text holds.
local function one_line(value)
  return (value:gsub("[%c\127]", function(c)
    local name = ({ ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t" })[c]
    return name or ("\\x%02x"):format(c:byte())
  end))
end

local function shown(value, places)
  if math.type(value) == "integer" then return integer(value) end
  if math.type(value) == "float" then
    local fixed = number.pointed(("%." .. places .. "f"):format(value))
    local sign, digits, rest = fixed:match("^(%-?)(%d+)(.*)$")
    return sign .. grouped(digits) .. rest
  end
  if type(value) == "boolean" then return value and "yes" or "no" end
  return one_line(tostring(value))
end

local function cell(column, row, places)
  if column.text then return column.text end
  local value = row[column.key]
  if value == nil or type(value) == "number" and not finite(value) then return "-" end
  local body
  if type(column.format) == "function" then body = one_line(column.format(value, row))
  elseif column.format then body = number.pointed(column.format:format(value))
  else body = shown(value, places) end
  local half = column.plus_minus and row[column.plus_minus]
  if not finite(half) then return body end
  return body .. " ± " .. (type(column.format) == "string"
    and number.pointed(column.format:format(half)) or shown(half + 0.0, places))
end

local function width(value) return utf8.len(value) or #value end

local function title(column)
  if column.text then return column.text end
  local name = one_line(column.title or column.key)
  if column.unit and column.unit ~= "" then return ("%s (%s)"):format(name, column.unit) end
  return name
end

-- Numbers stand right, words left, unless the column says.
local function aligned_right(column, rows)
  if column.align then return column.align == "right" end
  for _, row in ipairs(rows) do
    if row[column.key] ~= nil then return type(row[column.key]) == "number" end
  end
  return true
end

local function padded(value, to, right)
  local space = (" "):rep(to - width(value))
  return right and space .. value or value .. space
end

-- All cells of one column, its header first.
local function plain_cells(column, rows)
  local cells = { title(column) }
  local places = column.key and decimals(column, rows) or 0
  for i, row in ipairs(rows) do cells[i + 1] = cell(column, row, places) end
  return cells
end

--- The cells as they are shown, for other tables: a list of columns, each a list of texts with
--- `title` and whether it stands `right`.
---@param columns table[]
---@param rows table[]
---@return table[]
function text.cells(columns, rows)
  local list = {}
  for j, column in ipairs(columns) do
    local cells = plain_cells(column, rows)
    list[j] = table.move(cells, 2, #cells, 1, {})
    list[j].title, list[j].right = cells[1], aligned_right(column, rows)
  end
  return list
end

-- All cells of one column, its header first, padded to one width.
local function column_cells(column, rows)
  local cells, widest = plain_cells(column, rows), 0
  for _, value in ipairs(cells) do widest = math.max(widest, width(value)) end
  local right = not column.text and aligned_right(column, rows)
  for i, value in ipairs(cells) do cells[i] = padded(value, widest, right) end
  return cells
end

--- The rows as an aligned table with a header; every line ends with a newline.
---@param columns table[]
---@param rows table[]  each row a table by key
---@return string
function text.table(columns, rows)
  local cells, lines = {}, {}
  for i, column in ipairs(columns) do cells[i] = column_cells(column, rows) end
  for r = 1, #rows + 1 do
    local parts = {}
    for i = 1, #columns do parts[i] = cells[i][r] end
    lines[r] = table.concat(parts, "  "):gsub("%s+$", "") .. "\n"
  end
  return table.concat(lines)
end

return text
