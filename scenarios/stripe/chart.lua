-- The chart of 2005: MB/s against segments per volume, a line for each transfer size, with
-- intervals, and the ceiling beside it.
local stats = require "iolua.stats"

local chart = {}

--- From tables by width: rates[segment][width] = list of MB/s, ceiling[width] = list.
---@param segments string[]
---@param widths integer[]
---@return table chart  of iolua.report.chart
function chart.of(title, segments, widths, rates, ceiling)
  local c = { title = title, x = { label = "Segments per volume", min = 0.5,
    max = widths[#widths] + 0.5 }, y = { label = "MBytes per second", min = 0 },
    legend = { x = 0.22, y = 0.8 }, series = {} }
  for _, segment in ipairs(segments) do
    local points = {}
    for _, width in ipairs(widths) do
      local s = stats.summary(rates[segment] and rates[segment][width] or {})
      if s.mean then points[#points + 1] = { x = width, y = s.mean, error = s.half_width } end
    end
    c.series[#c.series + 1] = { name = ("%s / segment"):format(segment), points = points }
  end
  local line = {}
  for _, width in ipairs(widths) do
    local s = stats.summary(ceiling and ceiling[width] or {})
    if s.mean then line[#line + 1] = { x = width, y = s.mean } end
  end
  if #line > 0 then
    c.series[#c.series + 1] = { name = "members at once", line = true, points = line }
  end
  return require("iolua.report.chart").bounded(c)
end

--- PATH.agr, PATH.gp, PATH.dat, and PATH.svg and PATH.png where gnuplot is installed.
---@return string[]? written
---@return string? message
function chart.write(c, path)
  local written, message = require("iolua.report.plot").files(c, path)
  if not written then return nil, message end
  local drawn = {}
  for _, name in ipairs(written) do drawn[name] = true end
  if drawn[path .. ".svg"] then return written end
  local file, why = io.open(path .. ".svg", "w")        -- drawn by ourselves then
  if not file then return nil, why end
  file:write(require("iolua.report.svg").draw(c))
  file:close()
  written[#written + 1] = path .. ".svg"
  return written
end

return chart
