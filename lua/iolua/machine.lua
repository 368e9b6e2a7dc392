--- A described machine in place of this one: `iolua --machine FILE.lua SCENARIO`.
--
-- FILE gives a table: its devices, the buses they share, its CPUs, and what it lacks. Their paths
-- open as simulated devices, the topology is the described one, jobs run in virtual time and
-- iolua.sleep passes it. What is not described stays real: files for results, say; other devices
-- are not there.
local core = require "iolua.core"
local fiber = require "iolua.fiber"
local schema = require "iolua.schema"
local sim = require "iolua.sim"
local units = require "iolua.units"

local machine = {}

local ENOENT = 2

local SPEC = {
  name = { type = "string", required = true, help = "what results say it is" },
  topology = { type = "table", fields = { synthetic = { type = "string" },
    xml = { type = "path" } }, help = "{ synthetic = \"pack:4 core:2 pu:1\" } or { xml = path }" },
  buses = { type = "table", default = {}, help = "name = options of iolua.sim.bus" },
  devices = { type = "table", required = true,
    help = "path = options of iolua.sim.device, bus by name; node, remote: see docs/sim.md" },
  lacks = { type = "table", default = {}, help = "what it has not: a list of words" },
}

local PLACE = {
  node = { type = "integer", min = 0, help = "OS number of the node it is at" },
  remote = { type = "duration", default = 0, help = "what an operation from another node adds" },
}

local current                           -- the machine in use, or nil

local function misuse(text, ...) error(("machine: " .. text):format(...), 0) end

-- Where a device is, apart from what iolua.sim.device takes.
local function place_of(options)
  local place, rest = {}, {}
  for key, value in pairs(options) do
    local into = PLACE[key] and place or rest
    into[key] = value
  end
  return schema.check(PLACE, place, 1, "machine"), rest
end

local function build_device(path, options, buses)
  local place, rest = place_of(options)
  if type(rest.bus) == "string" then
    rest.bus = buses[rest.bus] or misuse("%s: there is no bus %q", path, rest.bus)
  end
  rest.name = rest.name or path
  local device = sim.device(rest)
  device.node, device.remote_ns = place.node, place.remote
  return device
end

-- Nodes of a topology: { number, cpus = set of CPU numbers } each.
local function nodes_of(topology)
  local nodes = {}
  if not topology then return nodes end
  local topo <close> = assert(require("iolua.topo").open(topology))
  for i, node in ipairs(topo:nodes()) do
    nodes[i] = { number = node.number, cpus = {} }
    for cpu in node.cpus:each() do nodes[i].cpus[cpu] = true end
  end
  return nodes
end

