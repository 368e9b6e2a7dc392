--- A filesystem of our own on a block device of our own, mounted; unmounted on every way out.
--
-- Only for what is made for it: the guard refuses a device that is in use or holds anything.
local core = require "iolua.core"
local journal = require "iolua.journal"

local mount = { undo = {} }

local EBUSY = 16
local TRIES = 40                -- of 50 ms: what has it open may be ending
local made = 0

local function mounted(folder)
  local f <close> = io.open("/proc/self/mountinfo")
  local text = f and f:read("a"):gsub("\\040", " ")
  return text and text:find(" " .. folder .. " ", 1, true) ~= nil
end

local function drop(folder)
  local ok, message, errno
  for i = 1, TRIES do
    if not mounted(folder) then break end
    os.execute(("umount '%s' 2>/dev/null"):format(folder))
    if mounted(folder) and i == TRIES then return nil, "umount " .. folder .. ": busy", EBUSY end
    if mounted(folder) then require("iolua.fiber").sleep("50ms") end
  end
  ok, message, errno = core.fiber.rmdir(folder)
  if ok or errno == 2 then return true end
  return nil, message, errno
end

mount.undo.mount = {
  look = function(record) return core.fiber.stat(record.target) and "ours" or "gone" end,
  undo = function(record) return drop(record.target) end,
}

---@class iolua.scratchmount
---@field folder string
local held = {}
held.__index = held
held.__name = "iolua.scratchmount"

--- Unmount it and remove the folder. Closing twice is allowed.
function held:close()
  if not self.folder then return true end
  local folder = self.folder
  self.folder = nil
  local ok, message, errno = drop(folder)
  if ok then journal.note { { id = self.record, done = true } } end
  return ok, message, errno
end

held.__close = held.close

local function run(words)
  local r, message, errno = require("iolua.run")(words)
  if not r then return nil, message, errno end
  return true
end

local function new_folder()
  made = made + 1
  local above, message, errno = journal.folder()
  if not above then return nil, message, errno end
  local f <close> = assert(io.open("/proc/self/stat"))
  return ("%s/mount-%s-%d"):format(core.attr.real(above) or above, f:read("a"):match("^%d+"), made)
end

--- Make an ext4 filesystem on an empty device and mount it. With its journal: without one, ext4
--- avoids the inodes of files that were deleted in the last seconds, and creates ten times slower.
---@param device string  path of a block device of our own
---@return iolua.scratchmount?
---@return string? message
---@return integer? errno
---@async
function mount.new(device)
  local free, why, code = core.blk.may_write(device)
  if not free then return nil, ("scratch.mount %s: %s"):format(device, why), code end
  local ok, message, errno = run { "mkfs.ext4", "-q", "-F", "-m", "0", "-E",
    "lazy_itable_init=0,nodiscard", device }
  if not ok then return nil, message, errno end
  local folder
  folder, message, errno = new_folder()
  if not folder then return nil, message, errno end
  local id
  id, message, errno = journal.add { { kind = "mount", target = folder, old = device } }
  if not id then return nil, message, errno end
  journal.note { { id = id } }
  local self = setmetatable({ folder = folder, record = id }, held)
  ok, message, errno = core.folder.make(folder)
  if ok then ok, message, errno = run { "mount", "-o", "noatime", device, folder } end
  if ok then return self end
  self:close()
  return nil, message, errno
end

return mount
