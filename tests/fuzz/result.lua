-- A result's two files, a manifest up to a line "---" and rows: refused with what is wrong, or
-- whatever is made of them works. After a byte 1 or 2, what exchanges values of the seed's
-- manifest or of a row of it.
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
local tree = require "tree"

local seed <close> = assert(io.open("tests/fuzz/corpus/result/small"))
local HEAD, ROWS = seed:read("a"):match("^(.-)\n%-%-%-\n(.*)$")
local LINES = {}
for line in ROWS:gmatch("[^\n]+") do LINES[#LINES + 1] = line end

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

local function parts(text)
  local kind = text:byte()
  if kind == 1 then return tree.exchanged(HEAD, text:sub(2)), ROWS end
  if kind == 2 then
    local copy, at = table.move(LINES, 1, #LINES, 1, {}), (text:byte(2) or 0) % #LINES + 1
    copy[at] = tree.exchanged(copy[at], text:sub(3))
    return HEAD, table.concat(copy, "\n") .. "\n"
  end
  return text:match("^(.-)\n%-%-%-\n(.*)$")
end

return function(text)
  local head, tail = parts(text)
  local manifest, message = shape.manifest(head or text)
  local rows = manifest and {}
  if manifest then rows, message = shape.rows(tail or "", manifest) end
  if not rows then
    if type(message) ~= "string" then error({}) end
    return
  end
  use(manifest, rows)
end
