--- CSV as RFC 4180 has it: CRLF, quotes doubled, one header line, the unit in each name.
--
-- Nothing measured is an empty field. Numbers have a decimal point in every locale and read
-- back exactly.
local number = require "iolua.report.number"

local csv = {}

-- "MB/s" in a name: MB_per_s.
local function in_name(unit)
  return (unit:gsub("/", "_per_"):gsub("%%", "percent"):gsub("[^%w_]", ""))
end

--- A column's name: its key, with its unit unless the key says it already.
---@param column { key: string, unit?: string }
---@return string
function csv.name(column)
  local unit = column.unit and in_name(column.unit) or ""
  if unit == "" or column.key == unit or column.key:sub(-#unit - 1) == "_" .. unit then
    return column.key
  end
  return column.key .. "_" .. unit
end

local function field(value)
  if value == nil then return "" end
  if type(value) == "number" then return number.text(value) or "" end
  local text = tostring(value)
  if text == "" or text:find('[",\r\n]') or text:find("^%s") or text:find("%s$") then
    return '"' .. text:gsub('"', '""') .. '"'
  end
  return text
end

local function line(fields) return table.concat(fields, ",") .. "\r\n" end

--- The rows as CSV with a header.
---@param columns { key: string, unit?: string }[]
---@param rows table[]  each row a table by key
---@return string
function csv.encode(columns, rows)
  local lines, names = {}, {}
  for i, column in ipairs(columns) do names[i] = field(csv.name(column)) end
  lines[1] = line(names)
  for _, row in ipairs(rows) do
    local fields = {}
    for i, column in ipairs(columns) do fields[i] = field(row[column.key]) end
    lines[#lines + 1] = line(fields)
  end
  return table.concat(lines)
end

-- The field that begins at `at`: text, where it ends (the separator or past the end),
-- whether it was quoted.
local function read_field(text, at)
  if text:byte(at) ~= 34 then
    local stop = text:find("[,\r\n]", at) or #text + 1
    return text:sub(at, stop - 1), stop, false
  end
  local from = at + 1
  while true do
    local quote = text:find('"', from, true)
    if not quote then return nil, at end
    if text:byte(quote + 1) ~= 34 then
      return text:sub(at + 1, quote - 1):gsub('""', '"'), quote + 1, true
    end
    from = quote + 2
  end
end

--- The records of a CSV text as arrays of strings. An empty field is "".
---@param text string
---@return string[][]? records
---@return string? message
function csv.decode(text)
  local records, record, at = {}, {}, 1
  while at <= #text do
    local value, stop = read_field(text, at)
    if not value then return nil, ("csv: the quote at byte %d has no end"):format(stop) end
    record[#record + 1] = value
    local separator = text:sub(stop, stop)
    if separator == "," then
      at = stop + 1
      if at > #text then record[#record + 1] = "" end
    elseif separator == "" or separator == "\r" or separator == "\n" then
      at = text:sub(stop, stop + 1) == "\r\n" and stop + 2 or stop + 1
      records[#records + 1], record = record, {}
    else
      return nil, ("csv: byte %d follows a quoted field"):format(stop)
    end
  end
  if #record > 0 then records[#records + 1] = record end
  return records
end

-- Decimal numbers only: tonumber alone would take "0x10" and "nan" of some locales.
local function from_text(text)
  if text == "" then return nil end
  if text:find("^%-?%d+$") or text:find("^%-?%d+%.?%d*[eE]?[+-]?%d*$") then
    return tonumber(text) or text
  end
  return text
end

--- The rows of a CSV text with a header: tables by column name, numbers as numbers, empty
--- fields absent.
---@param text string
---@return table[]? rows
---@return string[]|string names  the columns in order, or what is wrong
function csv.rows(text)
  local records, message = csv.decode(text)
  if not records then return nil, message end
  local names, rows = records[1] or {}, {}
  for i = 2, #records do
    local row = {}
    for j, name in ipairs(names) do row[name] = from_text(records[i][j] or "") end
    rows[i - 1] = row
  end
  return rows, names
end

return csv
