--- What the readers of programs' output share: lines with numbers, units, refusals.
local text = {}

local KIB, MIB = 1024, 1024 * 1024
text.KIB, text.MIB = KIB, MIB

--- The lines of an output: a list, without carriage returns and what they wiped out.
---@param output string
---@return string[]
function text.lines(output)
  local list = {}
  for line in (output:gsub("\n?$", "\n", 1)):gmatch("(.-)\r?\n") do
    list[#list + 1] = line:match("[^\r]*$")
  end
  return list
end

--- nil and the sentence of a line that does not fit.
---@param program string
---@param number integer
---@param line? string
---@param why? string
function text.refuse(program, number, line, why)
  if not line then
    return nil, ("%s: its output ends at line %d%s"):format(program, number,
      why and ": " .. why or "")
  end
  return nil, ("%s: line %d of its output %s: %q"):format(program, number,
    why or "does not fit", line)
end

--- A number in text, or nil.
function text.number(s)
  return s and s:find("^%-?[%d.]+$") and tonumber(s) or nil
end

--- A whole number of 0 or more in text, below 2^53, or nil.
function text.count(s)
  local number = s and s:find("^%d+$") and tonumber(s)
  return number and number < 2^53 and math.tointeger(number) or nil
end

--- Seconds, milliseconds ... as integer ns, or nil.
function text.ns(value, unit)
  local scale = { s = 1e9, ms = 1e6, us = 1e3, ns = 1 }
  local number = text.number(value)
  return number and scale[unit] and math.tointeger(math.floor(number * scale[unit] + 0.5)) or nil
end

return text
