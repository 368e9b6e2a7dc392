--- What a picture shows, whoever draws it: axes and series of points with intervals.
--
-- A chart is { title, x = { label, min, max, names? }, y = { label, min, max }, legend = { x,
-- y }?,
-- series = { { name, points = { { x, y, error? } }, line? } } }; names are the categories at
-- x = 1, 2, 3 ... where x is no number. error is a half-width. line: a model, drawn without marks.
local units = require "iolua.units"
local stats = require "iolua.stats"

local chart = {}

-- What is beyond this is no place on an axis: a difference of two would be no number.
local LARGEST = 1e300

local function level_text(level)
  return type(level) == "table" and level.name and tostring(level.name) or tostring(level)
end

-- A level as a number: itself, or a size such as "16k"; nil for words.
local function number_of(level)
  local text = level_text(level)
  local number = math.type(level) and level or tonumber(text)
    or text:find("^%d") and units.bytes(text) or nil
  return number and math.abs(number) < LARGEST and number or nil
end

local function distinct(result, factor)
  local list, seen = {}, {}
  for _, case in ipairs(result.cases) do
    local text = level_text(case[factor])
    if not seen[text] then
      seen[text] = true
      list[#list + 1] = { text = text, level = case[factor] }
    end
  end
  return list
end

-- x positions by level text, and the names of categories where they are no numbers.
local function positions(result, factor)
  local at, names, numeric = {}, {}, true
  local levels = distinct(result, factor)
  for _, level in ipairs(levels) do numeric = numeric and number_of(level.level) ~= nil end
  for i, level in ipairs(levels) do
    at[level.text] = numeric and number_of(level.level) or i
    names[i] = level.text
  end
  return at, not numeric and names or nil
end

local function point_of(result, cases, x, metric)
  local values = {}
  for _, case in ipairs(cases) do
    for _, value in ipairs(result:values(case, metric)) do values[#values + 1] = value end
  end
  local s = stats.summary(values)
  if not s.mean or math.abs(s.mean) > LARGEST or (s.half_width or 0) > LARGEST then return nil end
  return { x = x, y = s.mean, error = s.half_width }
end

local function cases_with(result, x, x_text, by, by_text)
  local list = {}
  for i, case in ipairs(result.cases) do
    if level_text(case[x]) == x_text and (not by or level_text(case[by]) == by_text) then
      list[#list + 1] = i
    end
  end
  return list
end

-- A bound a little outside, on a round number.
local function round_bound(value, up)
  if value == 0 then return 0 end
  local step = 10 ^ math.floor(math.log(math.abs(value), 10)) / 2
  return (up and math.ceil(value / step + 0.05) or math.floor(value / step - 0.05)) * step
end

-- Lowest and highest y: 0, all points, and their intervals as far as half the height of the points.
-- One point of two runs has an interval that would leave no height for the others.
local function y_extent(c)
  local low, high, low_bar, high_bar = 0.0, 0.0, 0.0, 0.0
  for _, series in ipairs(c.series) do
    for _, p in ipairs(series.points) do
      low, high = math.min(low, p.y), math.max(high, p.y)
      low_bar = math.min(low_bar, p.y - (p.error or 0))
      high_bar = math.max(high_bar, p.y + (p.error or 0))
    end
  end
  local reach = (high - low) / 2
  return math.max(low_bar, low - reach), math.min(high_bar, high + reach)
end

--- Bounds for a chart that has none: y from 0, x half a step outside. An interval may go over the
--- edge.
---@param c table
---@return table c
function chart.bounded(c)
  local low_x, high_x = math.huge, -math.huge
  local low_y, high_y = y_extent(c)
  for _, series in ipairs(c.series) do
    for _, p in ipairs(series.points) do
      low_x, high_x = math.min(low_x, p.x), math.max(high_x, p.x)
    end
  end
  if low_x > high_x then low_x, high_x = 0, 1 end
  local margin = c.x.names and 0.5 or high_x > low_x and (high_x - low_x) / 20 or 0.5
  c.x.min, c.x.max = c.x.min or low_x - margin, c.x.max or high_x + margin
  c.y.min = c.y.min or (low_y < 0 and round_bound(low_y, false) or 0)
  c.y.max = c.y.max or (high_y > 0 and round_bound(high_y, true) or 1)
  if c.y.max <= c.y.min then c.y.max = c.y.min + 1 end
  return c
end

local function check(result, options, level)
  local nearest = require "iolua.nearest"
  for _, key in ipairs { "x", "series" } do
    local found = options[key] == nil
    for _, name in ipairs(result.factors) do found = found or name == options[key] end
    if not found then
      error(("plot: no factor %q%s"):format(tostring(options[key]),
        nearest.hint(options[key], result.factors)), level + 1)
    end
  end
end

--- The chart of a result: one metric against one factor, a line for each level of another.
---@param result iolua.result
---@param options? { x: string, y: string, series: string, title: string }  default: the first
---  factor, the first metric, the second factor
---@param fault? integer  whose fault a wrong name is, as in error(): 1 the caller (default)
---@return table chart
function chart.of(result, options, fault)
  local o = options or {}
  check(result, o, (fault or 1) + 1)
  local x = o.x or result.factors[1]
  local by = o.series
  if by == nil and not o.x and result.factors[2] then by = result.factors[2] end
  local metric = o.y or result:metrics()[1] or "value"
  local at, names = positions(result, x)
  local c = { title = o.title or result.name, x = { label = x, names = names },
              y = { label = (metric:gsub("_per_", "/")) }, series = {} }
  for i, group in ipairs(by and distinct(result, by) or { { text = metric } }) do
    local points = {}
    for _, level in ipairs(distinct(result, x)) do
      points[#points + 1] = point_of(result, cases_with(result, x, level.text, by, group.text),
        at[level.text], metric)
    end
    table.sort(points, function(a, b) return a.x < b.x end)
    c.series[i] = { name = by and ("%s=%s"):format(by, group.text) or metric, points = points }
  end
  if o.model then c.series[#c.series + 1] = { name = "model", line = true, points = o.model } end
  return chart.bounded(c)
end

--- Round places for the marks of an axis.
---@param low number
---@param high number
---@param wanted? integer  about how many
---@return number[] ticks
function chart.ticks(low, high, wanted)
  local rough = (high - low) / (wanted or 5)
  if not (rough > 0 and rough < math.huge) then return {} end
  local power = 10 ^ math.floor(math.log(rough, 10))
  local step = power * 10
  for _, factor in ipairs { 1, 2, 5 } do
    if power * factor >= rough * 0.999 then
      step = power * factor
      break
    end
  end
  local ticks, first = {}, math.ceil(low / step - 1e-9)
  for i = first, math.floor(high / step + 1e-9) do ticks[#ticks + 1] = i * step end
  return ticks
end

return chart
