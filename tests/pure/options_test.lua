-- A script's options: parsing, help, and mistakes that end it with status 2.
local t = require "check"
local options = require "iolua.options"

local DECLARED = {
  "Does it matter?",
  target = { type = "path", help = "file to read" },
  bs = { type = "size", default = "256k", help = "size of an operation" },
  runtime = { type = "duration", default = "1s" },
  ramp_time = { type = "duration", default = 0 },
  iodepth = { type = "integer", default = 128, min = 1 },
  ratio = { type = "number" },
  direct = { type = "boolean", default = true },
  widths = { type = "integer", list = true, default = { 1, 2, 4 } },
  rw = { type = "choice", choices = { "read", "randread" }, default = "read" },
  width = { type = "integer", choices = { 1, 2 } },
  cpus = { type = "cpuset" },
}

local function parse(...)
  return options(DECLARED, { [0] = "scenarios/x.lua", ... })
end

local function ends(status, ...)
  local ok, err = pcall(parse, ...)
  t.equal(ok, false)
  t.equal(type(err), "table")
  t.equal(err.iolua_exit, status)
  return err
end

t.case("defaults are converted", function()
  t.same(parse(), { bs = 262144, runtime = 1000000000, ramp_time = 0, iodepth = 128,
    direct = true, widths = { 1, 2, 4 }, rw = "read" })
end)

t.case("both forms of a value and both spellings of a name are read", function()
  local o = parse("--bs", "4k", "--ramp-time=2s", "--iodepth=0x20", "--target", "/a b",
    "--no-direct", "--widths", "8,16", "--rw=randread", "--ratio", "0.5", "--width", "2",
    "--cpus", "0-3,5")
  t.same(o, { bs = 4096, runtime = 1000000000, ramp_time = 2000000000, iodepth = 32,
    direct = false, widths = { 8, 16 }, rw = "randread", ratio = 0.5, width = 2,
    target = "/a b", cpus = "0-3,5" })
  t.equal(parse("--ramp_time", "3s").ramp_time, 3000000000)
end)

t.case("a negative text is a value after =", function()
  t.equal(parse("--ratio=-0.5").ratio, -0.5)
end)

for name, case in pairs {
  ["an unknown option"] = { 'unknown option --iodept; did you mean "--iodepth"?',
    "--iodept", "3" },
  ["a size"] = { '--bs: "4kk" is not a size', "--bs", "4kk" },
  ["a time without unit"] = { '--runtime: "5" is not a duration: it needs a unit, as in "5s"',
    "--runtime", "5" },
  ["a word"] = { '--rw: "reed" is not one of read, randread; did you mean "read"?', "--rw=reed" },
  ["a number"] = { '--iodepth: "many" is not an integer', "--iodepth", "many" },
  ["a bound"] = { "--iodepth: 0 is out of range: it must be 1 or more", "--iodepth=0" },
  ["an item"] = { '--widths: item 2: "x" is not an integer', "--widths=1,x" },
  ["an empty list"] = { '--widths: item 1: "" is not an integer', "--widths=" },
  ["a stray argument"] = { 'unexpected argument "file"; options begin with --', "file" },
  ["a missing value"] = { "option '--bs' requires an argument", "--bs" },
  ["a value for a flag"] = { "option '--direct' does not take arguments", "--direct=1" },
  ["a flag and its contrary"] = { "--direct and --no-direct contradict",
    "--direct", "--no-direct" },
} do
  t.case("a mistake ends with 2 and one line: " .. name, function()
    local err = ends(2, table.unpack(case, 2))
    t.contains(err.message, case[1])
    t.contains(err.message, "x.lua: ")
    t.equal(err.message:find("\n"), nil)
    t.equal(tostring(err), err.message)
  end)
end

t.case("a required option is named when missing", function()
  local ok, err = pcall(options, { target = { type = "path", required = true, help = "a file" } },
    { [0] = "x" })
  t.equal(ok, false)
  t.contains(err.message, "--target is required: a file")
end)

t.case("help shows question, options, choices and defaults, and ends with 0", function()
  local script = os.tmpname()
  local file = assert(io.open(script, "w"))
  file:write([[
    local options = require "iolua.options"
    local ok, err = pcall(options, { "Does it matter?", bs = { type = "size", default = "4k",
      help = "size of an operation" }, rw = { choices = { "read", "write" }, help = "what" },
      experiment = true }, { [0] = "x.lua", "--help" })
    print(ok, err.iolua_exit, err.message)
  ]])
  file:close()
  local output = t.run("lua5.4 " .. script)
  os.remove(script)
  for _, part in ipairs { "Does it matter?", "--bs <size>", "size of an operation (default: 4k)",
    "one of read,write", "--plan", "--json", "--csv", "--quiet", "--resume", "false\t0\tnil" } do
    t.contains((output:gsub("%s+", function(s) return s:find("\t") and "\t" or " " end)), part)
  end
  t.equal(output:find("no-plan", 1, true), nil)
end)

t.case("an experiment has the standard options", function()
  local o = options({ experiment = true }, { [0] = "x", "--plan", "--json", "-", "--resume=d" })
  t.same(o, { plan = true, json = "-", quiet = false, resume = "d" })
end)

t.case("a declaration that is no table is named", function()
  t.raises("option bs: its declaration must be a table, not 4k", options, { bs = "4k" }, {})
  t.raises('option bs: its default: "4x" is not a size', options,
    { bs = { type = "size", default = "4x" } }, {})
end)

t.case("what an experiment says is not mixed with its result", function()
  local say = require("iolua.options").say
  local out, lines = io.stdout, {}
  rawset(io, "stdout", { write = function(_, ...) lines[#lines + 1] = table.concat { ... } end })
  for _, values in ipairs { {}, { json = "r.json" }, { quiet = true }, { json = "-" },
    { csv = "-" }, { html = "-" } } do
    say(values)("%d %s", 7, "x")
  end
  rawset(io, "stdout", out)
  t.equal(table.concat(lines), "7 x\n7 x\n")
end)

t.done()