local function build(description)
  local m = schema.check(SPEC, description, 1, "machine")
  local buses, devices, paths = {}, {}, {}
  for name, options in pairs(m.buses) do buses[name] = sim.bus(options) end
  for path, options in pairs(m.devices) do
    devices[path] = build_device(path, options, buses)
    paths[#paths + 1] = path
  end
  table.sort(paths)
  local lacks = {}
  for _, what in ipairs(m.lacks) do lacks[what] = true end
  return { name = m.name, topology = m.topology, devices = devices, paths = paths, lacks = lacks,
    nodes = nodes_of(m.topology) }
end

local function load_file(file)
  local chunk, message = loadfile(file, "t")
  if not chunk then misuse("%s", message) end
  local description = chunk()
  if type(description) ~= "table" then misuse("%s gives no table", file) end
  return description
end

-- Virtual time: fibers that sleep, and jobs that take their time.

local clock = { now = 0, sleepers = {}, busy = 0, changes = 0 }

local function earliest(me)
  for _, other in ipairs(clock.sleepers) do
    if other.wake < me.wake or other.wake == me.wake and other.order < me.order then
      return false
    end
  end
  return clock.busy == 0
end

local function leave(me)
  for i, other in ipairs(clock.sleepers) do
    if other == me then table.remove(clock.sleepers, i) break end
  end
end

local sleep_for_real = fiber.sleep

-- The clock moves on when every fiber has had its turn and this one wakes first.
local function pass(ns)
  clock.changes = clock.changes + 1
  local me = { wake = clock.now + ns, order = clock.changes }
  clock.sleepers[#clock.sleepers + 1] = me
  local _ <close> = setmetatable({}, { __close = function() leave(me) end })
  local seen = -1
  while clock.now < me.wake or ns == 0 do
    local quiet = seen == clock.changes
    seen = clock.changes
    if quiet and earliest(me) then
      clock.now = math.max(clock.now, me.wake)
      break
    end
    sleep_for_real(clock.busy > 0 and 1000000 or 0)
  end
  clock.changes = clock.changes + 1
end

local function sleep(time)
  if not current then return sleep_for_real(time) end
  local ns, message = units.ns(time)
  if not ns then error("sleep: " .. message, 2) end
  pass(ns)
end

--- Virtual ns since the machine was taken into use; nil on this machine.
---@return integer?
function machine.now() return current and clock.now end

--- A job on simulated devices, which takes as long as it says by the machine's clock.
---@param run function  gives the result
---@async
function machine.job(run, ...)
  if not current then return run(...) end
  clock.busy = clock.busy + 1
  local function done(ok, r, ...)
    clock.busy, clock.changes = clock.busy - 1, clock.changes + 1
    if not ok then error(r, 0) end
    if r then
      r.machine = r.simulated and current and current.name or nil
      if r.machine then pass(r.end_ns) end   -- its clock began at 0: ramp and window
    end
    return r, ...
  end
  return done(pcall(run, ...))
end

--- Take a machine into use: a file that describes one, its description, or nil for this one.
---@param description string|table|nil
function machine.use(description)
  if type(description) == "string" then description = load_file(description) end
  current = description and build(description) or nil
  clock.now, clock.sleepers = 0, {}
  fiber.sleep = current and sleep or sleep_for_real
  local iolua = package.loaded["iolua"]
  if iolua then rawset(iolua, "sleep", nil) end
end

--- The machine in use: { name, paths, devices, topology, lacks }, or nil for this one.
---@return table?
function machine.current() return current end

--- The options of its topology, nil for this machine's.
function machine.topology() return current and current.topology end

-- The node of a CPU of the described topology, or nil.
local function node_of(cpu)
  for _, node in ipairs(current.nodes) do
    if node.cpus[cpu] then return node.number end
  end
end

--- What each operation of a worker on these CPUs takes more, for being started from another
--- node than the device's: ns. 0 where either has no place.
---@param device table
---@param cpus string?  CPU list of the worker
---@return integer
function machine.distance(device, cpus)
  local first = cpus and math.tointeger(tonumber(cpus:match("^%d+")))
  if not current or not device.node or not first then return 0 end
  return node_of(first) == device.node and 0 or device.remote_ns
end

--- Does it lack that? As in "block events", "device-mapper".
---@param what string
---@return boolean lacks
---@return string? why
function machine.lacks(what)
  if not current or not current.lacks[what] then return false end
  return true, ("%s has no %s"):format(current.name, what)
end

-- Devices are only what is described; character devices and files are this machine's.
local function is_device(path)
  if not path:find("^/dev/") then return false end
  local device, _, errno = core.blk.find(path)
  return device ~= nil or errno == ENOENT
end

--- Is the path the described machine's to open?
---@param path any
---@return boolean
function machine.described(path)
  if not current or type(path) ~= "string" then return false end
  return current.devices[path] ~= nil or is_device(path)
end

--- Open a device of the machine.
---@param path string
---@param options? table  as of iolua.open
---@return table? device
---@return string? message
---@return integer? errno
function machine.open(path, options)
  local device = current.devices[path]
  if not device then
    return nil, ("open %s: %s has no such device; it has %s"):format(path, current.name,
      table.concat(current.paths, ", ")), ENOENT
  end
  return device:opened(options or {})
end

return machine
