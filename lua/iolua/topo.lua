--- iolua.topo: this machine's CPUs, caches, nodes and packages; what is near and what is far.
--
-- `iolua.topo()` is this machine, `iolua.topo { synthetic = "pack:2 core:4 pu:2" }` one that is
-- only described, `iolua.topo { xml = path }` one that hwloc wrote down elsewhere. Objects have
-- logical indexes from 0; CPUs and nodes are named by the numbers of the OS, which are not the
-- same. Nothing can be placed by a topology that is not this machine.
local core = require "iolua.core"
local nearest = require "iolua.nearest"

---@class iolua.topology
local Topology = {}
Topology.__index = Topology
Topology.__name = "iolua.topology"

local function check_type(self, name, level)
  if type(name) == "string" then
    if self.known[name] then return name end
    local types = core.topo.types()
    for _, known in ipairs(types) do self.known[known] = true end
    if self.known[name] then return name end
    error(("topo: unknown type %q%s"):format(name, nearest.hint(name, types)), level + 1)
  end
  error(("topo: a type is a string such as \"core\", not %s"):format(type(name)), level + 1)
end

-- Ask the handle; what is wrong with an argument is the fault of the script's line.
local function ask(self, method, ...)
  local ok, answer = pcall(self.handle[method], self.handle, ...)
  if ok then return answer end
  answer = tostring(answer):gsub("^bad argument #%d+ to '.-' %((.*)%)$", "%1")
  error("topo: " .. answer, 3)
end

--- Is it this machine?
---@return boolean
function Topology:here() return self.handle:here() end

--- The CPUs of the machine: all that are online, allowed here or not.
---@return iolua.cpuset
function Topology:cpus() return self.handle:cpus() end

--- The CPUs a script may be placed on: what taskset and cgroups leave of this machine; all of
--- one that is not this machine.
---@return iolua.cpuset
function Topology:allowed()
  if not self.handle:here() then return self.handle:cpus() end
  return assert(core.place.cpus()).allowed
end

--- How many objects of a type there are.
---@param kind string  "core", "numanode", "l3cache", ...
---@return integer
function Topology:count(kind) return self.handle:count(check_type(self, kind, 2)) end

--- One object: { type, index, number, bytes, cpus, name }. `number` is the OS's, `bytes` a
--- cache's size or a node's memory.
---@param kind string
---@param index integer  logical, from 0
---@return table
function Topology:object(kind, index)
  return (ask(self, "object", check_type(self, kind, 2), index))
end

--- The CPUs of one object; none for a node without CPUs.
---@param kind string
---@param index integer  logical, from 0
---@return iolua.cpuset
function Topology:cpuset(kind, index)
  return (ask(self, "object", check_type(self, kind, 2), index)).cpus
end

--- The nodes: { number, cpus, bytes } each. One may have no CPU, or no memory.
---@return table[]
function Topology:nodes()
  local list = {}
  for i = 1, self.handle:count("numanode") do list[i] = self.handle:object("numanode", i - 1) end
  table.sort(list, function(a, b) return a.number < b.number end)
  return list
end

--- The smallest thing two CPUs share.
---@param a integer
---@param b integer
---@return "same"|"smt"|"cache"|"node"|"package"|"machine"
function Topology:relation(a, b) return (ask(self, "relation", a, b)) end

