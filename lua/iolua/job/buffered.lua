--- Buffered I/O said honestly: what was in the page cache before, and what the device moved.
--
-- A buffered job's result has `buffered`: how the cache was dropped and what was left of it,
-- bytes the application had, bytes the device moved, and their ratio.
local attr = require "iolua.attr"
local core = require "iolua.core"
local journal = require "iolua.journal"
local memory = require "iolua.memory"

local buffered = {}

-- Bytes that a disk has read and written so far, by /sys/dev/block/X:Y/stat.
local function counted(dev)
  local file = io.open(("/sys/dev/block/%s/stat"):format(dev))
  if not file then return nil end
  local words = {}
  for word in file:read("a"):gmatch("%d+") do words[#words + 1] = math.tointeger(word) end
  file:close()
  return { read = 512 * words[3], written = 512 * words[7] }
end

--- Does a target go through the page cache?
function buffered.is(target)
  if type(target) ~= "userdata" or target:direct() then return false end
  return target:type() == "regular" or target:type() == "block"
end

local DROP_CACHES = "/proc/sys/vm/drop_caches"

-- The clean pages of everybody on the machine; dirty ones stay, so the file's are written first.
local function drop_caches(f)
  if f:writable() then
    local ok, message, errno = f:fdatasync()
    if not ok then return nil, message, errno end
  end
  return journal.action(DROP_CACHES, function()
    local ok, message, errno = attr.write(DROP_CACHES, "1")
    if ok then return true end
    return nil, ("drop_caches: %s (only root may: it drops the page cache of everybody on this "
      .. "machine)"):format(message), errno
  end)
end

local DROP = {
  fadvise = function(f) return core.cache.flush(f) end,
  blkflsbuf = function(f) return core.cache.flush_device(f) end,
  drop_caches = drop_caches,
}

--- Drop the cache of a file or device by a stated means, and count what is left.
---@param f iolua.file
---@param means? string  "fadvise" (default); "blkflsbuf", which is of devices and root;
---  "drop_caches", which is of root, of the whole machine, and slows everybody on it down
---@return table? proof  means, left_bytes, counted_by
---@return string? message
---@return integer? errno
function buffered.drop(f, means)
  means = means or "fadvise"
  if not DROP[means] then
    error(("drop: %q is not fadvise, blkflsbuf or drop_caches"):format(means), 2)
  end
  local ok, message, errno = DROP[means](f)
  if not ok then return nil, message, errno end
  local left, by, code = core.cache.resident(f)
  if not left then return nil, by, code end
  return { means = means, left_bytes = left, counted_by = by }
end

--- Bound this process's memory while a job runs; false where that is not asked for.
---@return iolua.memorybound|false?
---@return string? message
---@return integer? errno
function buffered.bound(bytes)
  if not bytes then return false end
  local bound, message, errno = memory.bound(bytes)
  if not bound then return nil, "job: " .. message, errno end
  return bound
end

--- Watch the buffered targets of a job from now on.
---@param targets table  open
---@param drop string?   "fadvise", "blkflsbuf", "drop_caches": drop their caches first
---@return table? watch  nil where no target is buffered
---@return string? message
---@return integer? errno
function buffered.watch(targets, drop)
  local watch = { before = {}, list = {} }
  for _, f in ipairs(targets) do
    if buffered.is(f) then
      watch.list[#watch.list + 1] = f
      local device = core.blk.find(f:path())
      local dev = device and device.disk_dev
      if not dev then watch.unknown = true else watch.before[dev] = watch.before[dev] or false end
    end
  end
  if #watch.list == 0 then return false end
  if drop then
    local left, by = 0, nil
    for _, f in ipairs(watch.list) do
      local proof, message, errno = buffered.drop(f, drop)
      if not proof then return nil, "job: " .. message, errno end
      left, by = left + proof.left_bytes, proof.counted_by
    end
    watch.dropped = { means = drop, left_bytes = left, counted_by = by }
  end
  for dev in pairs(watch.before) do watch.before[dev] = counted(dev) or false end
  watch.refaults, watch.refaults_of = memory.refaults()
  return watch
end

local function device_bytes(watch)
  if watch.unknown or next(watch.before) == nil then return nil end
  local sum = { read = 0, written = 0 }
  for dev, before in pairs(watch.before) do
    local after = before and counted(dev)
    if not after then return nil end
    sum.read = sum.read + after.read - before.read
    sum.written = sum.written + after.written - before.written
  end
  return sum
end

-- Pages read again: counted in the same place before and after, or not told.
local function refaulted(watch, told)
  local now, of = memory.refaults()
  if now and watch.refaults and of == watch.refaults_of then
    told.refaults, told.refaults_of = now - watch.refaults, of
  end
  local group = memory.current()
  told.memory_bytes = group and group.bytes
end

--- What a watched job moved, in the whole run.
---@param watch table
---@param r table       result of the job
---@param moved integer  bytes that completed, ramp included
---@return table  dropped, application_bytes, device (read, written: bytes), amplification of a
---  job that only reads or only writes: device bytes for each of the application's; refaults:
---  pages that the cache had dropped and that were read again, of "group" or "machine";
---  memory_bytes, where a control group bounded it
function buffered.told(watch, r, moved)
  local device = device_bytes(watch)
  local told = { dropped = watch.dropped, application_bytes = moved, device = device }
  refaulted(watch, told)
  if not device or moved == 0 then return told end
  if r.read and not r.write then told.amplification = device.read / moved end
  if r.write and not r.read then told.amplification = device.written / moved end
  return told
end

return buffered
