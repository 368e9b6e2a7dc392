--- What hdparm -t and -T print. Their MB is 2^20 bytes, their kB 2^10.
local text = require "iolua.program.text"

local hdparm = {}

local KINDS = { ["cached reads"] = "cached", ["buffered disk reads"] = "disk",
                ["disk reads"] = "disk" }
local UNIT = { MB = text.MIB, kB = text.KIB }

-- One line of a timing: kind, entry; nil for one that does not fit.
local function timing(line)
  local what, amount, unit, seconds, rate, per =
    line:match("^ Timing (.-):%s+(%d+) (%a+) in%s+([%d.]+) seconds =%s*([%d.]+) (%a+)/sec$")
  if not what then return nil end
  local direct = what:find("^O_DIRECT ") ~= nil
  local offset = what:match(" %(offset (.-)%)$")
  local kind = KINDS[(what:gsub("^O_DIRECT ", ""):gsub(" %(offset .-%)$", ""))]
  amount, seconds, rate = text.count(amount), text.number(seconds), text.number(rate)
  if not (kind and amount and seconds and rate and UNIT[unit] and UNIT[per]) then return nil end
  return kind, { bytes = amount * UNIT[unit], seconds = seconds, bytes_per_s = rate * UNIT[per],
    direct = direct, offset = offset }
end

--- Timings of each device named: { ["/dev/x"] = { disk = entry, cached = entry } }; an entry is
--- bytes, seconds, bytes_per_s (as printed), direct.
---@param output string
---@return table? result
---@return string? message
function hdparm.read(output)
  local r, device, some, lines = {}, nil, false, text.lines(output)
  for i, line in ipairs(lines) do
    local name = line:match("^(/.*):$")
    if name then
      device = name
    elseif line:find("^ Timing ") then
      local kind, entry = timing(line)
      if not kind or not device then return text.refuse("hdparm", i, line) end
      r[device] = r[device] or {}
      r[device][kind] = entry
      some = true
    end
  end
  if not some then return text.refuse("hdparm", #lines, nil, "no timing") end
  return r
end

return hdparm
