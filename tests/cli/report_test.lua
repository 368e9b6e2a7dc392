-- `iolua report DIR` and `iolua compare DIR DIR`, result:report, result:plot, from files alone.
local t = require "check"
local csv = require "iolua.report.csv"
local json = require "iolua.report.json"

local iolua = assert(os.getenv("IOLUA"))
local folder = t.run("mktemp -d"):match("%S+")

-- argv: folder, MB/s of width 1, whether labels are hostile.
local SCRIPT = [[
local iolua = require "iolua"
local opt = iolua.options { experiment = true, base = { type = "number", default = 100 } }
local result = iolua.experiment {
  name = "made", factors = { width = { 1, 2, 4 }, kind = { "a,b", "&<\"" } }, order = { "width",
    "kind" },
  replicates = 4, seed = 5, options = opt,
  measure = function(case, _, run)
    local noise = (run.seed >> 9) % 1000 / 1000
    local lat = iolua.hist():record(1000 * case.width, 10):record(50000, 2)
    return { MB_per_s = opt.base * case.width + noise, lat = lat },
      { read = { ios = 12, bytes = 12 * 4096, iops = 12.0, bytes_per_s = 49152.0 } }
  end,
}
assert(result:report(opt, { result:compare { factor = "width", metric = "MB_per_s",
  smallest = "2%" } }))
]]

local function run(arguments)
  return t.run(("cd %s && env -u LUA_PATH -u LUA_CPATH %s %s"):format(folder, iolua, arguments))
end

local function read(path)
  local file = assert(io.open(folder .. "/" .. path, "rb"))
  local text = file:read("a")
  file:close()
  return text
end

local function has(program) return select(2, t.run("command -v " .. program)) == 0 end

local file = assert(io.open(folder .. "/made.lua", "w"))
file:write(SCRIPT)
file:close()

t.case("a run prints table, small plot, verdicts and one sentence at the end", function()
  local output, status = run("made.lua --save first 2>/dev/null")
  t.equal(status, 0, output)
  t.contains(output, "MB/s")
  t.contains(output, "|o")
  t.contains(output, "faster")
  local last = output:match("([^\n]+)\n$")
  t.contains(last, "width=4 is faster than width=1 by ")
  t.equal(last:sub(-1), ".")
end)

t.case("iolua report shows the same from the files alone", function()
  local output, status = run("report first --smallest 2%")
  t.equal(status, 0, output)
  t.contains(output, "width=4 is faster than width=1 by ")
  t.contains(output, "|")
end)

