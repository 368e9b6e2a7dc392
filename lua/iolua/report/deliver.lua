--- Where a result goes: the terminal, and the files that options ask for.
local json = require "iolua.report.json"

local deliver = {}

local FORMATS = {
  text = function(result, comparisons)
    local summary, plot = require "iolua.report.summary", require "iolua.report.plot"
    local parts = { summary.text(result), "\n", plot.text(result), "\n" }
    for _, c in ipairs(comparisons) do parts[#parts + 1] = summary.comparison(c) end
    return table.concat(parts)
  end,
  markdown = function(result, comparisons)
    return require("iolua.report.markdown").document(result, comparisons)
  end,
  html = function(result, comparisons)
    return require("iolua.report.html").document(result, comparisons)
  end,
  csv = function(result) return require("iolua.store").summary(result) end,
  json = function(result, comparisons)
    return json.encode(require("iolua.store").document(result,
      { comparisons = json.array(comparisons) }), { indent = true }) .. "\n"
  end,
  ["json+"] = function(result) return require("iolua.report.jsonplus").document(result) end,
  grace = function(result)
    return require("iolua.report.grace").encode(require("iolua.report.chart").of(result))
  end,
  svg = function(result)
    return require("iolua.report.svg").draw(require("iolua.report.chart").of(result))
  end,
}

--- Names of the formats.
---@return string[]
function deliver.formats() return require("iolua.nearest").keys(FORMATS) end

--- A result in one format.
---@param result iolua.result
---@param format string
---@param comparisons? table[]
---@return string
function deliver.text(result, format, comparisons)
  local make = FORMATS[format]
  if not make then
    error(("report: no format %q%s"):format(tostring(format),
      require("iolua.nearest").hint(format, deliver.formats())), 2)
  end
  return make(result, comparisons or {})
end

local function write(path, text)
  if path == "-" then
    io.stdout:write(text)
    return true
  end
  return require("iolua.store").write_file(path, text)
end

--- What is compared where the script says nothing: the first factor's levels, for 2 %.
---@param result iolua.result
---@return table[]
function deliver.comparisons(result)
  if #result.cases < 2 or not result:measured() then return {} end
  local c = result:compare { smallest = "2%" }
  return #c.arms > 0 and { c } or {}
end

--- result:report(options): what iolua.options with experiment = true asks for. The text goes
--- to standard output unless --quiet, or another document does.
---@param result iolua.result
---@param options? table   json, csv, html: paths or "-"; quiet
---@param comparisons? table[]  default: the levels of the first factor, where it has several
---@return iolua.result? result
---@return string? message
function deliver.report(result, options, comparisons)
  local o = options or {}
  comparisons = comparisons or deliver.comparisons(result)
  for _, format in ipairs { "json", "csv", "html" } do
    if o[format] then
      local ok, message = write(o[format], deliver.text(result, format, comparisons))
      if not ok then return nil, message end
    end
  end
  if not o.quiet and o.json ~= "-" and o.csv ~= "-" and o.html ~= "-" then
    io.stdout:write(deliver.text(result, "text", comparisons))
  end
  return result
end

return deliver
