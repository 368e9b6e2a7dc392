--- Sizes and times as fio reads them, which is not as iolua does.
--
-- With kb_base=1024, its default, k, kb and ki are 1024 and kib is 1000; with kb_base=1000 it is the
-- other way round. A time without a unit is in seconds or us, by the option.
local units = {}

local POWER = { [""] = 0, k = 1, m = 2, g = 3, t = 4, p = 5 }
local NS = { us = 1000, usec = 1000, ms = 1000000, msec = 1000000, s = 1000000000,
             sec = 1000000000, m = 60000000000, h = 3600000000000, d = 86400000000000 }

--- Bytes in "4k", "1m", "0x1000", "100"; nil for anything else.
---@param text string
---@param kb_base? integer  1024 or 1000
---@return integer?
function units.bytes(text, kb_base)
  local low = text:lower()
  if low:find("^0x0*%x+$") and #low:gsub("^0x0*", "") < 16 then return math.tointeger(tonumber(low)) end
  local digits, prefix, binary = low:match("^(%d+%.?%d*)([kmgtp]?)(i?b?)$")
  if not digits or (binary:find("i") and prefix == "") then return nil end
  local base = ((kb_base or 1024) == 1024) == (binary ~= "ib") and 1024 or 1000
  return math.tointeger(tonumber(digits) * base ^ POWER[prefix])
end

--- ns in "10", "10s", "500ms", "2m"; without a unit it counts `default_unit`s ("s" or "us"). Nil
--- for anything else, and for more than an integer holds.
---@param text string
---@param default_unit? string
---@return integer?
function units.ns(text, default_unit)
  local digits, unit = text:lower():match("^(%d+%.?%d*)(%a*)$")
  local scale = digits and NS[unit == "" and (default_unit or "s") or unit]
  return scale and math.tointeger(math.floor(tonumber(digits) * (scale + 0.0) + 0.5))
end

--- The parts of "a,b,c".
function units.split(text, separator)
  local list = {}
  for part in (text .. separator):gmatch("([^" .. separator .. "]*)" .. separator) do
    list[#list + 1] = part
  end
  return list
end

return units