local function pick(self, how, cpu, among)
  local found = ask(self, how, cpu, among or self:allowed())
  if found then return found end
  local set = core.cpuset.new(among or self:allowed())
  return nil, ("%s CPU to %d: no other one is among %s"):format(how, cpu,
    #set == 0 and "none" or tostring(set)), "none allowed"
end

--- The other CPU that is nearest to one: its SMT sibling where it has one.
---@param cpu integer
---@param among? any  CPU list to choose from; default: those allowed
---@return integer? cpu
---@return string? message
---@return string? outcome  "none allowed"
function Topology:nearest(cpu, among)
  return pick(self, "nearest", cpu, among)
end

--- The other CPU that is farthest from one.
---@param cpu integer
---@param among? any  CPU list to choose from; default: those allowed
---@return integer? cpu
---@return string? message
---@return string? outcome  "none allowed"
function Topology:farthest(cpu, among)
  return pick(self, "farthest", cpu, among)
end

--- The kinds of core, the most efficient first: { cpus, efficiency, name } each. A machine with
--- one kind has one entry.
---@return table[]
function Topology:kinds()
  local kinds = self.handle:kinds()
  if #kinds == 0 then kinds[1] = { cpus = self.handle:cpus() } end
  return kinds
end

-- A file, a path, or a volume: its path or, in user space, its members.
local function places(f)
  if type(f) == "string" then return { f }, f end
  local path = (type(f) == "table" or type(f) == "userdata") and f.path
  if type(path) == "function" then return { f }, f:path() end
  if type(path) == "string" then return { path }, path end
  if type(f) == "table" and type(f.members) == "table" then return f.members, "the volume" end
  error(("near: a file, a path or a volume expected, not %s"):format(type(f)), 4)
end

-- What all of them are near, together.
local function near_all(list, name)
  local all
  for _, part in ipairs(list) do
    local inner, label = places(part)
    local one, reason, errno
    if #inner == 1 and rawequal(inner[1], part) or type(inner[1]) == "string" then
      one, reason, errno = core.topo.near(inner[1])
      if not one then return nil, ("near %s: %s"):format(label, reason), errno end
    else
      one, reason, errno = near_all(inner, label)
      if not one then return nil, reason, errno end
    end
    if not all then
      all = one
    else
      all.cpus = all.cpus | one.cpus
      all.tied = all.tied and one.tied
      if all.node ~= one.node then all.node = nil end
    end
  end
  if not all then return nil, ("near %s: it has no members"):format(name), "no disk" end
  return all
end

--- The CPUs near the disk under a file, path or volume, of those that may be used; all of them
--- where a disk is not tied to a place. On a topology that is not this machine: of the device
--- with this name ("sda").
---@param f any  file, path, folder of sysfs, or volume
---@return iolua.cpuset? cpus
---@return integer|string|nil node  OS number of the node where it is known; or the message
---@return string|integer|nil outcome  "none allowed", "no cpu" (its node has none), "not this
--- machine", or the errno where no disk is known
---@return iolua.cpuset? near  with "none allowed": what is near
function Topology:near(f)
  if not self.handle:here() then
    if type(f) == "string" and not f:find("/", 1, true) then return self.handle:device(f) end
    return nil, "near: this topology is not this machine", "not this machine"
  end
  local list, name = places(f)
  local near, message, errno = near_all(list, name)
  if not near then return nil, message, errno end
  local usable = near.cpus & self:allowed()
  if #usable > 0 then return usable, near.node end
  if #near.cpus == 0 then
    return nil, ("near %s: its node%s has no CPU"):format(name,
      near.node and " " .. near.node or ""), "no cpu", near.cpus
  end
  return nil, ("near %s: none of its CPUs %s is allowed here; allowed: %s"):format(name,
    near.cpus, self:allowed()), "none allowed", near.cpus
end

local function described_disks(self)
  local list = {}
  for _, object in ipairs(self.handle:walk()) do
    if object.type == "disk" then list[#list + 1] = { name = object.name, cpus = object.cpus } end
  end
  return list
end

-- One disk of this machine, nil for one that holds nothing (a loop device that is not set up).
local function live_disk(name)
  local folder = "/sys/block/" .. name
  local near = core.topo.near(folder)
  if not near or core.attr.read(folder .. "/size") == "0" then return nil end
  local controller = core.topo.controller(folder)
  return { name = name, cpus = near.cpus, node = near.node, tied = near.tied,
    controller = controller and controller:match("[^/]+$") }
end

--- The disks and volumes: { name, cpus, node, tied, controller } each, by name. `cpus` are near
--- it, allowed here or not; `tied` is false where all are equally near; `controller` is its
--- PCI address. A topology that is not this machine tells names and CPUs only.
---@return table[]? disks
---@return string? message
---@return integer? errno
function Topology:disks()
  local list = {}
  if not self.handle:here() then
    list = described_disks(self)
  else
    local names, message, errno = core.attr.list("/sys/block")
    if not names then return nil, message, errno end
    for _, name in ipairs(names) do list[#list + 1] = live_disk(name) end
  end
  table.sort(list, function(a, b) return a.name < b.name end)
  return list
end

local function refuse(self, what)
  if self.handle:here() then return nil end
  return ("%s: this topology is not this machine"):format(what)
end

--- Pin the calling thread, as iolua.pin does; refused on a topology that is not this machine.
---@param set any  CPU list
---@return boolean?
---@return string? message
---@return integer|string|nil errno
function Topology:pin(set)
  local message = refuse(self, "pin")
  if message then return nil, message, "not this machine" end
  return core.place.pin(set)
end

--- Put a buffer's memory on a node.
---@param buf iolua.buf
---@param node integer  OS number
---@return boolean?
---@return string? message
---@return integer|string|nil errno
function Topology:bind(buf, node)
  local message = refuse(self, "bind")
  if message then return nil, message, "not this machine" end
  return core.place.memory(buf, node)
end

--- The machine as text, a line an object, indented.
---@return string
function Topology:tree() return require("iolua.tree").text(self.handle:walk()) end

function Topology:__tostring()
  local ok, text = pcall(self.tree, self)
  return ok and text or "topology (closed)"
end

--- Give the memory back; optional, and twice is allowed.
function Topology:close() self.handle:close() end

Topology.__close = Topology.close

local OPTIONS = { "synthetic", "xml" }

local function check_options(options)
  if options == nil then return {} end
  if type(options) ~= "table" then
    error(("topo: options are a table, not %s"):format(type(options)), 3)
  end
  for key, value in pairs(options) do
    if key ~= "synthetic" and key ~= "xml" then
      error(("topo: unknown option %s%s"):format(tostring(key), nearest.hint(key, OPTIONS)), 3)
    elseif type(value) ~= "string" then
      error(("topo: %s is a string, not %s"):format(key, type(value)), 3)
    end
  end
  if options.synthetic and options.xml then error("topo: synthetic or xml, not both", 3) end
  return options
end

local topo = {}

--- A CPU set from a list ("0-3,8-11:2"), a table of numbers, a number or a set.
topo.cpuset = core.cpuset.new

--- Pin the calling thread; true, or nil and which CPU is absent, offline or not allowed.
topo.pin = core.place.pin

--- The CPUs the calling thread may run on now.
topo.pinned = core.place.pinned

--- Open a topology; the module itself may be called instead.
---@param options? { synthetic: string, xml: string }
---@return iolua.topology?
---@return string? message
---@return integer? errno
function topo.open(options)
  local machine = package.loaded["iolua.machine"]
  options = check_options(options or machine and machine.topology() or nil)
  local handle, message, errno = core.topo.open(options.synthetic, options.xml)
  if not handle then return nil, message, errno end
  return setmetatable({ handle = handle, known = {} }, Topology)
end

return setmetatable(topo, { __call = function(_, options) return topo.open(options) end })
