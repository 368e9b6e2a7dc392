--- What spew prints: one transfer a line, or the totals of -v. -u chooses the unit.
local text = require "iolua.program.text"

local spew = {}

local UNIT = { ["KiB/s"] = 2^10, ["MiB/s"] = 2^20, ["GiB/s"] = 2^30, ["TiB/s"] = 2^40,
               ["kB/s"] = 1e3, ["KB/s"] = 1e3, ["MB/s"] = 1e6, ["GB/s"] = 1e9, ["TB/s"] = 1e12 }
local WAY = { WTR = "write", RTR = "read", Write = "write", Read = "read" }

local function seconds(clock)
  local h, m, s = clock:match("^(%d+):(%d+):(%d+)$")
  return h and h * 3600 + m * 60 + s
end

-- `WTR:  384962.41 KiB/s   Transfer time: 00:00:00    IOPS:   769924.81`: way, entry. Old
-- versions said `Write transfer rate:`, without IOPS.
local function transfer(line)
  local way, rate, unit, clock, iops = line:match(
    "^([WR]TR):%s+([%d.]+) (%S+)%s+Transfer time: (%S+)%s+IOPS:%s+([%d.]+)$")
  if not way then
    way, rate, unit, clock = line:match(
      "^(%a+) transfer rate:%s+([%d.]+) (%S+)%s+Transfer time: (%S+)%s*$")
  end
  rate = text.number(rate)
  if not rate or not WAY[way] or not UNIT[unit] or not seconds(clock) then return nil end
  return WAY[way], { bytes_per_s = rate * UNIT[unit], iops = text.number(iops),
    whole_seconds = seconds(clock) }
end

-- `Total write transfer rate (WTR):   458165.54 KiB/s` and its neighbours into totals.
local function total(line, totals)
  local way, what, value, unit = line:match("^Total (%a+) (.-):%s+(%S+)%s*(%S*)$")
  if way ~= "write" and way ~= "read" then
    return line:find("^Total iterations:%s+%d+$") or line:find("^Total runtime:%s+[%d:]+$")
  end
  local entry = totals[way] or {}
  totals[way] = entry
  if what:find("^transfer rate") and UNIT[unit] and text.number(value) then
    entry.bytes_per_s = tonumber(value) * UNIT[unit]
  elseif what:find("^transfer time") then entry.whole_seconds = seconds(value)
  elseif what == "IOPS" then entry.iops = tonumber(value)
  else return false end
  return true
end

-- Lines that are no result: progress, blank, counts of iterations, messages.
local function chatter(line)
  return not (line:find("^[WR]TR:") or line:find("^Total ") or line:find("transfer rate:", 1, true))
end

--- Every transfer in order, and the totals that -v prints.
---@param output string
---@return table? result  transfers: a list of { way, bytes_per_s, iops, whole_seconds }; write,
---  read: the last of each, or the totals; errors: lines that tell of damaged data
---@return string? message
function spew.read(output)
  local r, totals, lines = { transfers = {}, errors = 0 }, {}, text.lines(output)
  for i, line in ipairs(lines) do
    local way, entry = transfer(line)
    if line:find("^Data integrity error") then r.errors = r.errors + 1 end
    if way then
      entry.way = way
      r.transfers[#r.transfers + 1], r[way] = entry, entry
    elseif not chatter(line) and not total(line, totals) then
      return text.refuse("spew", i, line)
    end
  end
  if #r.transfers == 0 then return text.refuse("spew", #lines, nil, "no transfer rate") end
  r.write, r.read = totals.write or r.write, totals.read or r.read
  return r
end

return spew
