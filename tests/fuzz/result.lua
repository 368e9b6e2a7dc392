-- A result's two files, a manifest up to a line "---" and rows: refused with what is wrong, or
-- whatever is made of them works.
local chart = require "iolua.report.chart"
local grace = require "iolua.report.grace"
local html = require "iolua.report.html"
local json = require "iolua.report.json"
local jsonplus = require "iolua.report.jsonplus"
local markdown = require "iolua.report.markdown"
local plot = require "iolua.report.plot"
local results = require "iolua.experiment.result"
local shape = require "iolua.experiment.shape"
local summary = require "iolua.report.summary"
local svg = require "iolua.report.svg"

local function use(manifest, rows)
  local result = results.new(shape.parts(manifest, rows))
  result:percentile(99.9)
  summary.text(result)
  tostring(result)
  json.encode(result:summary())
  html.document(result, {})
  markdown.document(result, {})
  jsonplus.document(result)
  plot.text(result)
  local drawn = chart.of(result)
  svg.draw(drawn)
  grace.encode(drawn)
end

return function(text)
  local head, tail = text:match("^(.-)\n%-%-%-\n(.*)$")
  local manifest, message = shape.manifest(head or text)
  local rows = manifest and {}
  if manifest then rows, message = shape.rows(tail or "", manifest) end
  if not rows then
    if type(message) ~= "string" then error({}) end
    return
  end
  use(manifest, rows)
end
