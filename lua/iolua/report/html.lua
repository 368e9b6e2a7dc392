--- A result as one HTML page that needs nothing else: verdict first, then picture, table and
--- the machine.
local chart = require "iolua.report.chart"
local escape = require "iolua.report.escape"
local summary = require "iolua.report.summary"
local svg = require "iolua.report.svg"
local text = require "iolua.report.text"

local html = {}

local STYLE = [[
body { font: 15px/1.5 sans-serif; max-width: 62em; margin: 2em auto; padding: 0 1em; color: #222 }
table { border-collapse: collapse; margin: 1em 0 }
th, td { padding: .2em .8em; border-bottom: 1px solid #ddd; text-align: left }
td.right, th.right { text-align: right; font-variant-numeric: tabular-nums }
.verdict { font-size: 1.15em; border-left: 4px solid #1f4e9c; padding-left: .8em }
.remark { color: #7b241c }
svg { max-width: 100%; height: auto }
]]

local function table_of(columns, rows)
  local cells = text.cells(columns, rows)
  local lines = { "<table>", "<thead><tr>" }
  for _, column in ipairs(cells) do
    lines[#lines + 1] = ("<th%s>%s</th>"):format(column.right and ' class="right"' or "",
      escape.xml(column.title))
  end
  lines[#lines + 1] = "</tr></thead>\n<tbody>"
  for i = 1, #rows do
    lines[#lines + 1] = "<tr>"
    for _, column in ipairs(cells) do
      lines[#lines + 1] = ("<td%s>%s</td>"):format(column.right and ' class="right"' or "",
        escape.xml(column[i]))
    end
    lines[#lines + 1] = "</tr>"
  end
  lines[#lines + 1] = "</tbody></table>"
  return table.concat(lines, "\n")
end

-- Nested tables as rows path = value, in order.
local function flattened(value, prefix, list)
  local keys = {}
  for key in pairs(value) do keys[#keys + 1] = key end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  for _, key in ipairs(keys) do
    local path = prefix == "" and tostring(key) or prefix .. "." .. tostring(key)
    if type(value[key]) == "table" then flattened(value[key], path, list)
    else list[#list + 1] = { what = path, value = tostring(value[key]) } end
  end
  return list
end

html.flattened = function(value) return flattened(value, "", {}) end

local function facts(result)
  local about = result.about or {}
  local list = {
    { what = "started", value = result.started }, { what = "seed", value = tostring(result.seed) },
    { what = "replicates", value = tostring(result.replicates) },
    { what = "script", value = about.script }, { what = "script hash", value = about.script_hash },
    { what = "arguments", value = table.concat(about.arguments or {}, " ") },
    { what = "iolua", value = about.versions and about.versions.iolua },
  }
  local kept = {}
  for _, fact in ipairs(list) do
    if fact.value and fact.value ~= "" then kept[#kept + 1] = fact end
  end
  return kept
end

local FACTS = { { key = "what", title = "", align = "left" },
                { key = "value", title = "", align = "left" } }

local function picture(result)
  local ok, c = pcall(chart.of, result)
  return ok and svg.draw(c) or ""
end

--- The page.
---@param result iolua.result
---@param comparisons table[]
---@return string
function html.document(result, comparisons)
  local lines = {
    "<!DOCTYPE html>", '<html lang="en" xmlns="http://www.w3.org/1999/xhtml">', "<head>",
    '<meta charset="utf-8"/>', ("<title>%s</title>"):format(escape.xml(result.name)),
    "<style>" .. STYLE .. "</style>", "</head>", "<body>",
    ("<h1>%s</h1>"):format(escape.xml(result.name)),
  }
  local function add(line, ...) lines[#lines + 1] = select("#", ...) > 0 and line:format(...)
    or line end
  if result.question then add("<p>%s</p>", escape.xml(result.question)) end
  for _, c in ipairs(comparisons) do add('<p class="verdict">%s</p>', escape.xml(c.sentence)) end
  for _, line in ipairs(summary.remarks(result)) do
    add('<p class="remark">%s</p>', escape.xml(line))
  end
  lines[#lines + 1] = picture(result)
  add("<h2>Cases</h2>")
  lines[#lines + 1] = table_of(summary.columns(result))
  for _, c in ipairs(comparisons) do
    if #c.arms > 0 then lines[#lines + 1] = table_of(summary.verdict_columns(c), c.arms) end
  end
  add("<h2>Run</h2>")
  lines[#lines + 1] = table_of(FACTS, facts(result))
  add("<h2>Machine</h2>")
  lines[#lines + 1] = table_of(FACTS, html.flattened(result.environment or {}))
  add("</body>")
  add("</html>")
  return table.concat(lines, "\n") .. "\n"
end

return html
