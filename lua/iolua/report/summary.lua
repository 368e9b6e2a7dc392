--- A result as a table for a terminal: one line a case, means with 95 % intervals.
local checks = require "iolua.experiment.checks"
local text = require "iolua.report.text"
local verdict = require "iolua.experiment.verdict"

local summary = {}

-- "MB_per_s" -> "MB/s"; a title a person reads.
local function title(metric) return (metric:gsub("_per_", "/"):gsub("_", " ")) end

--- The columns of a result's summary, for text and markdown.
---@param result iolua.result
---@param metrics? string[]
---@return table[] columns
---@return table[] rows
function summary.columns(result, metrics)
  local rows, columns, noted = result:summary(), {}, false
  for _, name in ipairs(result.factors) do
    local numeric = rows[1] and tonumber(rows[1][name])
    columns[#columns + 1] = { key = name, align = numeric and "right" or "left" }
  end
  columns[#columns + 1] = { key = "n" }
  for _, metric in ipairs(metrics or result:metrics()) do
    columns[#columns + 1] = { key = metric, title = title(metric),
                              plus_minus = metric .. "_half_width" }
  end
  for _, row in ipairs(rows) do noted = noted or row.note ~= nil end
  if noted then columns[#columns + 1] = { key = "note", align = "left" } end
  return columns, rows
end

--- What is to be known beside the table: runs lost, interruption.
---@param result iolua.result
---@return string[] lines
function summary.remarks(result)
  local lines = {}
  local failed, void = result:lost()
  if failed > 0 then lines[#lines + 1] = ("%d of %d runs failed"):format(failed, #result.rows) end
  if void > 0 then lines[#lines + 1] = ("%d of %d runs void"):format(void, #result.rows) end
  if result.interrupted then
    lines[#lines + 1] = ("%s after %d of %d runs"):format(result.interrupted, #result.rows,
      result.planned)
  elseif result.planned and #result.rows < result.planned then
    lines[#lines + 1] = ("cut short after %d of %d runs%s"):format(#result.rows, result.planned,
      result.dir and "; --resume " .. result.dir .. " goes on" or "")
  end
  for _, line in ipairs(checks.remarks(result)) do lines[#lines + 1] = line end
  for _, out in ipairs(result.excluded or {}) do
    lines[#lines + 1] = ("left out: %s (%s)"):format(
      require("iolua.design").label(out.case, result.factors), out.reason)
  end
  return lines
end

local function percent_of(value) return verdict.percent(value) end

local function interval_of(_, arm)
  if not arm.low_percent then return "-" end
  return ("%s .. %s"):format(verdict.percent(arm.low_percent), verdict.percent(arm.high_percent))
end

--- Columns for the arms of a comparison.
---@param comparison table
---@return table[] columns
function summary.verdict_columns(comparison)
  return {
    { key = "label", title = comparison.metric .. " against " .. comparison.baseline,
      align = "left" },
    { key = "n" },
    { key = "percent", title = "difference", format = percent_of, align = "right" },
    { key = "percent", title = "95 % interval", format = interval_of, align = "right" },
    { key = "p_corrected", title = "p (Holm)", format = "%.3g", align = "right" },
    { key = "words", title = "verdict", align = "left" },
  }
end

--- A comparison as text: its arms, and the sentence.
---@param comparison table
---@return string
function summary.comparison(comparison)
  return text.table(summary.verdict_columns(comparison), comparison.arms)
    .. comparison.sentence .. "\n"
end

--- The text of result:table().
---@param result iolua.result
---@param options? { metrics: string[] }
---@return string
function summary.text(result, options)
  local columns, rows = summary.columns(result, options and options.metrics)
  local lines = { text.table(columns, rows) }
  for _, line in ipairs(summary.remarks(result)) do lines[#lines + 1] = line .. "\n" end
  return table.concat(lines)
end

--- result:table(): print it to standard output. Returns the result.
---@param result iolua.result
---@param options? { metrics: string[] }
function summary.table(result, options)
  io.stdout:write(summary.text(result, options))
  return result
end

return summary
