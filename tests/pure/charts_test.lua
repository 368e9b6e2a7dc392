-- Reports of a result in every format, with labels of any bytes; the chart of 2005 in Grace.
local t = require "check"
local chart = require "iolua.report.chart"
local csv = require "iolua.report.csv"
local escape = require "iolua.report.escape"
local grace = require "iolua.report.grace"
local html = require "iolua.report.html"
local json = require "iolua.report.json"
local jsonplus = require "iolua.report.jsonplus"
local markdown = require "iolua.report.markdown"
local plot = require "iolua.report.plot"
local results = require "iolua.experiment.result"
local summary = require "iolua.report.summary"
local svg = require "iolua.report.svg"

local function read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("a")
  file:close()
  return text
end

-- The chart of 2005 from its data.
local function of_2005()
  local c = { title = "IA64 4-way w/ U320 SPEW LVM", series = {}, legend = { x = 0.22, y = 0.8 },
    x = { label = "Segments per volume", min = 0.5, max = 10.5 },
    y = { label = "MBytes per second", min = 0, max = 400 } }
  local by = {}
  for _, row in ipairs(csv.rows(read("tests/data/stripe-sweep-2005.csv"))) do
    local name = row.kib_per_segment .. " KiB per segment"
    if not by[name] then
      by[name] = { name = name, points = {} }
      c.series[#c.series + 1] = by[name]
    end
    table.insert(by[name].points, { x = row.segments, y = row.MB_per_s })
  end
  return c
end

t.case("the 2005 chart comes back: world, title, labels, legend, symbols, colours, numbers",
  function()
    local c = of_2005()
    local text = grace.encode(c)
    t.contains(text, "@    world 0.5, 0, 10.5, 400\n")
    t.contains(text, '@    title "IA64 4-way w/ U320 SPEW LVM"\n')
    local back = assert(grace.decode(text))
    t.equal(back.title, c.title)
    t.equal(back.x.label, "Segments per volume")
    t.equal(back.y.label, "MBytes per second")
    t.same(back.legend, { x = 0.22, y = 0.8 })
    t.equal(#back.series, 4)
    for i, series in ipairs(back.series) do
      t.equal(series.symbol, i)
      t.equal(series.colour, i)
      t.equal(#series.points, 10)
      for k, p in ipairs(series.points) do
        t.equal(p.x, c.series[i].points[k].x)
        t.equal(p.y, c.series[i].points[k].y)
      end
    end
    t.equal(back.series[1].points[8].y, 366.55)
  end)

t.case("intervals make XYDY sets, read back as they were", function()
  local c = { title = "t", x = { label = "x" }, y = { label = "y" }, series = {
    { name = "a", points = { { x = 1, y = 2.5, error = 0.125 }, { x = 2, y = 3.1 } } } } }
  local text = grace.encode(c)
  t.contains(text, "@type xydy\n1 2.5 0.125\n2 3.1 0\n&")
  local back = grace.decode(text)
  t.equal(back.series[1].kind, "xydy")
  t.equal(back.series[1].points[1].error, 0.125)
  t.equal(grace.decode("hello"), nil)
end)

t.case("gracebat draws what is written", function()
  if select(2, t.run("command -v gracebat")) ~= 0 then t.skip("gracebat is not installed") end
  local path = os.tmpname()
  local file = io.open(path, "w")
  file:write(grace.encode(of_2005()))
  file:close()
  local output, status = t.run(("gracebat -hdevice PostScript -printfile %s.ps %s"):format(path,
    path))
  t.equal(status, 0, output)
  local drawn = read(path .. ".ps")
  os.remove(path .. ".ps")
  os.remove(path)
  t.contains(drawn, "IA64 4-way w/ U320 SPEW LVM")
  t.contains(drawn, "64 KiB per segment")
end)

local HOSTILE = { "a,b", 'say "so"', "two\nlines", "=1+1", "&<\">'", "nul\0byte",
  "bad\xff\xc0utf8",
                  "|*_`~[x]", "$(id) `id`", "\xC3\xA9t\xC3\xA9" }

-- A result with such levels, made by hand: the reports need no machine.
local function hostile()
  local cases, rows = {}, {}
  for i, text in ipairs(HOSTILE) do
    cases[i] = { label = text }
    for block = 1, 3 do
      rows[#rows + 1] = { run = #rows + 1, block = block, case = i, label = "label=" .. text,
        levels = cases[i], values = { MB_per_s = 100.0 + i + block / 10 }, elapsed_ns = 1000000,
        histograms = { lat = { count = 3, min_ns = 1000, max_ns = 2000, mean_ns = 1300.0,
          buckets = { { upper = 1003, count = 2 }, { upper = 2015, count = 1 } } } } }
    end
  end
  return results.new { name = 'the "<&\0\xff name', question = "does a\nlabel & matter?",
    factors = { "label" }, cases = cases, rows = rows, baseline = 1, replicates = 3, seed = 1,
    planned = #rows, environment = { os = "x <&> \1", odd = { ["k\"&"] = "v\xff" } } }
end

local function well_formed(text)
  if select(2, t.run("command -v xmllint")) ~= 0 then t.skip("xmllint is not installed") end
  local path = os.tmpname()
  local file = io.open(path, "wb")
  file:write(text)
  file:close()
  local output, status = t.run(("xmllint --noout --nonet %s"):format(path))
  os.remove(path)
  t.equal(status, 0, output)
end

t.case("labels of any bytes leave SVG and HTML well-formed, and are there", function()
  local r = hostile()
  local c = r:compare { smallest = "2%" }
  local drawn, page = svg.draw(chart.of(r)), html.document(r, { c })
  t.contains(page, "&amp;&lt;&quot;&gt;&#39;")
  t.contains(page, "say &quot;so&quot;")
  t.equal(utf8.len(page) ~= nil, true)
  t.equal(page:find("%z"), nil)
  local verdict, picture = page:find('class="verdict"', 1, true), page:find("<svg", 1, true)
  t.ok(verdict < picture and picture < page:find("<table", 1, true))
  t.equal(page:find("https?://[^w]"), nil, "a page that needs nothing else")
  well_formed(drawn)
  well_formed(page)
end)

t.case("labels of any bytes come back from CSV as they were", function()
  local r = hostile()
  local rows = {}
  for i, row in ipairs(r:summary()) do rows[i] = row end
  local records = csv.decode(csv.encode({ { key = "label" }, { key = "MB_per_s" } }, rows))
  for i, text in ipairs(HOSTILE) do t.equal(records[i + 1][1], text) end
end)

t.case("JSON and json+ keep them, with invalid UTF-8 as U+FFFD", function()
  local back = assert(json.decode(jsonplus.document(hostile())))
  t.equal(#back.jobs, 30)
  t.equal(back.jobs[1].jobname, "label=a,b block 1")
  t.equal(back.jobs[16].jobname, "label=nul\0byte block 1")
  t.equal(back.jobs[19].jobname, "label=bad\u{FFFD}\u{FFFD}utf8 block 1")
end)

t.case("markdown escapes what it would read as marks, and stays one line a row", function()
  local text = markdown.table(summary.columns(hostile()))
  local _, lines = text:gsub("\n", "")
  t.equal(lines, 2 + #HOSTILE)
  t.contains(text, "\\|\\*\\_\\`\\~\\[x\\]")
  t.contains(text, "&amp;&lt;")
end)

t.case("Grace and gnuplot strings end where they should", function()
  t.equal(escape.grace('say "so" \\x'), '"say \\"so\\" \\\\x"')
  t.equal(escape.grace("\u{E9} \u{20AC}"), '"\xE9 ?"')
  t.equal(escape.gnuplot("it's `id`\n"), "'it''s `id` '")
  local c = chart.of(hostile())
  local back = grace.decode(grace.encode(c))
  t.equal(back.series[1].points[1].y, c.series[1].points[1].y)
  c.title = HOSTILE[2]
  t.equal(grace.decode(grace.encode(c)).title, HOSTILE[2])
end)

t.case("percentiles from stored counts are those of the histogram: nearest rank, clamped",
  function()
    local buckets = {}
    for i = 1, 1000 do buckets[i] = { i, 1 } end
    local h = { count = 1000, min_ns = 1, max_ns = 1000, buckets = buckets }
    t.equal(jsonplus.percentile(h, 99.9), 999)
    t.equal(jsonplus.percentile(h, 50), 500)
    t.equal(jsonplus.percentile(h, 100), 1000)
    t.equal(jsonplus.percentile({ count = 0, buckets = {} }, 50), nil)
  end)

t.case("a chart's x is a number where the levels are: sizes too; else categories", function()
  local function with(levels)
    local cases, rows = {}, {}
    for i, level in ipairs(levels) do
      cases[i] = { x = level }
      rows[i] = { run = i, block = 1, case = i, label = "", values = { v = i } }
    end
    return chart.of(results.new { name = "n", factors = { "x" }, cases = cases, rows = rows,
      baseline = 1, replicates = 1, planned = #rows })
  end
  t.equal(with({ "4k", "16k" }).series[1].points[2].x, 16384)
  t.equal(with({ 1, 2 }).x.names, nil)
  t.same(with({ "none", "bfq" }).x.names, { "none", "bfq" })
end)

t.case("the small plot has a line a case, its mean inside its interval", function()
  local text = plot.text(hostile())
  local lines = {}
  for line in text:gmatch("[^\n]+") do lines[#lines + 1] = line end
  t.equal(#lines, #HOSTILE + 1)
  t.contains(lines[1], "label=a,b")
  t.ok(lines[5]:find("|.*%-*o%-*.*|"))
end)

t.case("values beyond every axis are left out, and drawing ends", function()
  local cases = { { x = 1 }, { x = 1e308 }, { x = -1e308 } }
  local rows = {}
  for i, value in ipairs { 1e308, 2, 3 } do
    rows[i] = { run = i, block = 1, case = i, label = "", values = { v = value } }
  end
  local drawn = chart.of(results.new { name = "n", factors = { "x" }, cases = cases, rows = rows,
    baseline = 1, replicates = 1, planned = 3 })
  t.same(drawn.x.names, { "1", "1e+308", "-1e+308" })
  t.equal(#drawn.series[1].points, 2)
  t.contains(svg.draw(drawn), "</svg>")
  t.same(chart.ticks(-1e308, 1e308), {})
  t.same(chart.ticks(1, 1), {})
end)

t.case("one interval as wide as the sea does not flatten the rest, nor leave the frame", function()
  local function of(error)
    return chart.bounded { title = "", x = { label = "" }, y = { label = "" }, series = { {
      name = "a", points = { { x = 1, y = 100, error = 5 }, { x = 2, y = 80, error = error } } } } }
  end
  local c = of(5000)
  t.ok(c.y.max >= 105 and c.y.max <= 250 and c.y.min >= -100, ("%g to %g"):format(c.y.min, c.y.max))
  local drawn = svg.draw(c)
  local height = tonumber(drawn:match('viewBox="0 0 %d+ (%d+)"'))
  for y in drawn:gmatch('y[12]="([%d.-]+)"') do
    t.ok(tonumber(y) >= 0 and tonumber(y) <= height, y)
  end
  t.equal(of(25).y.min, 0, "intervals that fit are shown whole")
  t.ok(of(40).y.max >= 120)
end)

t.done()
