--- What tiotest prints, as a table or terse (-T). Its MB is 2^20 bytes.
local text = require "iolua.program.text"

local tiotest = {}

local ROWS = { ["Write"] = "write", ["Random Write"] = "random_write", ["Read"] = "read",
               ["Random Read"] = "random_read", ["Total"] = "total" }
local TERSE = { write = "write", rwrite = "random_write", read = "read", rread = "random_read" }

local function cells(line)
  local list = {}
  for cell in line:gmatch("|([^|]+)") do list[#list + 1] = cell:match("^%s*(.-)%s*$") end
  return list
end

local function with_unit(cell, unit)
  return cell and text.number(cell:match("^([%d.]+)%s*" .. unit .. "$"))
end

-- | Write         96 MBs |    0.1 s | 678.123 MB/s |  10.0 %  | 120.3 % |
local function rates(line, r)
  local c = cells(line)
  local name, amount = (c[1] or ""):match("^(.-)%s+([%d.]+) MBs$")
  local key, seconds = ROWS[name], with_unit(c[2], "s")
  local rate, user, system = with_unit(c[3], "MB/s"), with_unit(c[4], "%%"), with_unit(c[5], "%%")
  amount = text.number(amount)
  if not (key and amount and seconds and rate and user and system) then return false end
  r[key] = r[key] or {}
  local e = r[key]
  e.bytes, e.seconds = amount * text.MIB, seconds
  e.bytes_per_s = rate * text.MIB
  e.user_percent, e.system_percent = user, system
  return true
end

-- | Write        |        0.034 ms |       12.345 ms |  0.00000 |   0.00000 |
local function latencies(line, r)
  local c = cells(line)
  local key = ROWS[c[1]]
  local mean, max = with_unit(c[2], "ms"), with_unit(c[3], "ms")
  local two, ten = text.number(c[4]), text.number(c[5])
  if not (key and mean and max and two and ten) then return false end
  r[key] = r[key] or {}
  local e = r[key]
  e.mean_ns, e.max_ns = text.ns(tostring(mean), "ms"), text.ns(tostring(max), "ms")
  e.over_2s_percent, e.over_10s_percent = two, ten
  return true
end

-- write:MB,real,usr,sys,mean_ms,max_ms,%>2s,%>10s
local function terse(name, rest, r)
  local n = {}
  for field in (rest .. ","):gmatch("%s*([^,]*),") do n[#n + 1] = text.number(field) or false end
  for _, value in ipairs(n) do
    if not value then return false end
  end
  if name == "total" and #n == 4 then
    r.total = { mean_ns = n[1] * 1e6, max_ns = n[2] * 1e6, over_2s_percent = n[3],
      over_10s_percent = n[4] }
  elseif TERSE[name] and #n == 8 then
    r[TERSE[name]] = { bytes = n[1] * text.MIB, seconds = n[2],
      bytes_per_s = n[2] > 0 and n[1] * text.MIB / n[2] or nil, user_seconds = n[3],
      system_seconds = n[4], mean_ns = n[5] * 1e6, max_ns = n[6] * 1e6,
      over_2s_percent = n[7], over_10s_percent = n[8] }
  else
    return false
  end
  return true
end

--- Phases write, random_write, read and random_read, and the total of the latencies.
---@param output string
---@return table? result  of each: bytes, seconds, bytes_per_s, CPU, mean_ns, max_ns,
---  over_2s_percent, over_10s_percent
---@return string? message
function tiotest.read(output)
  local r, lines = {}, text.lines(output)
  for i, line in ipairs(lines) do
    local name, rest = line:match("^(%a+):([%d.,%s-]+)$")
    local fits = true
    if name then fits = terse(name, rest, r)
    elseif line:find("^|") and not line:find("^| Item ") and not line:find("^|%-") then
      fits = line:find("MB/s", 1, true) and rates(line, r) or latencies(line, r)
    end
    if not fits then return text.refuse("tiotest", i, line) end
  end
  if next(r) == nil then return text.refuse("tiotest", #lines, nil, "no result") end
  return r
end

return tiotest
