--- What a disk moved while something ran, by the kernel's counters of it.
local core = require "iolua.core"

local device = {}

-- The first eight numbers of a disk's stat file.
local function numbers(path)
  local f <close>, message, errno = io.open(path)
  if not f then return nil, message, errno end
  local list = {}
  for word in f:read("a"):gmatch("%d+") do list[#list + 1] = math.tointeger(word) end
  return list
end

--- The counters now, of the disk or partition under a path; nil for no path.
---@return table? before
---@return string? message
---@return integer? errno
function device.before(path)
  if path == nil then return nil end
  local found, message, errno = core.blk.find(path)
  if not found then return nil, message, errno end
  local file = found.sys .. "/stat"
  local list, why, code = numbers(file)
  if not list then return nil, why, code end
  return { file = file, name = found.name, list = list }
end

--- What was moved since: reads, read_bytes, writes, write_bytes, merges included in neither.
---@param before table
---@return table
function device.since(before)
  local now, then_ = numbers(before.file), before.list
  if not now then return { name = before.name } end
  return { name = before.name, reads = now[1] - then_[1],
    read_bytes = (now[3] - then_[3]) * 512, writes = now[5] - then_[5],
    write_bytes = (now[7] - then_[7]) * 512 }
end

return device
