--- Sizes and durations: the only place that reads or prints units.
--
-- Inside iolua a size is an integer number of bytes and a duration an integer number of
-- nanoseconds; suffixes exist only at the edges, here. Reading is exact: a text that names
-- no whole number of bytes or nanoseconds is refused, and no value passes through a float.
local number = require "iolua.report.number"

local units = {}

local DECIMAL = { k = 1000, m = 1000^2 | 0, g = 1000^3 | 0, t = 1000^4 | 0, p = 1000^5 | 0 }
local BINARY = { k = 1 << 10, m = 1 << 20, g = 1 << 30, t = 1 << 40, p = 1 << 50 }

local NS = {
  ns = 1, us = 1000, ms = 1000000, s = 1000000000, min = 60 * 1000000000,
  m = 60 * 1000000000, h = 3600 * 1000000000, d = 86400 * 1000000000,
}

-- Bytes in a suffix such as "", "k", "ki", "KiB", "kB" or "B"; nil for anything else.
-- A lower-case b is refused: it is as often bits as bytes.
local function size_factor(suffix)
  if suffix == "" or suffix == "B" then return 1 end
  local prefix, kind = suffix:match("^([kKmMgGtTpP])(i?B?)$")
  if not prefix then return nil end
  return (kind == "B" and DECIMAL or BINARY)[prefix:lower()]
end

-- The decimal fraction `digits` times factor: whole part, whether anything is left over.
-- Long multiplication, so that 50 digits are as exact as one (factor is below 2^59).
local function scaled_fraction(digits, factor)
  local carry, left = 0, false
  for i = #digits, 1, -1 do
    local v = (digits:byte(i) - 48) * factor + carry
    left = left or v % 10 ~= 0
    carry = v // 10
  end
  return carry, left
end

-- digits[.fraction] times factor: integer | nil, why ("inexact" or "large").
local function scaled(digits, fraction, factor)
  local whole = math.tointeger(tonumber(digits))
  if not whole or math.type(tonumber(digits)) ~= "integer" then return nil, "large" end
  local rest, left = scaled_fraction(fraction, factor)
  if left then return nil, "inexact" end
  if whole > (math.maxinteger - rest) // factor then return nil, "large" end
  return whole * factor + rest
end

-- A decimal number and its suffix: digits, fraction digits, suffix.
local function split(text)
  local digits, rest = text:match("^(%d+)(.*)$")
  if not digits then return nil end
  local fraction, suffix = rest:match("^%.(%d+)(.*)$")
  return digits:gsub("^0+(%d)", "%1"), fraction or "", suffix or rest
end

local SHOWN = 60        -- of a text, characters

local function shown(value)
  if type(value) ~= "string" then return tostring(value) end
  return #value > SHOWN and ("%q..."):format(value:sub(1, SHOWN)) or ("%q"):format(value)
end

local function refused(value, what, why)
  return nil, ("%s is not a %s%s"):format(shown(value), what, why and ": " .. why or "")
end

-- A number that is already in the unit inside: a whole one of 0 or more.
local function plain(value, what)
  local whole = math.tointeger(value)
  if not whole or whole < 0 then return refused(value, what) end
  return whole
end

local function hexadecimal(text)
  local digits = text:match("^0[xX]0*(%x+)$")
  if not digits then return nil end
  if #digits > 16 or #digits == 16 and digits:byte() > 55 then return nil, "large" end
  return tonumber(digits, 16)
end

--- Bytes in a size: "4k" = "4K" = "4ki" = "4KiB" = 4096, "4kB" = 4000, "1.5m", "0x1000",
--- "512", or an integer. Suffixes are k, m, g, t and p.
---@param value string|number
---@return integer? bytes
---@return string? message  why `value` is not a size
function units.bytes(value)
  if math.type(value) then return plain(value, "size") end
  if type(value) ~= "string" then return refused(value, "size") end
  local bytes, why = hexadecimal(value)
  if not bytes and not why then
    local digits, fraction, suffix = split(value)
    local factor = digits and size_factor(suffix)
    if not factor then return refused(value, "size") end
    bytes, why = scaled(digits, fraction, factor)
  end
  if bytes then return bytes end
  return refused(value, "size", why == "large" and "it is 2^63 bytes or more" or nil)
end

