-- Option tables: defaults, conversion, and messages that name the nearest right thing.
local t = require "check"
local schema = require "iolua.schema"
local nearest = require "iolua.nearest"

local SPEC = {
  rw = { type = "choice", choices = { "read", "write", "randread" }, required = true },
  bs = { type = "size", default = "4k", min = 1, max = 1 << 31 },
  iodepth = { type = "integer", default = 1, min = 1, max = 32768 },
  runtime = { type = "duration" },
  direct = { type = "boolean", default = false },
  ratio = { type = "number", min = 0, max = 1 },
  target = { type = "path|table" },
  targets = { type = "path", list = true },
  mem = { type = "table", fields = { node = { type = "integer", min = 0 } } },
  on_interval = { type = "function" },
  cpus = { type = "cpuset" },
}

local function check(options) return schema.check(SPEC, options, 1, "job") end

t.case("defaults are filled in and units converted", function()
  local given = { rw = "read", runtime = "1.5s", targets = "/a", mem = { node = 1 } }
  local got = check(given)
  t.same(got, { rw = "read", bs = 4096, iodepth = 1, runtime = 1500000000, direct = false,
    targets = { "/a" }, mem = { node = 1 } })
  t.equal(given.bs, nil, "the given table stays as it was")
end)

t.case("integral floats become integers", function()
  t.equal(math.type(check({ rw = "read", iodepth = 32.0 }).iodepth), "integer")
end)

t.case("false is a value and not a missing one", function()
  t.equal(schema.check({ a = { type = "boolean", default = true } }, { a = false }).a, false)
end)

for name, case in pairs {
  ["an unknown key"] = { { rw = "read", runtme = 1 },
    'unknown option "runtme"; did you mean "runtime"?' },
  ["a swap"] = { { rw = "read", idoepth = 1 }, 'did you mean "iodepth"?' },
  ["a dash"] = { { rw = "read", ["on-interval"] = 1 }, 'did you mean "on_interval"?' },
  ["a prefix"] = { { rw = "read", run = 1 }, 'did you mean "runtime"?' },
  ["a key like no other"] = { { rw = "read", zzzzzz = 1 },
    "known: bs, cpus, direct, iodepth, mem, on_interval, ratio, runtime, rw, target, targets" },
  ["a position"] = { { "read", rw = "read" }, "unknown option 1" },
  ["a missing key"] = { {}, "rw is missing" },
  ["a choice"] = { { rw = "reda" },
    'rw = "reda" is not one of read, write, randread; did you mean "read"?' },
  ["a size"] = { { rw = "read", bs = "4kk" }, 'bs = "4kk" is not a size' },
  ["a fraction of a byte"] = { { rw = "read", bs = 65.5 }, "bs = 65.5 is not a size" },
  ["a number as text"] = { { rw = "read", iodepth = "32" },
    'iodepth = "32" is not an integer (1 to 32768); write 32' },
  ["a fraction"] = { { rw = "read", iodepth = 1.75 },
    "1.75 is not an integer (1 to 32768); write 2" },
  ["not a number"] = { { rw = "read", ratio = 0 / 0 }, "is not a number (0 to 1)" },
  ["too little"] = { { rw = "read", iodepth = 0 },
    "iodepth = 0 is out of range: it must be 1 to 32768; the nearest is 1" },
  ["too much"] = { { rw = "read", bs = "4g" },
    "it must be 1 B to 2 GiB; the nearest is 2 GiB" },
  ["a time in seconds"] = { { rw = "read", runtime = 5 }, 'write "5s" for seconds' },
  ["a time without unit"] = { { rw = "read", runtime = "5" },
    'it needs a unit, as in "5s"' },
  ["a time of the wrong type"] = { { rw = "read", runtime = true },
    "runtime = true is not a duration" },
  ["a boolean as text"] = { { rw = "read", direct = "yes" },
    'direct = "yes" is not a boolean; write true' },
  ["two types"] = { { rw = "read", target = 1 },
    "target = 1 is not a path, and 1 is not a table" },
  ["an item of a list"] = { { rw = "read", targets = { "/a", 2 } },
    "targets: item 2: 2 is not a path" },
  ["a key in a list"] = { { rw = "read", targets = { "/a", x = "/b" } },
    '"x" is a key of what must be a list' },
  ["an item that is no list"] = { { rw = "read", targets = { at = 1 } },
    '"at" is a key of what must be a list; one item alone is { { at = ... } }' },
  ["a hole in a list"] = { { rw = "read", targets = { [1] = "/a", [7] = "/b" } },
    "7 is a key" },
  ["a nested key"] = { { rw = "read", mem = { nod = 1 } },
    'mem: unknown option "nod"; did you mean "node"?' },
  ["a nested value"] = { { rw = "read", mem = { node = -1 } },
    "mem: node = -1 is out of range" },
  ["no function"] = { { rw = "read", on_interval = 1 },
    "on_interval = 1 is not a function" },
  ["a NUL"] = { { rw = "read", target = "/a\0b" }, "is not a path" },
} do
  t.case("refuses " .. name, function() t.raises(case[2], check, case[1]) end)
end

t.case("options must be a table", function()
  t.raises("job: options must be a table, not nil", check, nil)
end)

t.case("the error points at the caller", function()
  local function job(options) local got = schema.check(SPEC, options, 2, "job"); return got end
  local line = debug.getinfo(1, "l").currentline + 1
  local message = t.raises("job: rw is missing", function() local r = job {}; return r end)
  t.contains(message, (":%d: job: rw is missing"):format(line))
end)

t.case("a zero duration is allowed unless a bound says otherwise", function()
  local spec = { ramp_time = { type = "duration", default = 0 },
                 runtime = { type = "duration", min = 1000 } }
  t.equal(schema.check(spec, {}).ramp_time, 0)
  t.raises("1 us or more", schema.check, spec, { runtime = 0 })
end)

t.case("an entry may check further", function()
  local spec = { even = { type = "integer", check = function(v)
    if v % 2 == 0 then return v end
    return nil, ("%d is odd"):format(v)
  end } }
  t.equal(schema.check(spec, { even = 2 }).even, 2)
  t.raises("even = 3 is odd", schema.check, spec, { even = 3 })
end)

t.case("choices narrow any type", function()
  local spec = { width = { type = "integer", choices = { 1, 2, 4 } } }
  t.equal(schema.check(spec, { width = 2 }).width, 2)
  t.raises("width = 3 is not one of 1, 2, 4", schema.check, spec, { width = 3 })
end)

t.case("a spec with an unknown type is an error of its own", function()
  t.raises('unknown type "sise"; did you mean "size"?', schema.check, { a = { type = "sise" } },
    { a = 1 })
end)

t.case("defaults are not shared between calls", function()
  local spec = { list = { type = "integer", list = true, default = { 1 } } }
  local a = schema.check(spec, {})
  a.list[1] = 7
  t.equal(schema.check(spec, {}).list[1], 1)
end)

t.case("the nearest name is found, or none", function()
  t.equal(nearest.find("iodpeth", { "bs", "iodepth" }), "iodepth")
  t.equal(nearest.find("x", { "runtime" }), nil)
  t.equal(nearest.find("RunTime", { "runtime" }), "runtime")
  t.equal(nearest.find("size", { "bs", "io_size", "sizes" }), "sizes")
end)

t.done()
