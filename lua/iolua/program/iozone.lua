--- The table of iozone -a: one row a file size and record size.
--
-- Columns are cut by their width (16, 8, then 9 each), so that numbers that touch are read
-- right. KB are 1024 bytes; -O prints operations a second and -N microseconds an operation.
local text = require "iolua.program.text"

local iozone = {}

local COLUMNS = { "write", "rewrite", "read", "reread", "random_read", "random_write",
                  "backward_read", "record_rewrite", "stride_read", "fwrite", "frewrite",
                  "fread", "freread" }

-- Key and factor by the mode that iozone announced.
local function unit_of(lines)
  for _, line in ipairs(lines) do
    if line:find("OPS Mode", 1, true) then return "per_s", 1 end
    if line:find("Microseconds/op Mode", 1, true) then return "ns", 1000 end
  end
  return "bytes_per_s", 1024
end

-- The number in a cut of a line; nil for blanks; false for anything else.
local function cell(line, from, to)
  local word = line:sub(from, to):match("^%s*(.-)%s*$")
  if word == "" then return nil end
  return text.number(word) or false
end

local function row(line, key, factor)
  local size, record = cell(line, 1, 16), cell(line, 17, 24)
  if not size or not record or (#line > 24 and (#line - 24) % 9 ~= 0) then return nil end
  if not math.tointeger(size) or not math.tointeger(record) then return nil end
  local r = { file_bytes = math.tointeger(size) * 1024,
    record_bytes = math.tointeger(record) * 1024 }
  for i, name in ipairs(COLUMNS) do
    local value = cell(line, 25 + 9 * (i - 1), 24 + 9 * i)
    if value == false then return nil end
    if value then r[name] = { [key] = value * factor } end
  end
  return r
end

--- Rows of the table: file_bytes, record_bytes, and of each test { bytes_per_s } (or per_s,
--- or ns, by the mode).
---@param output string
---@return table? rows
---@return string? message
function iozone.read(output)
  local lines, rows, inside = text.lines(output), {}, false
  local key, factor = unit_of(lines)
  for i, line in ipairs(lines) do
    if line:find("^%s+[kK]B%s+reclen%s+write%s+rewrite") then
      inside = true
    elseif inside and line:find("^iozone test complete") then
      break
    elseif inside and line:find("%S") then
      local r = row(line:gsub("%s+$", ""), key, factor)
      if not r then return text.refuse("iozone", i, line) end
      rows[#rows + 1] = r
    end
  end
  if #rows == 0 then return text.refuse("iozone", #lines, nil, "no row of the table") end
  return rows
end

return iozone
