--- A zram disk of our own: a block device in memory, taken back by the journal where we cannot.
local attr = require "iolua.attr"
local core = require "iolua.core"
local journal = require "iolua.journal"

local CONTROL = "/sys/class/zram-control/"
local EBUSY = 16

local zram = { undo = {} }

local function drop(number)
  local ok, message, errno = attr.write(("/sys/block/zram%s/reset"):format(number), "1")
  if not ok then return nil, message, errno end
  return attr.write(CONTROL .. "hot_remove", number)
end

local function exists(number)
  return core.attr.read(("/sys/block/zram%s/disksize"):format(number)) ~= nil
end

--- Add one. (A run killed before its record is written leaves an empty one, without memory.)
---@param bytes integer
---@return table? disk  { number, path, record }
---@return string? message
---@return integer? errno
function zram.add(bytes)
  local number, message, errno = core.attr.read(CONTROL .. "hot_add")
  if not number then return nil, "zram: " .. message, errno end
  local path = "/dev/zram" .. number
  local id, why, code = journal.add { { kind = "zram", target = path, old = number } }
  if not id then
    drop(number)
    return nil, why, code
  end
  local disk = { number = number, path = path, record = id }
  local ok, refused, failed = attr.write(("/sys/block/zram%s/disksize"):format(number),
    tostring(bytes))
  if ok then return disk end
  zram.remove(disk)
  return nil, "zram: " .. refused, failed
end

--- Remove it: waits a second for others to let go.
---@param disk table
---@return boolean?
---@return string? message
---@return integer? errno
function zram.remove(disk)
  local ok, message, errno
  for _ = 1, 20 do
    ok, message, errno = drop(disk.number)
    if ok or errno ~= EBUSY then break end
    require("iolua.fiber").sleep("50ms")
  end
  if ok then journal.note { { id = disk.record, done = true } } end
  return ok, message, errno
end

zram.undo.zram = {
  look = function(record) return exists(record.old) and "ours" or "same" end,
  undo = function(record) return drop(record.old) end,
}

return zram
