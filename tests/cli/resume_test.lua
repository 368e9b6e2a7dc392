-- A run that is killed and goes on: each row once, in the order of an uninterrupted run.
local t = require "check"
local csv = require "iolua.report.csv"
local json = require "iolua.report.json"

local iolua = assert(os.getenv("IOLUA"))
local folder = t.run("mktemp -d"):match("%S+")

local SCRIPT = [[
local iolua = require "iolua"
local opt = iolua.options { experiment = true, bs = { type = "size", default = "4k" } }
local n = 0
local result = iolua.experiment {
  name = "killed", factors = { a = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 }, b = { "x", "y" } },
  replicates = 6, duplicate = false, seed = 3, options = opt, writes = { "nothing at all" },
  changes = function(case) return { "a is " .. case.a } end,
  measure = function(case, _, run)
    n = n + 1
    local kill = tonumber(os.getenv("KILL_AT"))
    if n == kill then os.execute("kill -9 $PPID") end
    if case.a == 4 and case.b == "y" then error("this case fails") end
    return { v_us = run.seed % 1000 / 10, lat = iolua.hist():record(case.a * 1000, 5) }
  end,
}
result:table()
]]

local function write(name, text)
  local file = assert(io.open(folder .. "/" .. name, "w"))
  file:write(text)
  file:close()
end

local function read(path)
  local file = assert(io.open(folder .. "/" .. path))
  local text = file:read("a")
  file:close()
  return text
end

local function run(arguments, env)
  return t.run(("cd %s && %s env -u LUA_PATH -u LUA_CPATH %s script.lua %s"):format(folder, env
    or "",
    iolua, arguments))
end

local function rows_of(dir)
  local rows = {}
  for line in read(dir .. "/runs.jsonl"):gmatch("[^\n]+") do
    rows[#rows + 1] = assert(json.decode(line))
  end
  return rows
end

write("script.lua", SCRIPT)

t.case("120 rows, kill -9 in the 50th, resume: each once, as if nothing had happened", function()
  local output, status = run("--save whole")
  t.equal(status, 0, output)
  local whole = rows_of("whole")
  t.equal(#whole, 120)
  t.equal(select(2, run("--save cut", "KILL_AT=50")), 137)
  t.equal(#rows_of("cut"), 49)
  -- What a kill in the middle of a write leaves.
  local torn = assert(io.open(folder .. "/cut/runs.jsonl", "a"))
  torn:write('{"run":50,"blo')
  torn:close()
  t.equal(select(2, run("--resume cut", "KILL_AT=30")), 137)
  local partial = t.run(("cd %s && env -u LUA_PATH %s report cut"):format(folder, iolua))
  t.contains(partial, "of 120 runs; --resume cut goes on")
  output, status = run("--resume cut")
  t.equal(status, 0, output)
  local cut = rows_of("cut")
  t.equal(#cut, 120)
  for i, row in ipairs(cut) do
    t.equal(row.run, i)
    t.equal(row.label, whole[i].label)
    t.equal(row.seed, whole[i].seed)
    t.same(row.values, whole[i].values)
  end
end)

t.case("the failing case has six rows with its error, and the summary says so", function()
  local failed = 0
  for _, row in ipairs(rows_of("cut")) do
    if row.error then
      failed = failed + 1
      t.equal(row.label, "a=4 b=y")
      t.contains(row.error, "this case fails")
    end
  end
  t.equal(failed, 6)
  local rows, names = csv.rows(read("cut/summary.csv"))
  t.equal(#rows, 20)
  t.equal(table.concat(names, ","), "a,b,n,v_us,v_us_half_width,v_us_sd,failed,void,note")
  t.equal(rows[8].failed, 6)
  t.equal(rows[8].v_us, nil)
end)

t.case("histograms are whole on disk, so that any percentile can be asked", function()
  local row = rows_of("cut")[1]
  t.equal(row.histograms.lat.count, 5)
  t.equal(row.histograms.lat.max_ns, row.levels.a * 1000)
  t.equal(row.histograms.lat.buckets[1][2], 5)
end)

t.case("the manifest holds script, hash, order, versions, machine and what could not be read",
  function()
    local m = assert(json.decode(read("cut/manifest.json")))
    t.equal(m.script, "script.lua")
    t.contains(m.script_hash, "fnv1a64:")
    t.equal(#m.order, 120)
    t.equal(m.seed, 3)
    t.equal(m.finished, true)
    t.ok(m.versions.iolua and m.environment.kernel.release and m.environment.unreadable)
  end)

t.case("resume refuses a changed script, changed arguments, and says what", function()
  local output, status = run("--resume cut --bs 8k")
  t.equal(status, 1)
  t.contains(output, 'arguments: was [], is ["--bs","8k"]')
  write("script.lua", (SCRIPT:gsub("replicates = 6", "replicates = 7")))
  output, status = run("--resume cut")
  t.equal(status, 1)
  t.contains(output, "the script script.lua has changed since")
  t.contains(output, "replicates: was 6, is 7")
  write("script.lua", SCRIPT)
end)

t.case("--save does not overwrite a result, and says how to go on", function()
  local output, status = run("--save cut")
  t.equal(status, 1)
  t.contains(output, "cut holds a result already")
  t.equal(#rows_of("cut"), 120)
end)

t.case("--plan prints runs, what they set and write, and does nothing", function()
  local output, status = run("--plan --save never")
  t.equal(status, 0, output)
  t.contains(output, "killed: 120 runs of 20 cases in 6 blocks, seed 3")
  t.contains(output, "run 1, block 1: ")
  t.contains(output, "sets a is 4")
  t.contains(output, "written: nothing at all")
  t.equal(select(2, t.run("test -e " .. folder .. "/never")), 1)
end)

t.case("a result that cannot be written ends the run with the reason", function()
  local output, status = run("--save /proc/nowhere")
  t.equal(status, 1)
  t.contains(output, "make folder /proc/nowhere")
end)

t.run("rm -rf " .. folder)
t.done()
