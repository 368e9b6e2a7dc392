--- The files of a fio job: opened, made and written first where fio would.
--
-- What exists is not overwritten unless that was allowed; what is made here may be.
local core = require "iolua.core"
local job = require "iolua.job"

local files = {}

local EEXIST, EINVAL = 17, 22

-- The files of volumes made here, which outlive no volume.
local members = setmetatable({}, { __mode = "k" })

local function exists(path)
  local f = io.open(path)
  if f then f:close() end
  return f ~= nil
end

-- Write a new file whole, so that reads find blocks.
local function fill(f, bytes)
  local direct = f:direct()
  local size = direct and bytes // 4096 * 4096 or bytes
  if size == 0 then return f:truncate(bytes) end
  local bs = math.min(1 << 20, size)
  local r, message, errno = job { target = f, rw = "write", bs = bs, size = size, iodepth = 4 }
  if r and size % bs ~= 0 then
    local rest = size % bs
    r, message, errno = job { target = f, rw = "write", bs = rest, offset = size - rest,
      size = rest }
  end
  if not r then return nil, message, errno end
  return f:fsync()
end

local function make(path, need)
  local f, message, errno = core.file.open(path, { write = true, create = true,
    direct = need.direct })
  if not f and errno == EINVAL and need.direct then return nil, message, errno end
  if not f then return nil, message, errno end
  if need.read then
    local ok, why, code = fill(f, need.bytes)
    if not ok then
      f:close()
      return nil, why, code
    end
  end
  return f
end

-- What was made here by a job that writes is written whole for one that reads, as fio does.
local function lay_out(path, bytes)
  local f <close>, message, errno = core.file.open(path, { write = true, overwrite = true })
  if not f then return nil, message, errno end
  if f:size() >= bytes then return true end
  return fill(f, bytes)
end

local function open_existing(path, need, mine)
  if mine and need.read and need.bytes then
    local ok, message, errno = lay_out(path, need.bytes)
    if not ok then return nil, message, errno end
  end
  local may = need.overwrite or mine
  local f, message, errno = core.file.open(path, { write = need.write, direct = need.direct,
    overwrite = need.write and may or nil, destroy = need.write and need.destroy or nil })
  if not f then
    if errno == EEXIST or need.write then
      message = message .. " (--overwrite allows it)"
    end
    return nil, message, errno
  end
  if need.read and f:type() == "regular" and need.bytes and f:size() < need.bytes then
    message = ("%s has %d bytes, the job reads %d: remove it or make it longer"):format(path,
      f:size(), need.bytes)
    f:close()
    return nil, message, EINVAL
  end
  return f
end

--- Drop what is cached of a file that goes through the page cache, as fio does before a job.
--- Where it may not be dropped it stays.
---@param f iolua.file
function files.drop(f)
  for _, file in ipairs(members[f] or { f }) do
    if not file:direct() then core.flush.file(file) end
  end
end

--- Close a job's file, or its volume and the files of that.
function files.close(f)
  local list = members[f] or {}
  f:close()
  for _, file in ipairs(list) do file:close() end
end

local open_one

-- Several files as one volume: block by block in turn, or one after the other.
local function open_several(paths, need, made)
  local list = {}
  local function give_up(message, errno)
    for _, f in ipairs(list) do f:close() end
    return nil, message, errno
  end
  for i, path in ipairs(paths) do
    local f, message, errno = open_one(path, need, made)
    if not f then return give_up(message, errno) end
    list[i] = f
    if made[path] and need.write and f:size() < need.bytes then
      local ok, why, code = f:truncate(need.bytes)    -- a leg has its size from the start
      if not ok then return give_up(why, code) end
    end
  end
  local volume = require "iolua.volume"
  local kind = need.chunk and volume.stripe or volume.concat
  local parts = {}                       -- one after the other, each for its part of the size
  for i, f in ipairs(list) do
    parts[i] = not need.chunk and need.bytes and { device = f, size = need.bytes } or f
  end
  local v, message, errno = kind { members = parts, chunk = need.chunk, backend = "user" }
  if not v then return give_up(message, errno) end
  members[v] = list
  return v
end

--- Open a job's file. A missing one is made, and written whole where the job reads.
---@param path string|string[]  several are one target
---@param need { read: boolean, write: boolean, bytes: integer?, direct: boolean, chunk: integer?,
---  overwrite: boolean, destroy: string? }  bytes: of each, to the end of the job's region
---@param made? table  paths made before, which may be overwritten; this one is added
---@return iolua.file?
---@return string? message
---@return integer? errno
function files.open(path, need, made)
  return (type(path) == "table" and open_several or open_one)(path, need, made or {})
end

open_one = function(path, need, made)
  if exists(path) then return open_existing(path, need, made[path]) end
  if not need.bytes then
    return nil, ("%s does not exist, and the job has no size to make it by"):format(path), 2
  end
  local f, message, errno = make(path, need)
  if f then made[path] = true end
  return f, message, errno
end

return files
