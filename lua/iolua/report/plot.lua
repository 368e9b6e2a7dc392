--- Pictures of a result: a small one in text, and files that gnuplot draws.
local chart = require "iolua.report.chart"
local escape = require "iolua.report.escape"
local nearest = require "iolua.nearest"
local number = require "iolua.report.number"

local plot = {}

local function num(value) return number.text(value + 0.0) end

-- Every series is a block of the data file: x, y, half-width.
local function data_of(c)
  local lines = { "# x y half_width; one block a series" }
  for i, series in ipairs(c.series) do
    if i > 1 then lines[#lines + 1] = "\n" end
    lines[#lines + 1] = "# " .. escape.line(series.name)
    for _, p in ipairs(series.points) do
      lines[#lines + 1] = ("%s %s %s"):format(num(p.x), num(p.y), p.error and num(p.error)
        or "NaN")
    end
    -- gnuplot takes no empty block.
    if #series.points == 0 then lines[#lines + 1] = "NaN NaN NaN" end
  end
  return table.concat(lines, "\n") .. "\n"
end

local function has_errors(series)
  for _, p in ipairs(series.points) do
    if p.error then return true end
  end
  return false
end

local function style_of(c, series)
  if series.line then return "lines dashtype 2" end
  if c.x.names then return has_errors(series) and "yerrorbars" or "points" end
  return has_errors(series) and "yerrorlines" or "linespoints"
end

-- The script; names are relative, so that the folder can be moved.
local function script_of(c, base)
  local lines, parts = {}, {}
  local function add(text, ...) lines[#lines + 1] = text:format(...) end
  add("# gnuplot %s.gp draws %s.svg and %s.png", base, base, base)
  add("set encoding utf8")
  add("set title %s noenhanced", escape.gnuplot(c.title))
  add("set xlabel %s noenhanced", escape.gnuplot(c.x.label))
  add("set ylabel %s noenhanced", escape.gnuplot(c.y.label))
  add("set xrange [%s:%s]", num(c.x.min), num(c.x.max))
  add("set yrange [%s:%s]", num(c.y.min), num(c.y.max))
  add("set grid ytics")
  add("set key left top noenhanced")
  if c.x.names then
    local tics = {}
    for i, name in ipairs(c.x.names) do tics[i] = ("%s %d"):format(escape.gnuplot(name), i) end
    add("set xtics noenhanced (%s)", table.concat(tics, ", "))
  end
  for i, series in ipairs(c.series) do
    parts[i] = ("%s index %d using 1:2%s with %s title %s"):format(escape.gnuplot(base .. ".dat"),
      i - 1, has_errors(series) and not series.line and ":3" or "", style_of(c, series),
      escape.gnuplot(series.name))
  end
  for _, kind in ipairs { { "svg", "svg noenhanced size 720,420" },
                          { "png", "pngcairo noenhanced size 1080,630" } } do
    add("set terminal %s", kind[2])
    add("set output %s", escape.gnuplot(base .. "." .. kind[1]))
    add("plot %s", table.concat(parts, ", \\\n     "))
  end
  add("set output")
  return table.concat(lines, "\n") .. "\n"
end

local function quoted(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

--- Write PATH.gp and PATH.dat, and PATH.svg and PATH.png with gnuplot where it is installed.
---@param c table  chart
---@param path string  without an ending
---@return string[]? written  paths
---@return string? message
function plot.files(c, path)
  local store = require "iolua.store"
  c = chart.bounded(c)
  local folder, base = path:match("^(.*/)([^/]+)$")
  folder, base = folder or "./", base or path
  local written = {}
  for _, part in ipairs { { ".dat", data_of(c) }, { ".gp", script_of(c, base) },
                          { ".agr", require("iolua.report.grace").encode(c) } } do
    local ok, message = store.write_file(path .. part[1], part[2])
    if not ok then return nil, message end
    written[#written + 1] = path .. part[1]
  end
  local ok = os.execute(("cd %s && gnuplot %s 2>/dev/null"):format(quoted(folder),
    quoted("./" .. base .. ".gp")))
  if ok then
    written[#written + 1] = path .. ".svg"
    written[#written + 1] = path .. ".png"
  end
  return written, not ok and "gnuplot did not draw: is gnuplot-nox installed?" or nil
end

local WIDTH = 40

-- One line a case: its interval and mean on a common scale.
local function bar(row, metric, low, high)
  local mean, half = row[metric], row[metric .. "_half_width"] or 0
  if not mean then return "" end
  local function at(value)
    local share = high > low and (value - low) / (high - low) or 0.5
    return math.max(1, math.min(WIDTH, 1 + math.floor(share * (WIDTH - 1) + 0.5)))
  end
  local cells = {}
  for i = 1, WIDTH do cells[i] = " " end
  for i = at(mean - half), at(mean + half) do cells[i] = "-" end
  cells[at(mean)] = "o"
  return table.concat(cells)
end

--- A small plot in text: mean and 95 % interval of each case.
---@param result iolua.result
---@param metric? string
---@return string
function plot.text(result, metric)
  metric = metric or result:metrics()[1]
  if not metric then return "" end            -- no run has given any
  local rows = result:summary()
  local low, high, widest = math.huge, -math.huge, 0
  for _, row in ipairs(rows) do
    local mean, half = row[metric], row[metric .. "_half_width"] or 0
    if mean then low, high = math.min(low, mean - half), math.max(high, mean + half) end
    row.shown = escape.line(row.case_label)
    widest = math.max(widest, utf8.len(row.shown))
  end
  if low > high then return "" end
  local lines = {}
  for _, row in ipairs(rows) do
    local space = (" "):rep(widest - utf8.len(row.shown))
    lines[#lines + 1] = ("%s%s |%s|"):format(row.shown, space, bar(row, metric, low, high))
  end
  local left, right = number.pointed(("%.5g"):format(low)), number.pointed(("%.5g"):format(high))
  lines[#lines + 1] = ("%s  %s%s%s  %s"):format((" "):rep(widest), left,
    (" "):rep(math.max(1, WIDTH - #left - #right)), right, escape.line(metric))
  return (table.concat(lines, "\n"):gsub(" +\n", "\n")) .. "\n"
end

local function known(name, names)
  for _, each in ipairs(names) do
    if each == name then return true end
  end
  return false
end

local KEYS = { "x", "y", "series", "title", "file" }

-- Keys that plot knows, and names that the result has: else a typing error draws something.
local function check(result, o)
  for key in pairs(o) do
    if not known(key, KEYS) then
      error(("plot: unknown option %s%s"):format(tostring(key), nearest.hint(key, KEYS)), 3)
    end
  end
  local metrics = result:metrics()
  if o.y ~= nil and #metrics > 0 and not known(o.y, metrics) then
    error(("plot: no metric %q%s"):format(tostring(o.y), nearest.hint(o.y, metrics)), 3)
  end
  for _, key in ipairs { "x", "series" } do
    if o[key] ~= nil and not known(o[key], result.factors) then
      error(("plot: no factor %q%s"):format(tostring(o[key]),
        nearest.hint(o[key], result.factors)), 3)
    end
  end
end

--- result:plot { x =, y =, series =, title =, file = }: files where a path is given, else a
--- small plot on standard output. Returns the result, or nil and a message.
---@param result iolua.result
---@param options? table
function plot.plot(result, options)
  local o = {}
  for key, value in pairs(options or {}) do o[key] = value end
  check(result, o)
  if not o.file then
    io.stdout:write(plot.text(result, o.y))
    return result
  end
  local written, message = plot.files(chart.of(result, o, 2), o.file)
  if not written then return nil, message end
  return result, message
end

return plot
