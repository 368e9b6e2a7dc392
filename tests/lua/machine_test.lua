-- A described machine in place of this one: devices, time, placement.
local iolua = require "iolua"
local t = require "check"

local machine = iolua.machine

local DESCRIPTION = {
  name = "a test machine", topology = { synthetic = "pack:2 [numa] core:2 pu:1" },
  buses = { b = { bandwidth = 102400000 } },
  devices = {
    ["/dev/one"] = { service = "1ms", size = "1m" },
    ["/dev/two"] = { service = "1ms", size = "1m", bus = "b", node = 1, remote = "250us" },
  },
  lacks = { "block events" },
}

local function on_machine(fn)
  machine.use(DESCRIPTION)
  local ok, err = pcall(fn)
  machine.use(nil)
  if not ok then error(err, 0) end
end

t.case("its devices open by their paths, others are not there, files stay real", function()
  on_machine(function()
    local f <close> = assert(iolua.open("/dev/one", { direct = true }))
    t.equal(f:size(), 1 << 20)
    t.equal(f:path(), "/dev/one")
    local none, message, errno = iolua.open("/dev/vda")
    t.equal(none, nil)
    t.equal(errno, 2)
    t.equal(message, "open /dev/vda: a test machine has no such device; it has /dev/one, /dev/two")
    local null <close> = assert(iolua.open("/dev/null", { write = true, overwrite = true }))
    t.equal(null:type(), "char")
    t.equal(iolua.topo():count("core"), 4)
    t.equal(iolua.topo():here(), false)
    t.ok(machine.lacks("block events"))
    t.equal(machine.lacks("io_uring"), false)
  end)
  t.equal(machine.current(), nil)
  t.ok(iolua.topo():here())
end)

t.case("jobs run there in virtual time and say so", function()
  on_machine(function()
    local r = assert(iolua.job { target = "/dev/one", rw = "randread", runtime = "1h" })
    t.equal(r.machine, "a test machine")
    t.equal(r.simulated, true)
    t.near(r.read.ios, 3600000, 1)
    t.equal(machine.now(), 3600000000000)
    assert(iolua.job { target = "/dev/one", rw = "read", ramp_time = "2s", runtime = "1s" })
    t.equal(machine.now(), 3603000000000)
    local none, message = iolua.job { target = iolua.open("/dev/one"), rw = "write" }
    t.equal(none, nil)
    t.contains(message, "open for reading only")
  end)
end)

t.case("sleeping and working fibers share the machine's clock", function()
  on_machine(function()
    local log = {}
    local function note(name) log[#log + 1] = ("%s %d"):format(name, machine.now() // 1000000) end
    local list = {
      iolua.spawn(function() iolua.sleep("2s") note "a" iolua.sleep("2s") note "a" end),
      iolua.spawn(function() iolua.sleep("3s") note "b" end),
      iolua.spawn(function()
        assert(iolua.job { target = "/dev/one", rw = "randread", runtime = "2500ms" })
        note "job"
      end),
    }
    for _, fiber in ipairs(list) do fiber:join() end
    t.equal(table.concat(log, ", "), "a 2000, job 2500, b 3000, a 4000")
  end)
end)

t.case("an operation from another node than the device's takes longer", function()
  on_machine(function()
    local times = {}
    for cpu = 0, 3 do
      local r = assert(iolua.job { target = "/dev/two", rw = "read", bs = 10240, size = 10240,
        number_ios = 10, cpus = { cpu } })
      times[cpu] = r.read.lat:max()
    end
    t.equal(times[3], 1000000 + 100000)                 -- and 100 us on the bus
    t.equal(times[2], times[3])
    t.equal(times[0], 1000000 + 100000 + 250000)
    t.equal(times[1], times[0])
  end)
end)

t.case("the machines that come with iolua are whole", function()
  for _, name in ipairs { "2005-u320", "affinity-4node" } do
    machine.use(("scenarios/machines/%s.lua"):format(name))
    local m = machine.current()
    for _, path in ipairs(m.paths) do
      local r = assert(iolua.job { target = path, rw = "read", bs = "16k", number_ios = 100 })
      if name == "2005-u320" then t.near(r.read.bytes_per_s / 1e6, 70.52, 0.1) end
    end
    t.equal(#m.paths, name == "2005-u320" and 10 or 4)
    t.equal(iolua.topo():count("package"), 4)
    machine.use(nil)
  end
end)

t.case("--machine gives a script the machine, and says what is wrong with a file", function()
  local path = os.tmpname()
  local f = assert(io.open(path, "w"))
  f:write('local iolua = require "iolua"\n',
    'print(iolua.job({ target = "/dev/sda", rw = "read", bs = "64k", runtime = "10s" }).machine,',
    ' iolua.machine.now(), ...)')
  f:close()
  local output, status = t.run(("%s --machine scenarios/machines/2005-u320.lua %s x"):format(
    arg[-1], path))
  os.remove(path)
  t.equal(output, "2005: 4-way ia64, U320\t10000000000\tx\n")
  t.equal(status, 0)
  output, status = t.run(arg[-1] .. " --machine /nowhere.lua -e 1")
  t.contains(output, "machine: cannot open /nowhere.lua")
  t.equal(status, 1)
  output, status = t.run(arg[-1] .. " --machine")
  t.contains(output, "--machine: needs a file")
  t.equal(status, 2)
end)

t.case("what a description gets wrong is named", function()
  t.raises("there is no bus \"x\"", machine.use, { name = "m",
    devices = { ["/dev/a"] = { bus = "x" } } })
  t.raises("unknown option \"device\"", machine.use, { name = "m", device = {} })
  t.raises("name is missing", machine.use, { devices = {} })
  t.equal(machine.current(), nil)
end)

t.done()
