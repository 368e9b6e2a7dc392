-- The files of a result: what cannot be what an experiment wrote is refused with its place.
local t = require "check"
local results = require "iolua.experiment.result"
local shape = require "iolua.experiment.shape"

local f <close> = assert(io.open("tests/fuzz/corpus/result/small"))
local MANIFEST, ROWS = f:read("a"):match("^(.-)\n%-%-%-\n(.*)$")

t.case("what was written is read", function()
  local manifest = assert(shape.manifest(MANIFEST))
  local rows, bytes = shape.rows(ROWS, manifest)
  t.equal(#rows, 4)
  t.equal(bytes, #ROWS)
  local r = results.new(shape.parts(manifest, rows))
  t.same(r.factors, { "depth" })
  t.same(r:values(1, "iops", true), { 663.97 })
  t.equal(r:summary()[2].n, 1)
end)

t.case("a line cut short is left out, one that is wrong is named", function()
  local manifest = assert(shape.manifest(MANIFEST))
  local rows, bytes = shape.rows(ROWS:sub(1, -5), manifest)
  t.equal(#rows, 3)
  t.equal(ROWS:sub(bytes, bytes), "\n")
  local none, message = shape.rows(ROWS:gsub('"run":2,', '"run":2,,'), manifest)
  t.equal(none, nil)
  t.contains(message, "line 2: json: ")
end)

for _, case in ipairs {
  { '"format":1', '"format":2', "it is in format 2; this iolua reads format 1" },
  { '"name":"n"', '"name":7', "name is not a text" },
  { '"replicates":2', '"replicates":-1', "replicates is not an integer from 1 to" },
  { '"planned":6,', "", "planned is missing" },
  { '"factors":%[.-%],"cases"', '"factors":[3],"cases"', "factors is not a list of factors" },
  { '"cases":%[{"depth":1}', '"cases":[{"width":1}', "case 1 has no level of factor depth" },
  { '"baseline":1', '"baseline":3', "baseline is 3 of 2 cases" },
  { '"metrics":%["iops"%]', '"metrics":[{}]', "metrics is not a list of names" },
} do
  t.case("a manifest is refused: " .. case[3], function()
    local text, changed = MANIFEST:gsub(case[1], case[2])
    t.equal(changed, 1)
    local manifest, message = shape.manifest(text)
    t.equal(manifest, nil)
    t.contains(message, case[3])
  end)
end

for _, case in ipairs {
  { '"case":1', '"case":3', "line 1: case is 3 of 2" },
  { '"block":1', '"block":3', "line 1: block is 3 of 2" },
  { '"values":{"iops":663.97}', '"values":[[1]]', "line 1: values is not values by name" },
  { '"min_ns":36053,', "", "line 1: histograms is not histograms by name" },
  { '%[36095,1%]', '[36095]', "line 1: histograms is not histograms by name" },
  { '^.-\n', "7\n", "line 1: it is no object" },
} do
  t.case("a row is refused: " .. case[2]:gsub("\n", ""), function()
    local text = ROWS:gsub(case[1], case[2], 1)
    local rows, message = shape.rows(text, assert(shape.manifest(MANIFEST)))
    t.equal(rows, nil)
    t.contains(message, case[3])
  end)
end

t.done()
