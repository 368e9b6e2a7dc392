--- Scratch files of our own: written once with incompressible data, gone on every way out.
--
-- A scratch file never has a name, so that not even kill -9 leaves one behind. Its path()
-- leads to it through /proc while it is open, also for child programs.
local core = require "iolua.core"
local schema = require "iolua.schema"
local units = require "iolua.units"

local scratch = {}

local OPTIONS = {
  size = { type = "size", default = "256m", min = 4096, max = 1 << 60,
    help = "bytes, rounded up to 4096" },
  folder = { type = "path",
    help = "where; default: TMPDIR, /var/tmp, /tmp or here, the first on a disk" },
  direct = { type = "boolean", help = "O_DIRECT; default: where it can be had" },
  fill = { type = "boolean", default = true, help = "write it once with incompressible data" },
  seed = { type = "integer", default = 1, min = 0, help = "of the data" },
}

local ENODEV, EINVAL, ENOSPC = 19, 22, 28
local GRAIN = 4096              -- sizes are rounded up to it, for direct I/O

-- Filesystems that live in memory: a measurement on them measures no disk.
local IN_MEMORY = { tmpfs = true, ramfs = true, rootfs = true, devtmpfs = true }

local function unescaped(text)
  return (text:gsub("\\(%d%d%d)", function(octal) return string.char(tonumber(octal, 8)) end))
end

local function holds(mount, path)
  return mount == "/" or path == mount or path:sub(1, #mount + 1) == mount .. "/"
end

--- The type of the filesystem that holds an absolute path: "ext4", "tmpfs"; nil where
--- /proc does not tell.
---@param path string
---@return string?
function scratch.filesystem(path)
  local file = io.open("/proc/self/mountinfo")
  if not file then return nil end
  local longest, kind = 0, nil
  for line in file:lines() do
    local mount, fs = line:match("^%d+ %d+ %S+ %S+ (%S+) .- %- (%S+)")
    mount = mount and unescaped(mount)
    -- Of mounts on one point the last one counts.
    if mount and holds(mount, path) and #mount >= longest then longest, kind = #mount, fs end
  end
  file:close()
  return kind
end

-- Folders to try: those on a disk first.
local function folders()
  local disk, memory = {}, {}
  for _, folder in ipairs { os.getenv("TMPDIR") or "/var/tmp", "/var/tmp", "/tmp", "." } do
    local kind = folder:sub(1, 1) == "/" and scratch.filesystem(folder)
    local list = IN_MEMORY[kind] and memory or disk
    list[#list + 1] = folder
  end
  return table.move(memory, 1, #memory, #disk + 1, disk)
end

--- The folder a scratch file would be made in, if it can be written.
---@return string
function scratch.folder() return folders()[1] end

--- Why there is nothing to be had: a described machine has the devices that it describes, and what
--- is measured on this one would be taken for a result of that. Nil on this machine.
---@return string?
function scratch.refused()
  local machine = package.loaded["iolua.machine"]
  local current = machine and machine.current()
  if not current then return nil end
  return ("%s has no scratch disks: jobs on its devices run there, and nothing else; it has %s")
    :format(current.name, table.concat(current.paths, ", "))
end

-- Open in one folder: with O_DIRECT, or without where that may be.
local function open_in(folder, direct)
  local f, message, errno = core.file.scratch(folder, direct ~= false)
  if not f and errno == EINVAL and direct == nil then
    f, message, errno = core.file.scratch(folder, false)
  end
  return f, message, errno
end

local function open_somewhere(o)
  local message, errno = nil, nil
  for _, folder in ipairs(o.folder and { o.folder } or folders()) do
    local f, why, number = open_in(folder, o.direct)
    if f then return f, folder end
    message, errno = message or why, errno or number
  end
  return nil, "scratch: " .. message, errno
end

-- Is there room for so many bytes? Filling the disk to find out would stop everybody else.
local function room(folder, bytes)
  local free = core.folder.free(folder)
  if not free or bytes <= free then return true end
  return nil, ("scratch: %s asked, %s are free in %s"):format(units.format_bytes(bytes),
    units.format_bytes(free), folder), ENOSPC
end

-- All of it, once: what was only allocated would be read without touching the disk.
local function fill(f, o)
  local bs = math.min(1 << 20, o.size & -o.size)
  local done, message, errno = require("iolua.job").run {
    target = f, rw = "write", bs = bs, size = o.size, iodepth = 4, end_fsync = true, seed = o.seed,
  }
  if not done then return nil, "scratch: " .. message, errno end
  return true
end

--- A new scratch file, open for reading and writing.
---@param options? { size: integer|string, folder: string, direct: boolean, fill: boolean,
---  seed: integer }
---@return iolua.file?
---@return string? folder  it is in; or the message
---@return integer? errno
---@async
function scratch.file(options)
  local o = schema.check(OPTIONS, options or {}, 2, "scratch.file")
  local refused = scratch.refused()
  if refused then return nil, "scratch: " .. refused, ENODEV end
  o.size = (o.size + GRAIN - 1) // GRAIN * GRAIN
  local f, folder, errno = open_somewhere(o)
  if not f then return nil, folder, errno end
  local ok, why, number = true, nil, nil
  if o.fill then ok, why, number = room(folder, o.size) end
  if ok and o.fill then ok, why, number = fill(f, o) end
  if ok and not o.fill then ok, why, number = f:truncate(o.size) end
  if not ok then
    f:close()
    return nil, why, number
  end
  return f, folder
end

--- Several disks of our own, for volumes: see iolua.scratch.disks.
---@param options? table  count, size, bandwidth, kind, folder, fill, seed
---@return iolua.scratchdisks?
---@return string? message
---@return integer? errno
---@async
function scratch.disks(options) return require("iolua.scratch.disks")(options) end

return scratch
