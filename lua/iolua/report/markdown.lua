--- A result as markdown: verdicts, the table, what is to be known.
local escape = require "iolua.report.escape"
local summary = require "iolua.report.summary"
local text = require "iolua.report.text"

local markdown = {}

--- Rows as a table of markdown. Columns as of report.text.
---@param columns table[]
---@param rows table[]
---@return string
function markdown.table(columns, rows)
  local lines, head, rule = {}, {}, {}
  local kept = {}
  for _, column in ipairs(columns) do
    if not column.text then kept[#kept + 1] = column end
  end
  local cells = text.cells(kept, rows)
  for j, column in ipairs(cells) do
    head[j], rule[j] = escape.markdown(column.title), column.right and "---:" or "---"
  end
  lines[1] = "| " .. table.concat(head, " | ") .. " |"
  lines[2] = "| " .. table.concat(rule, " | ") .. " |"
  for i = 1, #rows do
    local fields = {}
    for j = 1, #kept do fields[j] = escape.markdown(cells[j][i]) end
    lines[#lines + 1] = "| " .. table.concat(fields, " | ") .. " |"
  end
  return table.concat(lines, "\n") .. "\n"
end

--- The document.
---@param result iolua.result
---@param comparisons table[]
---@return string
function markdown.document(result, comparisons)
  local lines = { "# " .. escape.markdown(result.name), "" }
  if result.question then
    lines[#lines + 1] = escape.markdown(result.question)
    lines[#lines + 1] = ""
  end
  for _, c in ipairs(comparisons) do
    lines[#lines + 1] = "**" .. escape.markdown(c.sentence) .. "**"
    lines[#lines + 1] = ""
  end
  lines[#lines + 1] = markdown.table(summary.columns(result))
  for _, c in ipairs(comparisons) do
    lines[#lines + 1] = markdown.table(summary.verdict_columns(c), c.arms)
  end
  for _, line in ipairs(summary.remarks(result)) do
    lines[#lines + 1] = "- " .. escape.markdown(line)
  end
  return table.concat(lines, "\n") .. "\n"
end

return markdown