--- Nanoseconds in a duration: "500ms", "1.5s", "36m", "2h", "30d", "10us", "100ns", or an
--- integer number of ns. A text needs its unit.
---@param value string|number
---@return integer? ns
---@return string? message  why `value` is not a duration
function units.ns(value)
  if math.type(value) then return plain(value, "duration") end
  if type(value) ~= "string" then return refused(value, "duration") end
  local digits, fraction, suffix = split(value)
  local factor = NS[suffix]
  if digits and suffix == "" then
    return refused(value, "duration", ("it needs a unit, as in \"%ss\""):format(value))
  end
  if not digits or not factor then return refused(value, "duration") end
  local ns, why = scaled(digits, fraction, factor)
  if ns then return ns end
  return refused(value, "duration", why == "large" and "it is 2^63 ns or more" or nil)
end

--- Bytes per second in a rate such as "70MB/s", "320m" or an integer.
---@param value string|number
---@return integer? bytes_per_s
---@return string? message
function units.rate(value)
  local text = type(value) == "string" and value:match("^(.+)/s$") or value
  local rate, message = units.bytes(text)
  if rate then return rate end
  return nil, (message:gsub("^.* is not a size", function()
    return shown(value) .. " is not a rate"
  end))
end

-- x with `digits` significant figures and no trailing zeros: 12.3, 4, 0.25, 1230.
local function significant(x, digits)
  if x == 0 then return "0" end
  local magnitude = math.floor(math.log(math.abs(x), 10) + 1e-12)
  local places = math.max(0, digits - 1 - magnitude)
  local text = ("%." .. places .. "f"):format(x)
  text = number.pointed(text)
  if text:find(".", 1, true) then text = text:gsub("0+$", ""):gsub("%.$", "") end
  return text
end

-- x divided by the largest step it reaches, with that step's name. What rounds up to the
-- next step is shown in it: 999.9 kB is 1 MB.
local function stepped(x, base, names)
  local i = 1
  x = x + 0.0
  while i < #names and math.abs(x) >= base * (1 - 0.0005) do
    x = x / base
    i = i + 1
  end
  return significant(x, 3), names[i]
end

--- A size to be read by people: "4 KiB", "1.5 MiB", "3.73 GiB", "100 B". Three figures.
---@param bytes number
---@return string
function units.format_bytes(bytes)
  local text, unit = stepped(bytes, 1024, { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" })
  return text .. " " .. unit
end

--- The shortest exact text of a size, which units.bytes reads back: 4096 is "4k".
---@param bytes integer
---@return string
function units.format_size(bytes)
  for _, prefix in ipairs { "p", "t", "g", "m", "k" } do
    local factor = BINARY[prefix]
    if bytes ~= 0 and bytes % factor == 0 then return (bytes // factor) .. prefix end
  end
  return ("%d"):format(bytes)
end

-- 1000 s and more: the two largest units, rounded down. "16 min 40 s", "1 d 2 h".
local function long_duration(seconds)
  seconds = seconds // 1 | 0
  local steps = { { "d", 86400 }, { "h", 3600 }, { "min", 60 }, { "s", 1 } }
  for i = 1, #steps - 1 do
    local count = seconds // steps[i][2]
    if count > 0 then
      local rest = seconds % steps[i][2] // steps[i + 1][2]
      local tail = rest > 0 and (" %d %s"):format(rest, steps[i + 1][1]) or ""
      return ("%d %s%s"):format(count, steps[i][1], tail)
    end
  end
end

--- A duration to be read by people: "250 ns", "12.3 us", "1.5 s", "16 min 40 s".
---@param ns number
---@return string
function units.format_ns(ns)
  if ns >= 1000 * 1e9 then return long_duration(ns / 1e9) end
  local text, unit = stepped(ns, 1000, { "ns", "us", "ms", "s" })
  return text .. " " .. unit
end

--- A rate to be read by people, in steps of 1000: "70.5 MB/s".
---@param bytes_per_s number
---@return string
function units.format_rate(bytes_per_s)
  local names = { "B/s", "kB/s", "MB/s", "GB/s", "TB/s" }
  local text, unit = stepped(bytes_per_s, 1000, names)
  return text .. " " .. unit
end

--- A count in steps of 1000: "950", "12.3 k", "1.25 M".
---@param count number
---@return string
function units.format_count(count)
  local text, prefix = stepped(count, 1000, { "", "k", "M", "G", "T" })
  return prefix == "" and text or text .. " " .. prefix
end

return units
