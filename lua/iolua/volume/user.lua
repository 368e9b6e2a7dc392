--- A volume in user space as a value: a job's target, and what fibers read and write.
local core = require "iolua.core"
local fiber = require "iolua.fiber"

local SECTOR = 512

---@class iolua.uservolume
---@field backend "user"
---@field members table[]  open files, in order; false for an error leg
local user = {}
user.__index = user
user.__name = "iolua.volume"

--- Make one from open members: { file =, offset =, size = } each, bytes.
---@param o { kind: string, chunk: integer, merge: boolean, legs: table[], opened: table[] }
---@return iolua.uservolume?
---@return string? message
---@return integer? errno
function user.new(o)
  local handle, message, errno = core.volume.new { kind = o.kind, chunk = o.chunk,
    merge = o.merge, legs = o.legs }
  if not handle then return nil, ("volume.%s: %s"):format(o.kind, message), errno end
  local members, simulated = {}, nil
  for i, leg in ipairs(o.legs) do
    members[i] = leg.device or leg.file or false
    simulated = simulated or leg.sim ~= nil or nil
  end
  return setmetatable({ backend = "user", kind = o.kind, core = handle, members = members,
    opened = o.opened, chunk = o.chunk, simulated = simulated, turn = 0, notes = {} }, user)
end

--- Bytes.
---@return integer
function user:size() return self.core:size() end

--- Where a sector lies: member (from 1) and sector on it; of a mirror the first member.
---@param sector integer
---@return integer member
---@return integer sector
function user:map(sector)
  local leg, pos = self.core:map(sector * SECTOR)
  return leg, pos // SECTOR
end

--- What the legs did so far, in jobs that have ended and in fibers: { ios, bytes, errors,
--- failed, offset, size, unused } each, bytes. `unused` is what was given and no row of chunks takes.
---@return table[]
function user:legs() return self.core:legs() end

--- Has a mirror lost a leg?
---@return boolean
function user:degraded()
  for _, leg in ipairs(self.core:legs()) do
    if leg.failed then return true end
  end
  return false
end

-- The volume as a job's target, which has the methods of a file.
local handle = {}
handle.__index = handle

for _, name in ipairs { "size", "block_size", "direct", "writable", "type", "path" } do
  handle[name] = function(self) return self.volume[name](self.volume) end
end

--- What a job takes as its target.
---@return table
function user:target()
  return setmetatable({ volume = self.core, simulated = self.simulated }, handle)
end

-- The parts of one transfer at once; how far it got, or the first failure.
local function all_parts(v, n, move)
  local tasks = {}
  for i = 1, n - 1 do tasks[i] = fiber.spawn(function() return { move(i) } end) end
  local results = { [n] = { move(n) } }
  for i = 1, n - 1 do results[i] = tasks[i]:join() end
  return results, v
end

local function shortest(results, want)
  local moved = want
  for _, r in ipairs(results) do
    if not r[1] then return nil, r[2], r[3] end
    if r[1] ~= true then moved = math.min(moved, r[1]) end
  end
  return moved
end

-- Legs of a mirror that have not failed.
local function alive(v)
  local list = {}
  for i, leg in ipairs(v.core:legs()) do
    if not leg.failed then list[#list + 1] = i end
  end
  return list
end

local function mirror_write(v, buf, pos, bytes, want)
  local legs = alive(v)
  if #legs == 0 then return nil, "write mirror: every leg has failed", 5 end
  local results = all_parts(v, #legs, function(i)
    return v.core:move(buf, pos, bytes, true, 1, legs[i])
  end)
  local good = {}
  for i, r in ipairs(results) do
    if r[1] then good[#good + 1] = r else v.core:fail(legs[i]) end
  end
  if #good == 0 then return nil, results[1][2], results[1][3] end
  return shortest(good, want)
end

local function mirror_read(v, buf, pos, bytes, want)
  local message, errno = "read mirror: every leg has failed", 5
  for _ = 1, #v.members do
    local legs = alive(v)
    if #legs == 0 then break end
    v.turn = v.turn % #legs + 1
    local leg = legs[v.turn]
    local r = { v.core:move(buf, pos, bytes, false, 1, leg) }
    if r[1] then return shortest({ r }, want) end
    message, errno = r[2], r[3]
    v.core:fail(leg)
  end
  return nil, message, errno
end

local function transfer(v, write, buf, pos, bytes)
  if v.simulated then error("simulated volumes are for jobs: they hold no data", 3) end
  local n, want = v.core:parts(buf, pos, bytes)
  if n == 0 then return 0 end
  if v.kind == "mirror" then
    return (write and mirror_write or mirror_read)(v, buf, pos, bytes, want)
  end
  local results = all_parts(v, n, function(i) return v.core:move(buf, pos, bytes, write, i) end)
  return shortest(results, want)
end

--- Read into a buffer; other fibers run meanwhile. Fewer bytes may come; 0 at the end.
---@async
---@param buf iolua.buf
---@param pos integer     bytes
---@param bytes? integer  default: the whole buffer
---@return integer? bytes
---@return string? message  names the leg
---@return integer? errno
function user:read(buf, pos, bytes) return transfer(self, false, buf, pos, bytes) end

--- Write from a buffer: returns when every leg has its part.
---@async
---@param buf iolua.buf
---@param pos integer
---@param bytes? integer
---@return integer? bytes
---@return string? message
---@return integer? errno
function user:write(buf, pos, bytes) return transfer(self, true, buf, pos, bytes) end

--- fsync of every leg at once.
---@async
---@return boolean?
---@return string? message
---@return integer? errno
function user:fsync()
  local files = {}
  for _, i in ipairs(self.kind == "mirror" and alive(self) or {}) do
    files[#files + 1] = self.members[i]
  end
  if self.kind ~= "mirror" then
    for i, file in ipairs(self.members) do
      if not file then return nil, ("fsync leg %d (error): Input/output error"):format(i), 5 end
      files[i] = file
    end
  end
  local results = all_parts(self, #files, function(i) return files[i]:fsync() end)
  for _, r in ipairs(results) do
    if not r[1] then return nil, r[2], r[3] end
  end
  return true
end

--- Close it and the members it opened. Closing twice is allowed.
---@return boolean
function user:close()
  self.core:close()
  for _, file in ipairs(self.opened) do file:close() end
  return true
end

user.__close = user.close

function user.__tostring(v) return ("%s of %d (user)"):format(v.kind, #v.members) end

return user
