--- Limit the rate of a device by a control group, where the kernel can: version 1 (blkio) in
--- the group we are in, version 2 (io.max) where our group is not the root.
local attr = require "iolua.attr"
local core = require "iolua.core"
local journal = require "iolua.journal"

local throttle = { undo = {} }

local FILES = { "blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device" }

-- Where our group of a controller is mounted: version 1's blkio, or version 2's tree.
local function group(pattern)
  local file = io.open("/proc/self/cgroup")
  if not file then return nil end
  local path
  for line in file:lines() do path = path or line:match(pattern) end
  file:close()
  return path
end

local function folder_v1()
  local path = group("^%d+:[^:]*%f[%w]blkio%f[%W][^:]*:(.*)$")
  if not path then return nil end
  for _, folder in ipairs { "/sys/fs/cgroup/blkio" .. path, "/sys/fs/cgroup/blkio" } do
    if core.attr.read(folder .. "/" .. FILES[1]) then return (folder:gsub("/$", "")) end
  end
end

-- One limit: recorded, written, read back.
local function limit(path, dev, bps)
  local target = path .. " " .. dev
  local id, message, errno = journal.add { { kind = "blkio", target = target, old = "0" } }
  if not id then return nil, message, errno end
  journal.note { { id = id } }
  local ok, why, number = attr.write(path, ("%s %d"):format(dev, bps))
  if not ok then
    journal.note { { id = id, done = true } }
    return nil, why, number
  end
  journal.note { { id = id, now = tostring(bps) } }
  return id
end

local function by_v1(folder, dev, bps)
  local ids = {}
  for _, name in ipairs(FILES) do
    local id, message, errno = limit(folder .. "/" .. name, dev, bps)
    if not id then return nil, message, errno end
    ids[#ids + 1] = { id = id, path = folder .. "/" .. name, dev = dev }
  end
  return { kind = "blkio", ids = ids }
end

local function by_v2(path, device, bps)
  local folder = path and "/sys/fs/cgroup" .. path
  if not path or path == "/" then return nil, "our control group is the root", 95 end
  local ok, message, errno = require("iolua.settings").set(device, { io_max = {
    cgroup = folder, rbps = bps, wbps = bps } })
  if not ok then return nil, message, errno end
  return { kind = "io.max" }
end

--- Limit a block device to so many bytes a second in each direction.
---@param path string
---@param bps integer
---@return table? limit  { kind = "blkio" | "io.max" }, to be given to `release`
---@return string? message
---@return integer? errno
function throttle.set(path, bps)
  local dev, message, errno = core.dm.number(path)
  if not dev then return nil, message, errno end
  local folder = folder_v1()
  if folder then return by_v1(folder, dev, bps) end
  return by_v2(group("^0::(.*)$"), path, bps)
end

--- Take a limit away. What io.max has is put back at the end of the run.
---@param held table
function throttle.release(held)
  for _, item in ipairs(held.ids or {}) do
    if attr.write(item.path, item.dev .. " 0") then
      journal.note { { id = item.id, done = true } }
    end
  end
end

local function parts(record)
  return record.target:match("^(.*) (%S+)$")
end

local function value_of(record)
  local path, dev = parts(record)
  local text = core.attr.read(path)
  if not text then return nil end
  return text:match("%f[^\0\n]" .. dev:gsub("%-", "%%-") .. " (%d+)") or "0"
end

throttle.undo.blkio = {
  look = function(record)
    local value = value_of(record)
    if not value then return "gone" end
    if value == record.old then return "same" end
    if record.now == nil or record.now == value then return "ours" end
    return "foreign", value
  end,
  undo = function(record)
    local path, dev = parts(record)
    return attr.write(path, dev .. " 0")
  end,
}

return throttle
