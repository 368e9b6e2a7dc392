--- A volume of device-mapper as a value: its methods, and how it goes away.
local core = require "iolua.core"
local tables = require "iolua.dm.table"

local EEXIST = 17
local RETRY_NS = 2000000000     -- how long a removal waits for others to let go
local LOOK_NS = 20000000        -- and how often it looks

---@class iolua.mapped
---@field name string
---@field path string     /dev/mapper/...
---@field uuid string
---@field backend "dm"
---@field notes string[]  what is to be known about its table
local mapped = {}
mapped.__index = mapped
mapped.__name = "iolua.mapped"

local made = 0                  -- volumes of this state, for names and UUIDs

local function new(name, uuid)
  return setmetatable({ name = name, path = core.dm.path(name), uuid = uuid, backend = "dm",
    notes = {} }, mapped)
end

local function unique_name()
  return ("iolua-%s-%d"):format(core.dm.prefix():match("^iolua%-(%d+)"), made)
end

local function collect_notes(v, lines)
  for _, line in ipairs(lines) do
    for _, note in ipairs(line.notes or {}) do v.notes[#v.notes + 1] = note end
  end
  return v
end

-- The record comes before the volume: what is killed in between leaves a record of nothing.
local function record(v, path)
  local journal = require "iolua.journal"
  local id, message, errno = journal.add { { kind = "dm", target = path, old = v.uuid } }
  if not id and errno == EEXIST then
    message = ("%s: a volume of this name exists, made by this run"):format(path)
  end
  if not id then return nil, message, errno end
  v.record = id
  return true
end

local function forget(v)
  if not v.record then return end
  require("iolua.journal").note { { id = v.record, done = true } }
  v.record = nil
end

--- Make a volume from checked options: name, lines, read_only, destroy.
---@param o table
---@return iolua.mapped? volume
---@return string? message
---@return integer? errno
function mapped.create(o)
  made = made + 1
  local name = o.name or unique_name()
  local v = new(name, core.dm.prefix() .. made)
  local ok, message, errno = record(v, v.path)
  if not ok then return nil, message, errno end
  ok, message, errno = core.dm.create { name = name, uuid = v.uuid, lines = o.lines,
    read_only = o.read_only, destroy = o.destroy }
  if not ok then
    forget(v)
    return nil, message, errno
  end
  require("iolua.journal").note { { id = v.record, now = v.uuid } }
  v.read_only, v.destroy = o.read_only, o.destroy
  return collect_notes(v, o.lines)
end

--- A volume that exists.
---@param name string
---@return iolua.mapped? volume
---@return string? message
---@return integer? errno
function mapped.open(name)
  local info, message, errno = core.dm.info(name)
  if not info then return nil, message, errno end
  return new(name, info.uuid)
end

--- State: suspended, read_only, open_count, events, major, minor, ...
---@return table? state
---@return string? message
---@return integer? errno
function mapped:info() return core.dm.info(self.name) end

--- Bytes, or nil when it has no table.
---@return integer? bytes
---@return string? message
---@return integer? errno
function mapped:size()
  local lines, message, errno = core.dm.table(self.name)
  if not lines then return nil, message, errno end
  local last = lines[#lines]
  return last and (last.start + last.sectors) * 512 or 0
end

--- Its table as the kernel has it: { start, sectors, type, params }.
---@return table[]? lines
---@return string? message
---@return integer? errno
function mapped:table() return core.dm.table(self.name) end

--- The status of each segment, in `params`.
---@return table[]? lines
---@return string? message
---@return integer? errno
function mapped:status() return core.dm.status(self.name) end

--- Devices its table uses, as MAJOR:MINOR.
---@return string[]? devices
---@return string? message
---@return integer? errno
function mapped:deps() return core.dm.deps(self.name) end

--- Stop all I/O until resume: requests wait. flush = false leaves queued ones where they are.
---@param options? { flush: boolean, lockfs: boolean }
---@return boolean?
---@return string? message
---@return integer? errno
function mapped:suspend(options)
  local o = options or {}
  return core.dm.suspend(self.name, o.flush == false, o.lockfs == false)
end

function mapped:resume() return core.dm.resume(self.name) end

--- Send a message to the target at a sector (default 0).
---@param text string
---@param sector? integer
---@return string? answer
---@return string? message
---@return integer? errno
function mapped:message(text, sector) return core.dm.message(self.name, sector or 0, text) end

--- Another table for the same volume, swapped in one step.
---@param list table|string
---@return boolean?
---@return string? message
---@return integer? errno
function mapped:reload(list)
  local lines, message = tables.check(list, require("iolua.dm").sectors)
  if not lines then return nil, "dm.reload: " .. message, 28 end
  if self.uuid:find(core.dm.prefix(), 1, true) ~= 1 then
    return nil, ("reload %s: it was not made by this run"):format(self.name), 1
  end
  return core.dm.reload { name = self.name, uuid = self.uuid, lines = lines,
    read_only = self.read_only, destroy = self.destroy }
end

--- Give it another name.
---@param to string
---@return boolean?
---@return string? message
---@return integer? errno
function mapped:rename(to)
  local old = { record = self.record }
  local path, ok, message, errno = core.dm.path(to), true, nil, nil
  if self.record then ok, message, errno = record(self, path) end
  if not ok then return nil, message, errno end
  ok, message, errno = core.dm.rename(self.name, to)
  if not ok then
    if old.record then
      forget(self)
      self.record = old.record
    end
    return nil, message, errno
  end
  forget(old)
  self.name, self.path = to, path
  return true
end

--- Remove it. Busy: nil, who holds it, EBUSY; with `deferred` the kernel removes it when the
--- last user has gone.
---@param options? { deferred: boolean, retry_ns: integer }
---@return boolean?
---@return string? message
---@return integer? errno
function mapped:remove(options)
  local o = options or {}
  local ok, message, errno = core.dm.remove(self.name, o.deferred, o.retry_ns or 0)
  if not ok then return nil, message, errno end
  forget(self)
  return true
end

-- "raid5_ls 3 AAA 4096/65536 resync": sectors in sync, of all; false for other targets.
local function sync_state(v)
  local lines, message, errno = core.dm.status(v.name)
  if not lines then return nil, message, errno end
  local done, all, action = lines[1].params:match("^%S+ %d+ %S+ (%d+)/(%d+) (%a+)")
  if not done then return false end
  return { done = tonumber(done), all = tonumber(all), action = action }
end

--- Of a raid volume: wait until its members are in sync, at most `timeout`.
---@async
---@param timeout? integer|string  default: no limit
---@return boolean?
---@return string? message
---@return integer? errno
function mapped:wait_sync(timeout)
  local fiber, units = require "iolua.fiber", require "iolua.units"
  local deadline = timeout and core.clock.now() + assert(units.ns(timeout))
  while true do
    local state, message, errno = sync_state(self)
    if state == nil then return nil, message, errno end
    if not state then return nil, ("wait_sync %s: it is no raid"):format(self.name), 22 end
    if state.done == state.all and state.action == "idle" then return true end
    if deadline and core.clock.now() >= deadline then
      return nil, ("wait_sync %s: %d of %d sectors, %s"):format(self.name, state.done, state.all,
        state.action), 110
    end
    fiber.sleep("50ms")
  end
end

--- Counters and a histogram of latencies that the kernel keeps for this volume (dm-stats).
---@param options? { bounds: (string|integer)[] }
---@return iolua.dmstats? stats
---@return string? message
---@return integer? errno
function mapped:stats(options) return require("iolua.dm.stats").new(self, options or {}) end

-- What is suspended would keep its requests, and so its removal, waiting for ever.
local function resume_if_suspended(v)
  local info = core.dm.info(v.name)
  if info and info.suspended then return core.dm.resume(v.name) end
  return true
end

-- Remove it as soon as it is free. It may be held by a request of this process that its fiber has
-- given up: only the loop sees that come back, so it goes round meanwhile.
local function remove_when_free(v)
  local deadline = core.clock.now() + RETRY_NS
  repeat
    local info = core.dm.info(v.name)
    local held = info and info.open_count > 0
  until not held or core.clock.now() >= deadline or not pcall(core.fiber.sleep, LOOK_NS)
  return v:remove { retry_ns = math.max(LOOK_NS, deadline - core.clock.now()) }
end

--- Resume, wait for others to let go, remove. Only what this run made is removed; closing twice
--- is allowed.
---@return boolean?
---@return string? message
---@return integer? errno
function mapped:close()
  if not self.record then return true end
  local ok, message, errno = resume_if_suspended(self)
  if ok then ok, message, errno = remove_when_free(self) end
  if not ok and errno == 6 then         -- ENXIO: somebody else removed it
    forget(self)
    return true
  end
  return ok, message, errno
end

function mapped.__close(v, err)
  local ok, message = v:close()
  if not ok and err == nil then error(message, 0) end
end

function mapped.__tostring(v) return ("volume (%s)"):format(v.name) end

return mapped
