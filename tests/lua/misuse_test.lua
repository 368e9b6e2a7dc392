-- What a script gets wrong is named with its rule, in its own line.
local t = require "check"
local iolua = require "iolua"

local function refused(part, fn, ...)
  local message = t.raises(part, fn, ...)
  t.equal(message:find("attempt to", 1, true), nil, "a fault of ours: " .. message)
end

t.case("targets that are none are refused before anything is opened", function()
  local read = { rw = "read" }
  for _, target in ipairs { io.stdout, iolua.buffer(512), iolua.hist(), 5, false, print,
                            setmetatable({}, {}) } do
    read.target = target
    refused("not a file, a path or a device", iolua.job, read)
    read.target = { target }
    refused("target 1 is", iolua.job, read)
  end
  read.target = { x = "/dev/null" }
  refused('a list has no entry "x"', iolua.job, read)
  read.target = {}
  refused("needs a target", iolua.job, read)
end)

t.case("sizes of a mix that are the same one are refused", function()
  refused("4096 is named twice", iolua.job, { target = "/dev/zero", rw = "read",
    bs = { ["4k"] = 50, [4096] = 50 } })
end)

t.case("a CPU list takes no entry that it would leave out, and no endless length", function()
  for _, list in ipairs { { a = 1 }, { [0] = 1 }, { 0, a = 1 }, { [7] = 1 },
                          setmetatable({}, { __len = function() return 1 << 60 end }),
                          setmetatable({}, { __len = function() return -1 end }) } do
    refused("CPU list: a table is", iolua.cpuset, list)
  end
  local proxy = setmetatable({}, { __len = function() return 2 end,
                                   __index = function(_, i) return i end })
  t.equal(tostring(iolua.cpuset(proxy)), "1-2")
end)

t.case("buffers take sizes in words", function()
  local b <close> = iolua.buffer("64k")
  t.equal(#b, 65536)
  refused("buffer: ", iolua.buffer, "64q")
  refused("not in 1..", iolua.buffer, 0)
end)

t.case("settings of what is no disk's file are the caller's fault", function()
  for _, what in ipairs { 5, true, print } do
    refused("is no file, volume or path", iolua.settings.set, what, {})
    refused("is no file, volume or path", iolua.settings.get, what)
    refused("is no file, volume or path", iolua.settings.irq, what)
  end
end)

t.case("option tables that are none", function()
  refused("not number", iolua.options, 5)
  refused("not number", iolua.env.read, 5)
end)

t.case("an experiment that an asked-for --plan does not reach refuses to run", function()
  local ran = false
  local e = { name = "x", factors = { a = { 1 } }, replicates = 1,
              measure = function() ran = true return { v = 1 } end }
  local opt = iolua.options({ experiment = true }, { "--plan" })
  refused("--plan does not reach it", iolua.experiment, e)
  t.equal(ran, false)
  e.plan = false
  iolua.experiment(e)
  t.equal(ran, true, "a script that decides itself")
  t.equal(opt.plan, true)
  iolua.options({ experiment = true }, {})
end)

t.case("a scratch file larger than the disk is refused before a byte is written", function()
  local core = require "iolua.core"
  local free = core.folder.free("/var/tmp")
  t.ok(free and free > 0, "free bytes")
  t.equal(core.folder.free("/nowhere"), nil)
  local before = core.clock.now()
  local f, message, errno = iolua.scratch.file { size = free + (1 << 40), folder = "/var/tmp" }
  t.equal(f, nil)
  t.contains(message, "are free in /var/tmp")
  t.equal(errno, 28)
  t.ok(core.clock.now() - before < 1e9, "refused at once")
end)

t.case("options and keys that mean nothing are refused", function()
  local b <close> = iolua.buffer(512)
  refused('unknown option "nope"', b.fill, b, { nope = 1 })
  refused('unknown key "hlp"', iolua.options, { x = { type = "size", hlp = "y" } }, {})
  refused('unknown type "sise"', iolua.options, { x = { type = "sise" } }, {})
  refused("no name for an option", iolua.options, { help = { type = "size" } }, {})
  refused("no name for an option", iolua.options, { ["a b"] = { type = "size" } }, {})
  refused("unknown option", iolua.settings.set, "/nowhere", {}, { leg = true })
end)

local function experiment(measure)
  return iolua.experiment { name = "x", factors = { a = { 1, 2 } }, replicates = 2, seed = 1,
    quiet = true, measure = measure }
end

t.case("a plot of names that there are not is refused", function()
  local e = experiment(function(case) return { v = case.a } end)
  refused('no factor "q"', e.plot, e, { x = "q", y = "v" })
  refused('no metric "zz"', e.plot, e, { x = "a", y = "zz" })
  refused("unknown option nope", e.plot, e, { x = "a", nope = 1 })
end)

t.case("an experiment of which every run failed can be reported", function()
  local e = experiment(function() error("no luck", 0) end)
  t.equal(e:measured(), false)
  t.equal(require("iolua.report.plot").text(e), "")
  t.equal(e:plot {}, e)
end)

t.case("a closed target says so", function()
  local f = assert(iolua.open("/dev/zero"))
  f:close()
  refused("target 1 is closed", iolua.job, { target = f, rw = "read" })
end)

t.case("a text of a megabyte is not repeated whole", function()
  local ok, message = pcall(iolua.job, { target = "/dev/zero", rw = "read",
                                         iodepth = 1, bs_max = ("9"):rep(1 << 20) })
  t.equal(ok, false)
  t.ok(#message < 500, "length of the message")
  t.ok(#select(2, iolua.units.ns(("x"):rep(1 << 20))) < 500, "length of the message")
end)

t.done()
