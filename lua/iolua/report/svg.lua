--- A chart as SVG, drawn here: for the HTML page, which needs nothing else.
local chart = require "iolua.report.chart"
local escape = require "iolua.report.escape"

local svg = {}

local WIDTH, HEIGHT = 720, 420
local LEFT, RIGHT, TOP, BOTTOM = 80, 20, 40, 60
local COLOURS = { "#1f4e9c", "#c0392b", "#1e8449", "#b9770e", "#6c3483", "#117a8b", "#7b241c",
                  "#566573" }

local function num(value) return (("%.1f"):format(value):gsub(",", ".")) end

local function label_of(value)
  local text = ("%.6g"):format(value):gsub(",", ".")
  return text
end

local Drawing = {}
Drawing.__index = Drawing

function Drawing:add(text, ...) self[#self + 1] = text:format(...) end

function Drawing:x(value)
  local c = self.chart.x
  return LEFT + (value - c.min) / (c.max - c.min) * (WIDTH - LEFT - RIGHT)
end

function Drawing:y(value)
  local c = self.chart.y
  return HEIGHT - BOTTOM - (value - c.min) / (c.max - c.min) * (HEIGHT - TOP - BOTTOM)
end

function Drawing:line(x1, y1, x2, y2, style)
  self:add('<line x1="%s" y1="%s" x2="%s" y2="%s" %s/>', num(x1), num(y1), num(x2), num(y2), style)
end

function Drawing:text(x, y, anchor, text, more)
  self:add('<text x="%s" y="%s" text-anchor="%s"%s>%s</text>', num(x), num(y), anchor, more or "",
    escape.xml(text))
end

local function axes(d)
  local c = d.chart
  d:add('<rect x="%d" y="%d" width="%d" height="%d" fill="none" stroke="#444"/>', LEFT, TOP,
    WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM)
  for _, value in ipairs(chart.ticks(c.y.min, c.y.max)) do
    d:line(LEFT, d:y(value), WIDTH - RIGHT, d:y(value), 'stroke="#ddd"')
    d:text(LEFT - 6, d:y(value) + 4, "end", label_of(value))
  end
  if c.x.names then
    for i, name in ipairs(c.x.names) do
      d:text(d:x(i), HEIGHT - BOTTOM + 18, "middle", #name > 14 and name:sub(1, 13) .. "..."
        or name)
    end
  else
    for _, value in ipairs(chart.ticks(c.x.min, c.x.max, 8)) do
      d:line(d:x(value), HEIGHT - BOTTOM, d:x(value), HEIGHT - BOTTOM + 5, 'stroke="#444"')
      d:text(d:x(value), HEIGHT - BOTTOM + 18, "middle", label_of(value))
    end
  end
  d:text(WIDTH / 2, 22, "middle", c.title, ' font-size="15"')
  d:text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 16, "middle", c.x.label)
  d:text(18, (TOP + HEIGHT - BOTTOM) / 2, "middle", c.y.label,
    (' transform="rotate(-90 18 %s)"'):format(num((TOP + HEIGHT - BOTTOM) / 2)))
end

-- A bar that goes over the edge has no end there.
local function interval(d, p, colour)
  local c, stroke, x = d.chart.y, ('stroke="%s"'):format(colour), d:x(p.x)
  local low, high = p.y - p.error, p.y + p.error
  d:line(x, d:y(math.max(low, c.min)), x, d:y(math.min(high, c.max)), stroke)
  if low >= c.min then d:line(x - 4, d:y(low), x + 4, d:y(low), stroke) end
  if high <= c.max then d:line(x - 4, d:y(high), x + 4, d:y(high), stroke) end
end

local function one_series(d, series, colour)
  local path = {}
  for i, p in ipairs(series.points) do
    path[i] = ("%s,%s"):format(num(d:x(p.x)), num(d:y(p.y)))
  end
  -- Between categories there is nothing, so nothing is drawn.
  if #path > 1 and not (d.chart.x.names and not series.line) then
    d:add('<polyline points="%s" fill="none" stroke="%s"%s/>', table.concat(path, " "), colour,
      series.line and ' stroke-dasharray="6 4"' or "")
  end
  if series.line then return end
  for _, p in ipairs(series.points) do
    local x = d:x(p.x)
    if p.error then interval(d, p, colour) end
    d:add('<circle cx="%s" cy="%s" r="3.5" fill="%s"/>', num(x), num(d:y(p.y)), colour)
  end
end

local function legend(d)
  if #d.chart.series < 2 then return end
  for i, series in ipairs(d.chart.series) do
    local y = TOP + 6 + 17 * i
    d:add('<rect x="%d" y="%d" width="12" height="4" fill="%s"/>', LEFT + 14, y - 6,
      COLOURS[(i - 1) % #COLOURS + 1])
    d:text(LEFT + 32, y, "start", series.name)
  end
end

--- The chart as an <svg> element.
---@param c table  of chart
---@return string
function svg.draw(c)
  local d = setmetatable({ chart = chart.bounded(c) }, Drawing)
  d:add('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" '
    .. 'font-family="sans-serif" font-size="12" role="img">', WIDTH, HEIGHT, WIDTH, HEIGHT)
  d:add('<title>%s</title>', escape.xml(c.title))
  d:add('<rect width="%d" height="%d" fill="#fff"/>', WIDTH, HEIGHT)
  axes(d)
  for i, series in ipairs(c.series) do one_series(d, series, COLOURS[(i - 1) % #COLOURS + 1]) end
  legend(d)
  d:add('</svg>')
  return table.concat(d, "\n") .. "\n"
end

return svg
