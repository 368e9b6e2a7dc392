--- Charts as Grace projects (.agr), written and read: XYDY sets where there are intervals.
local chart = require "iolua.report.chart"
local escape = require "iolua.report.escape"
local number = require "iolua.report.number"

local grace = {}

local function num(value)
  local text = number.text(value)
  return (text:gsub("%.0$", ""))
end

local function has_errors(series)
  for _, p in ipairs(series.points) do
    if p.error then return true end
  end
  return false
end

local function set_lines(add, i, series)
  local id, colour = i - 1, (i - 1) % 15 + 1
  add("@    s%d hidden false", id)
  add("@    s%d type %s", id, has_errors(series) and "xydy" or "xy")
  add("@    s%d symbol %d", id, series.line and 0 or (i - 1) % 10 + 1)
  add("@    s%d symbol size 0.700000", id)
  add("@    s%d symbol color %d", id, colour)
  add("@    s%d line type 1", id)
  add("@    s%d line linestyle %d", id, series.line and 3 or 1)
  add("@    s%d line color %d", id, colour)
  if has_errors(series) then
    add("@    s%d errorbar on", id)
    add("@    s%d errorbar place both", id)
    add("@    s%d errorbar color %d", id, colour)
  end
  add("@    s%d legend %s", id, escape.grace(series.name))
end

local function data_lines(add, i, series)
  local errors = has_errors(series)
  add("@target G0.S%d", i - 1)
  add("@type %s", errors and "xydy" or "xy")
  for _, p in ipairs(series.points) do
    -- One run has no interval: a bar of no height.
    if errors then add("%s %s %s", num(p.x), num(p.y), num(p.error or 0))
    else add("%s %s", num(p.x), num(p.y)) end
  end
  add("&")
end

local function axis_lines(add, name, axis)
  add("@    %saxis label %s", name, escape.grace(axis.label or ""))
  if axis.names then
    add("@    %saxis tick major 1", name)
    add("@    %saxis tick spec type both", name)
    add("@    %saxis tick spec %d", name, #axis.names)
    for i, text in ipairs(axis.names) do
      add("@    %saxis tick major %d, %d", name, i - 1, i)
      add("@    %saxis ticklabel %d, %s", name, i - 1, escape.grace(text))
    end
  elseif axis.max > axis.min then
    local ticks = chart.ticks(axis.min, axis.max, name == "x" and 10 or 5)
    if #ticks > 1 then add("@    %saxis tick major %s", name, num(ticks[2] - ticks[1])) end
  end
end

--- A chart as a project.
---@param c table  of chart; legend = { x, y } in view coordinates
---@return string
function grace.encode(c)
  c = chart.bounded(c)
  local lines = {}
  local function add(text, ...) lines[#lines + 1] = text:format(...) end
  local legend = c.legend or { x = 0.22, y = 0.8 }
  add("# Grace project file")
  add("#")
  add("@version 50122")
  add("@g0 on")
  add("@with g0")
  add("@    world %s, %s, %s, %s", num(c.x.min), num(c.y.min), num(c.x.max), num(c.y.max))
  add("@    view 0.15, 0.15, 1.15, 0.85")
  add("@    title %s", escape.grace(c.title or ""))
  axis_lines(add, "x", c.x)
  axis_lines(add, "y", c.y)
  add("@    legend on")
  add("@    legend loctype view")
  add("@    legend %s, %s", num(legend.x), num(legend.y))
  for i, series in ipairs(c.series) do set_lines(add, i, series) end
  for i, series in ipairs(c.series) do data_lines(add, i, series) end
  return table.concat(lines, "\n") .. "\n"
end

-- A quoted string of Grace as UTF-8 text.
local function unquoted(text)
  local inner = text:match('^%s*"(.*)"%s*$')
  if not inner then return nil end
  inner = inner:gsub('\\([\\"])', "%1")
  return (inner:gsub("[\x80-\xff]", function(c) return utf8.char(c:byte()) end))
end

local function numbers(text)
  local list = {}
  for word in text:gmatch("[^%s,]+") do list[#list + 1] = tonumber(word) end
  return list
end

-- What an @ line says about the chart.
local function setting(c, line)
  local id, what = line:match("^@%s*s(%d+)%s+(.*)$")
  if id then
    local series = c.sets[tonumber(id)] or { points = {} }
    c.sets[tonumber(id)] = series
    series.name = unquoted(what:match("^legend%s+(\".*)$") or "") or series.name
    series.symbol = tonumber(what:match("^symbol%s+(%d+)$")) or series.symbol
    series.colour = tonumber(what:match("^symbol%s+color%s+(%d+)$")) or series.colour
    series.kind = what:match("^type%s+(%l+)$") or series.kind
    return
  end
  local world = line:match("^@%s*world%s+(%-?[%d.].*)$")
  if world then c.x.min, c.y.min, c.x.max, c.y.max = table.unpack(numbers(world)) end
  c.title = unquoted(line:match("^@%s*title%s+(\".*)$") or "") or c.title
  local axis, label = line:match("^@%s*([xy])axis%s+label%s+(\".*)$")
  if axis then c[axis].label = unquoted(label) end
  local place = line:match("^@%s*legend%s+(%-?[%d.]+%s*,.*)$")
  if place then
    local at = numbers(place)
    c.legend = { x = at[1], y = at[2] }
  end
end

--- A project read back as a chart. Sets come in their order, each with symbol, colour and
--- kind ("xy", "xydy") beside what chart has.
---@param text string
---@return table? chart
---@return string? message
function grace.decode(text)
  if not text:find("^#%s*Grace") and not text:find("@version", 1, true) then
    return nil, "grace: this is no Grace project"
  end
  local c, target = { x = {}, y = {}, sets = {}, series = {} }, nil
  for line in text:gmatch("[^\r\n]+") do
    local set = line:match("^@target%s+[Gg]%d+%.[Ss](%d+)")
    if set then
      target = c.sets[tonumber(set)] or { points = {} }
      c.sets[tonumber(set)] = target
    elseif line:find("^@type") then
      if target then target.kind = line:match("^@type%s+(%l+)") end
    elseif line:find("^@") then setting(c, line)
    elseif line:find("^&") then target = nil
    elseif target and not line:find("^#") then
      local values = numbers(line)
      target.points[#target.points + 1] = { x = values[1], y = values[2],
        error = target.kind == "xydy" and values[3] or nil }
    end
  end
  local ids = {}
  for id in pairs(c.sets) do ids[#ids + 1] = id end
  table.sort(ids)
  for i, id in ipairs(ids) do c.series[i] = c.sets[id] end
  c.sets = nil
  return c
end

return grace
