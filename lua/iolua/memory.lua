--- Memory bounded by a control group: what this process, or a program, may keep in the page
--- cache and have for itself.
--
-- `memory.bound("64m")` makes a group of its own (version 2: memory.max, version 1:
-- memory.limit_in_bytes) below the one we are in or, where version 2 allows no processes
-- above groups, beside it; moves this whole process into it; and back when closed. It is
-- recorded before it is made: what a killed run leaves is removed at the next start. Pages
-- that were charged before stay where they are.
local attr = require "iolua.attr"
local core = require "iolua.core"
local journal = require "iolua.journal"
local units = require "iolua.units"

local memory = { undo = {} }

local LEAST = 4 << 20           -- below it the process itself has no room: the kernel kills it
local EBUSY, EOPNOTSUPP = 16, 95
local REMOVE_TRIES = 40         -- of 50 ms: processes that are ending hold a group

local active                    -- the bound this process is in
local made = 0

local function text_of(path)
  local f <close>, message, errno = io.open(path)
  if not f then return nil, message, errno end
  return f:read("a")
end

-- Where a hierarchy is mounted, and the folder of our group in it.
local function folder_of(kind, option, group)
  for line in (text_of("/proc/self/mountinfo") or ""):gmatch("[^\n]+") do
    local root, point, fs, super = line:match("^%d+ %d+ %S+ (%S+) (%S+) .- %- (%S+) %S+ (%S+)")
    if fs == kind and ("," .. super .. ","):find("," .. option, 1, true) then
      if root ~= "/" and group:sub(1, #root) == root then group = group:sub(#root + 1) end
      local folder = (point .. group):gsub("/+$", "")
      if core.attr.list(folder) then return folder, point end
      return point, point
    end
  end
end

-- Our group: version, its folder, the top of its hierarchy.
local function ours()
  local text = text_of("/proc/self/cgroup") or ""
  local old = text:match("%f[^\n\0]%d+:memory:([^\n]*)")
    or text:match("%f[^\n\0]%d+:[^:\n]*,memory:([^\n]*)")
    or text:match("%f[^\n\0]%d+:memory,[^:\n]*:([^\n]*)")
  if old then
    local folder, top = folder_of("cgroup", "memory,", old)
    if folder then return 1, folder, top end
  end
  local new = text:match("%f[^\n\0]0::([^\n]*)")
  local folder, top = nil, nil
  if new then folder, top = folder_of("cgroup2", "", new) end
  if folder then return 2, folder, top end
  return nil, "memory: no control groups are mounted here", EOPNOTSUPP
end

local function has_word(path, word)
  return ((" " .. (core.attr.read(path) or "") .. " "):gsub("%s", " "))
    :find(" " .. word .. " ", 1, true) ~= nil
end

-- The controller for the groups below the top: recorded, switched on.
local function enable(top)
  local target = top .. "/cgroup.subtree_control"
  local id, message, errno = journal.add { { kind = "subtree", target = target, old = "memory" } }
  if not id then return nil, message, errno end
  journal.note { { id = id } }
  local ok, why, code = attr.write(target, "+memory")
  journal.note { { id = id, now = ok and "+memory", done = not ok or nil } }
  return ok, why, code
end

-- Folders of version 2 in which a new group would have the controller, ours first.
local function parents_v2(folder, top)
  local list = {}
  while true do
    if has_word(folder .. "/cgroup.subtree_control", "memory") then list[#list + 1] = folder end
    if #folder <= #top then break end
    folder = folder:match("^(.*)/[^/]*$")
  end
  if #list > 0 then return list end
  if not has_word(top .. "/cgroup.controllers", "memory") then
    return nil, ("memory: no memory controller in %s (it is off, or of version 1 and not "
      .. "mounted)"):format(top), EOPNOTSUPP
  end
  local ok, message, errno = enable(top)
  if not ok then return nil, "memory: " .. message, errno end
  return { top }
end

local function parents(version, folder, top)
  if version == 1 then return { folder } end
  return parents_v2(folder, top)
end

local function limit_file(version)
  return version == 1 and "/memory.limit_in_bytes" or "/memory.max"
end

-- A new group in a folder, with its limit.
local function make_in(parent, from, version, bytes)
  made = made + 1
  local pid = text_of("/proc/self/stat"):match("^%d+")
  local path = ("%s/iolua-%s-%d"):format(parent, pid, made)
  local id, message, errno = journal.add { { kind = "memory", target = path, old = from } }
  if not id then return nil, message, errno end
  journal.note { { id = id } }
  local ok, why, code = core.folder.make(path)
  if ok then ok, why, code = attr.write(path .. limit_file(version), ("%d"):format(bytes)) end
  if not ok then
    memory.undo.memory.undo { target = path, old = from }
    journal.note { { id = id, done = true } }
    return nil, why, code
  end
  journal.note { { id = id, now = "made" } }
  return { path = path, from = from, record = id, version = version, bytes = bytes }
end

local function make(bytes)
  local version, folder, top = ours()
  if not version then return nil, folder, top end
  local list, message, errno = parents(version, folder, top)
  if not list then return nil, message, errno end
  for _, parent in ipairs(list) do
    local group, why, code = make_in(parent, folder, version, bytes)
    if group then return group end
    if not message then
      message, errno = ("memory: a control group in %s: %s"):format(parent, why), code
    end
  end
  return nil, message, errno
end

-- All processes of a group to another: there they were, or above it.
local function move_all(path, to)
  if not core.attr.list(to) or not text_of(to .. "/cgroup.procs") then
    to = path:match("^(.*)/[^/]*$")
  end
  for pid in (text_of(path .. "/cgroup.procs") or ""):gmatch("%d+") do
    attr.write(to .. "/cgroup.procs", pid)
  end
end

local function there(path) return text_of(path .. "/cgroup.procs") ~= nil end

local function undo(record)
  local message, errno
  for i = 1, REMOVE_TRIES do
    if not there(record.target) then return true end
    move_all(record.target, record.old)
    local ok
    ok, message, errno = core.fiber.rmdir(record.target)
    if ok then return true end
    if errno ~= EBUSY or i == REMOVE_TRIES then break end
    require("iolua.fiber").sleep("50ms")
  end
  return nil, message, errno
end

memory.undo.memory = {
  look = function(record) return there(record.target) and "ours" or "gone" end,
  undo = undo,
}

-- Groups that somebody bounded meanwhile need the controller.
local function others_use(top)
  for _, name in ipairs(attr.list(top)) do
    local max = core.attr.read(top .. "/" .. name .. "/memory.max")
    if max and max ~= "max" and not name:find("^iolua%-") then return true end
  end
  return false
end

memory.undo.subtree = {
  look = function(record)
    if not has_word(record.target, record.old) then return "same" end
    if others_use(record.target:match("^(.*)/")) then return "gone" end
    return "ours"
  end,
  undo = function(record) return attr.write(record.target, "-" .. record.old) end,
}

---@class iolua.memorybound
---@field path string      folder of the group
---@field bytes integer
---@field version integer  of control groups
local bound = {}
bound.__index = bound
bound.__name = "iolua.memorybound"

--- Page-cache pages that had been dropped from this group and were read again, so far.
---@return integer? pages  nil where the kernel does not count them
function bound:refaults()
  local text = self.path and text_of(self.path .. "/memory.stat") or ""
  return math.tointeger(tonumber(text:match("workingset_refault_file (%d+)")
    or text:match("workingset_refault (%d+)")))
end

--- Bytes that are charged to it now.
---@return integer?
function bound:used()
  local file = self.version == 1 and "/memory.usage_in_bytes" or "/memory.current"
  return self.path and math.tointeger(tonumber(core.attr.read(self.path .. file)))
end

--- Back to where the process was; the group is removed. Closing twice is allowed.
---@return true?
---@return string? message
---@return integer? errno
function bound:close()
  if not self.path then return true end
  local path = self.path
  self.path = nil
  if active == self then active = nil end
  if self.version == 1 then       -- its pages would hold the group's memory until they go
    move_all(path, self.from)
    attr.write(path .. "/memory.force_empty", "0")
  end
  local ok, message, errno = undo { target = path, old = self.from }
  if not ok then return nil, "memory: " .. message, errno end
  journal.note { { id = self.record, done = true } }
  return true
end

bound.__close = bound.close

local function size_of(size, level)
  local bytes = type(size) == "string" and units.bytes(size) or math.tointeger(size)
  if not bytes or bytes < LEAST then
    error(("memory = %s: it is a size of %s or more"):format(tostring(size),
      units.format_bytes(LEAST)), level + 1)
  end
  return bytes
end

--- A group with so much memory, which nobody is in yet: for a program (iolua.run's cgroup).
---@param size integer|string
---@return iolua.memorybound?
---@return string? message
---@return integer? errno
function memory.group(size)
  local group, message, errno = make(size_of(size, 2))
  if not group then return nil, message, errno end
  return setmetatable(group, bound)
end

--- Bound this process, with all that it reads through the page cache from now on.
---@param size integer|string  bytes, 4 MiB or more
---@return iolua.memorybound?  to be closed
---@return string? message     "memory: ...": who or what does not allow it
---@return integer? errno
function memory.bound(size)
  local bytes = size_of(size, 2)
  if active then
    return nil, ("memory: this process is bounded to %s already"):format(
      units.format_bytes(active.bytes)), EBUSY
  end
  local group, message, errno = make(bytes)
  if not group then return nil, message, errno end
  setmetatable(group, bound)
  local ok, why, code = attr.write(group.path .. "/cgroup.procs", "0")
  if not ok then
    local path = group.path
    group:close()
    return nil, ("memory: joining %s: %s"):format(path, why), code
  end
  active = group
  return group
end

--- The bound this process is in.
---@return iolua.memorybound?
function memory.current() return active and active.path and active or nil end

--- Page-cache pages that had been dropped and were read again: of our bound, else of the
--- whole machine.
---@return integer? pages
---@return string of  "group" or "machine"
function memory.refaults()
  local group = memory.current()
  if group then return group:refaults(), "group" end
  local text = text_of("/proc/vmstat") or ""
  return math.tointeger(tonumber(text:match("workingset_refault_file (%d+)")
    or text:match("workingset_refault (%d+)"))), "machine"
end

return memory
