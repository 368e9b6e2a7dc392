--- The disks of this machine: what they are, what they hang on, how they are reached.
--
-- Everything is read from sysfs; no device is opened.
local attr = require "iolua.attr"
local core = require "iolua.core"

local device = {}

-- What is always there and never a disk to measure, unless something is in it.
local function empty(info)
  return info.bytes == 0 and info.name:find("^%a+%d+$") ~= nil
end

local function number(path)
  local text = attr.read(path)
  return text and math.tointeger(tonumber(text))
end

local function trimmed(path)
  local text = core.attr.read(path)
  text = text and text:match("^%s*(.-)%s*$")
  return text ~= "" and text or nil
end

local function base(path)
  return path and path:match("[^/]+$")
end

-- The folder of the PCI function above a folder of sysfs.
local function pci_above(path)
  while path and path ~= "" do
    if base(path):find("^%x+:%x%x:%x%x%.%x$") then return path end
    path = path:match("^(.*)/[^/]*$")
  end
end

-- The link of a PCI Express device: { GT_per_s, width, max_GT_per_s, max_width }, nil for
-- others (also for virtual ones, which report no link).
local function link_of(pci)
  local function speed(name)
    local text = pci and attr.read(pci .. "/" .. name)
    return text and tonumber(text:match("^[%d.]+"))
  end
  local width = pci and number(pci .. "/current_link_width")
  local rate = speed("current_link_speed")
  if not width or width == 0 or not rate then return nil end
  return { GT_per_s = rate, width = width, max_GT_per_s = speed("max_link_speed"),
    max_width = number(pci .. "/max_link_width") }
end

-- Where the controllers of a disk lie: one, or several with NVMe multipath.
local function controller_of(info)
  local folder = core.attr.real(info.disk_sys .. "/device") or info.disk_sys
  local pci = pci_above(folder)
  if pci then return pci end
  for _, name in ipairs(attr.list(folder)) do
    if name:find("^nvme%d+$") then
      pci = pci_above(core.attr.real(folder .. "/" .. name))
      if pci then return pci end
    end
  end
end

-- Interrupts that carry the disk's I/O.
local function vectors_of(info, root)
  local interrupts = require("iolua.settings.irq").get(info, root)
  if not interrupts then return nil end
  local list = {}
  for _, v in ipairs(interrupts.vectors) do
    if v.io then list[#list + 1] = v.irq end
  end
  return list
end

local function describe(info, root)
  local sys = info.disk_sys
  local pci = controller_of(info)
  local queues = #attr.list(sys .. "/mq")
  local node = pci and number(pci .. "/numa_node")
  return {
    name = info.disk, path = "/dev/" .. info.disk:gsub("!", "/"), dev = info.disk_dev,
    bytes = info.bytes, block_size = info.block_size,
    model = trimmed(sys .. "/device/model"), serial = trimmed(sys .. "/serial")
      or trimmed(sys .. "/device/serial"),
    rotational = number(sys .. "/queue/rotational") == 1,
    read_only = number(sys .. "/ro") == 1,
    controller = base(pci),
    driver = base(core.attr.real((pci or sys) .. "/driver")),
    link = link_of(pci),
    node = node and node >= 0 and node or nil,
    queues = queues > 0 and queues or nil,
    vectors = vectors_of(info, root),
    scheduler = attr.read(sys .. "/queue/scheduler"),
  }
end

--- The disk under a file, path or partition.
---@param what iolua.file|string
---@param root? string  prefix of /proc and /sys, for tests
---@return table? disk  name, path, dev, bytes, block_size, model, serial, rotational, read_only,
---  controller, driver, link = { GT_per_s, width, max_GT_per_s, max_width }, node, queues,
---  vectors, scheduler; what is not known is missing
---@return string? message
---@return integer? errno
function device.find(what, root)
  local info, message, errno = core.blk.find(what, root)
  if not info then return nil, message, errno end
  if info.partition then info = core.blk.at(info.disk_dev, root) or info end
  return describe(info, root or "")
end

local function link_text(link)
  return link and ("%g GT/s x%d"):format(link.GT_per_s, link.width) or "-"
end

local function row_of(disk)
  return { disk.name, ("%.1f GB"):format((disk.bytes or 0) / 1e9), disk.model or "-",
    disk.driver or "-", disk.controller or "-", link_text(disk.link),
    tostring(disk.node or "-"), tostring(disk.queues or "-"),
    tostring(disk.vectors and #disk.vectors or "-"), disk.scheduler or "-" }
end

local HEAD = { "disk", "size", "model", "driver", "controller", "link", "node", "queues",
  "vectors", "scheduler" }

-- The list as a table of text.
local function as_text(list)
  local rows, widths = { HEAD }, {}
  for _, disk in ipairs(list) do rows[#rows + 1] = row_of(disk) end
  for _, row in ipairs(rows) do
    for i, cell in ipairs(row) do widths[i] = math.max(widths[i] or 0, #cell) end
  end
  local lines = {}
  for _, row in ipairs(rows) do
    local cells = {}
    for i, cell in ipairs(row) do cells[i] = cell .. (" "):rep(widths[i] - #cell) end
    lines[#lines + 1] = (table.concat(cells, "  "):gsub("%s+$", ""))
  end
  return table.concat(lines, "\n")
end

--- Every disk with something in it, by name; printed, a table.
---@param root? string  prefix of /proc and /sys, for tests
---@return table[] disks  see device.find
function device.list(root)
  root = root or ""
  local list = setmetatable({}, { __tostring = as_text })
  for _, name in ipairs(attr.list(root .. "/sys/block")) do
    local dev = attr.read(root .. "/sys/block/" .. name .. "/dev")
    local info = dev and core.blk.at(dev, root)
    if info and not empty(info) then list[#list + 1] = describe(info, root) end
  end
  return list
end

return device