t.case("--json - is one document on standard output and nothing else", function()
  local output, status = run("made.lua --json - 2>/dev/null")
  t.equal(status, 0)
  local document, message = json.decode(output)
  t.equal(message, nil)
  t.equal(#document.runs, 4 * 7)
  t.equal(#document.summary, 6)
  t.equal(document.comparisons[1].arms[2].verdict, "faster")
end)

t.case("a folder that is not there is told before the first run", function()
  for _, format in ipairs { "html", "csv", "json" } do
    local output, status = run(("made.lua --save kept-%s --%s none/page"):format(format, format))
    t.equal(output, ("iolua: --%s none/page: none/: No such file or directory\n"):format(format))
    t.equal(status, 1)
    t.equal(select(2, run("-e 'assert(io.open[[kept-" .. format .. "]])'")), 1)
  end
end)

t.case("--html writes one page with what the script compared, verdict first", function()
  local output, status = run("made.lua --html page.html --quiet")
  t.equal(status, 0, output)
  local page = read("page.html")
  t.contains(page, "width=4 is faster than width=1 by ")
  t.ok(page:find('class="verdict"', 1, true) < page:find("<svg", 1, true))
  t.contains(page, "kernel.release")
end)

t.case("json+ is converted and validated by fio's own script", function()
  if not has("fio_jsonplus_clat2csv") then t.skip("fio's script is not installed") end
  local output, status = run("report first --format json+ --output fio.json")
  t.equal(status, 0, output)
  output, status = t.run(("cd %s && fio_jsonplus_clat2csv fio.json lat.csv && "
    .. "fio_jsonplus_clat2csv fio.json lat.csv --validate"):format(folder))
  if output:find("No module named") then t.skip("fio's script lacks a module") end
  t.equal(status, 0, output)
  t.contains(output, "lat_job0.csv validated")
  t.contains(output, "lat_job27.csv validated")
  -- 10 of 12 operations in the first bin.
  local line = read("lat_job0.csv"):match("\n(%d[^\n]+)")
  t.contains(line, ", 10, 10, 0.8333")
end)

t.case("gnuplot draws SVG and PNG from script and data, with labels of any kind", function()
  if not has("gnuplot") then t.skip("gnuplot is not installed") end
  local output, status = run("report first --plot pic --x width --series kind")
  t.equal(status, 0, output)
  t.contains(read("pic.gp"), "yerrorlines title 'kind=&<\"'")
  t.equal(read("pic.png"):sub(1, 8), "\137PNG\r\n\26\n")
  t.contains(read("pic.svg"), "<svg")
  if has("xmllint") then
    output, status = t.run(("xmllint --noout --nonet %s/pic.svg"):format(folder))
    t.equal(status, 0, output)
  end
  t.contains(read("pic.agr"), '@    s0 legend "kind=a,b"')
end)

-- Without the moment it was written.
local function timeless(text)
  return (text:gsub('"time[a-z]*":[^\n]*\n', ""))
end

t.case("every format is written, to a file or to standard output", function()
  for _, format in ipairs { "text", "markdown", "html", "csv", "json", "json+", "grace", "svg" } do
    local output, status = run(("report first --format %s --output out.%s"):format(format, format))
    t.equal(status, 0, output)
    t.equal(output, "")
    t.ok(#read("out." .. format) > 100, format)
    t.equal(timeless((run("report --format " .. format .. " first"))), timeless(read("out." .. format)))
  end
end)

t.case("any percentile can be asked of the files later", function()
  -- 10 of width us and 2 of 50 us: the 83rd percentile is the tenth value, the 84th the eleventh.
  local output, status = run("report first --format csv --percentile 83,84")
  t.equal(status, 0, output)
  local rows = csv.rows(output)
  t.near(rows[1].lat_p83_us, 1, 1 / 128)
  t.near(rows[6].lat_p83_us, 4, 4 / 128)
  t.equal(rows[1].lat_p84_us, 50.0)
  t.equal(select(2, run("report first --percentile 101")), 2)
end)

t.case("compare tells two results apart, and says in what the environments differ", function()
  t.equal(select(2, run("made.lua --save second --base 110 --quiet")), 0)
  local output, status = run("compare first second --smallest 2%")
  t.equal(status, 0, output)
  t.contains(output, "width=1 kind=a,b")
  t.contains(output, "faster")
  t.contains(output, "differs: arguments:  in first, --base 110 in second")
  output = run("compare first second --format json")
  local c = assert(json.decode(output))
  t.near(c.arms[1].percent, 10, 1.5)
  t.equal(c.arms[1].verdict, "faster")
end)

t.case("a result against itself: no difference, and the environments do not differ", function()
  t.equal(select(2, run("made.lua --save again --quiet")), 0)
  local output = run("compare first again --smallest 2%")
  t.contains(output, "the environments do not differ")
  t.contains(output, "equivalent to first within 2 %")
end)

t.case("a file from another machine is compared too", function()
  t.run(("cd %s && cp -r again other && sed -i 's/\"release\":\"[^\"]*\"/\"release\":\"2.6.18\"/' "
    .. "other/manifest.json"):format(folder))
  t.contains((run("compare first other")), "differs: kernel.release: ")
end)

t.case("what is missing or wrong is named, with the right status", function()
  local output, status = run("report nowhere")
  t.equal(status, 1)
  t.contains(output, "read nowhere/manifest.json: No such file or directory")
  output, status = run("report")
  t.equal(status, 2)
  t.contains(output, "one folder is needed")
  output, status = run("report first --metric MB_per_")
  t.equal(status, 2)
  t.contains(output, 'did you mean "MB_per_s"?')
  t.equal(select(2, run("compare first")), 2)
  output, status = run("report --help")
  t.equal(status, 0)
  t.contains(output, "--smallest")
end)

t.run("rm -rf " .. folder)
t.done()
