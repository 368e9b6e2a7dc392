--- Scratch members: disks of our own for a volume, all alike, gone on every way out.
--
-- Each is a scratch file without a name, written once with incompressible data; as root a loop
-- device over it, which device-mapper can have and the kernel can throttle. Whose bytes go
-- through one real disk share that disk: good for tests, not for findings.
local core = require "iolua.core"
local schema = require "iolua.schema"
local throttle = require "iolua.scratch.throttle"
local zram = require "iolua.scratch.zram"
local units = require "iolua.units"

local ENODEV = 19

local OPTIONS = {
  count = { type = "integer", default = 4, min = 1, max = 64, help = "how many" },
  size = { type = "size", default = "64m", min = 4096, help = "bytes of each" },
  bandwidth = { type = "any", help = "bytes a second of each, where the kernel can limit it" },
  kind = { type = "choice", choices = { "auto", "file", "loop", "zram" }, default = "auto",
    help = "loop: block devices, zram: in memory; auto: loop where that can be had" },
  folder = { type = "path", help = "where the files are" },
  fill = { type = "boolean", default = true, help = "write them once" },
  seed = { type = "integer", default = 1, min = 0, help = "of the data" },
}

---@class iolua.scratchdisks
---@field kind "file"|"loop"|"zram"
---@field throttled string?  how: "blkio", "io.max"
---@field notes string[]     why not loop, why not throttled
local disks = {}
disks.__index = disks
disks.__name = "iolua.scratchdisks"

-- What was set on a loop device goes back while it is ours: once it is let go, others take it.
local function restore_settings(loops)
  local journal = package.loaded["iolua.journal"]
  for _, loop in ipairs(journal and loops or {}) do
    local name = loop:path():match("[^/]+$")
    journal.restore({ attr = true, tunable = true }, "/block/" .. name .. "/queue/")
  end
end

--- Give all back. Closing twice is allowed.
function disks:close()
  for _, held in ipairs(self.limits) do throttle.release(held) end
  restore_settings(self.loops)
  for _, loop in ipairs(self.loops) do loop:close() end
  local ok, message, errno = true, nil, nil
  for _, disk in ipairs(self.zrams) do
    local gone, why, code = zram.remove(disk)
    if not gone then ok, message, errno = nil, why, code end
  end
  for _, file in ipairs(self.files) do file:close() end
  self.limits, self.loops, self.files, self.zrams = {}, {}, {}, {}
  return ok, message, errno
end

disks.__close = disks.close

function disks.__tostring(self) return ("%d scratch disks (%s)"):format(#self, self.kind) end

local function add_file(self, o, i)
  local f, message, errno = require("iolua.scratch").file { size = o.size, folder = o.folder,
    fill = o.fill, seed = o.seed + i - 1 }
  if not f then return nil, message, errno end
  self.files[i], self[i] = f, f
  return true
end

-- A loop device over each file; where the first cannot be had, files do.
local function add_loops(self, o)
  for i, f in ipairs(self.files) do
    local loop, message, errno = core.disk.loop(f)
    if not loop then
      if o.kind == "loop" or i > 1 then return nil, "scratch.disks: " .. message, errno end
      self.notes[#self.notes + 1] = "plain files: " .. message
      return true
    end
    self.loops[i], self[i], self.kind = loop, loop:path(), "loop"
  end
  return true
end

-- Written once, so that reads find data.
local function fill(path, o, i)
  local f <close>, message, errno = require("iolua.open")(path, { write = true, direct = true })
  if not f then return nil, message, errno end
  local r, why, code = require("iolua.job").run { target = f, rw = "write",
    bs = math.min(1 << 20, o.size & -o.size), size = o.size, iodepth = 4, seed = o.seed + i - 1 }
  if not r then return nil, why, code end
  return true
end

local function add_zrams(self, o)
  self.kind = "zram"
  for i = 1, o.count do
    local disk, message, errno = zram.add(o.size)
    if not disk then return nil, "scratch.disks: " .. message, errno end
    self.zrams[i], self[i] = disk, disk.path
    local ok, why, code = true, nil, nil
    if o.fill then ok, why, code = fill(disk.path, o, i) end
    if not ok then return nil, "scratch.disks: " .. why, code end
  end
  return true
end

local function limit(self, bandwidth)
  if self.kind == "file" then
    self.notes[#self.notes + 1] = "not throttled: that needs block devices"
    return
  end
  for i, path in ipairs(self) do
    local held, message = throttle.set(path, bandwidth)
    if not held then
      self.notes[#self.notes + 1] = "not throttled: " .. message
      return
    end
    self.limits[i], self.throttled = held, held.kind
  end
end

local function build(self, o)
  if o.kind == "zram" then
    local ok, message, errno = add_zrams(self, o)
    if not ok then return nil, message, errno end
    if o.bandwidth then limit(self, o.bandwidth) end
    return self
  end
  for i = 1, o.count do
    local ok, message, errno = add_file(self, o, i)
    if not ok then return nil, message, errno end
  end
  if o.kind ~= "file" then
    local ok, message, errno = add_loops(self, o)
    if not ok then return nil, message, errno end
  end
  if o.bandwidth then limit(self, o.bandwidth) end
  return self
end

--- Make scratch disks: an array of members for a volume, files or paths.
---@param options? { count: integer, size: integer|string, bandwidth: integer|string,
---  kind: "auto"|"file"|"loop"|"zram", folder: string, fill: boolean, seed: integer }
---@return iolua.scratchdisks?
---@return string? message
---@return integer? errno
---@async
return function(options)
  local o = schema.check(OPTIONS, options or {}, 2, "scratch.disks")
  if o.bandwidth then
    local rate, why = units.rate(o.bandwidth)
    if not rate then error("scratch.disks: bandwidth: " .. why, 2) end
    o.bandwidth = rate
  end
  local refused = require("iolua.scratch").refused()
  if refused then return nil, "scratch.disks: " .. refused, ENODEV end
  local self = setmetatable({ kind = "file", notes = {}, files = {}, loops = {}, limits = {},
    zrams = {},
    size = o.size, bandwidth = o.bandwidth }, disks)
  local made, message, errno = build(self, o)
  if made then return made end
  self:close()
  return nil, message, errno
end
