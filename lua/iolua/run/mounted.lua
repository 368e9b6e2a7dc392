--- Programs on a filesystem of their own: ext4 on a device, mounted where nobody else sees it.
--
-- The mount is in a namespace of the program's, on its /mnt, which is its working folder. It is
-- taken away when the program ends, and goes with its processes on every other way out, also
-- after kill -9: nothing is left but the data on the device. Root only.
local open = require "iolua.open"
local run = require "iolua.run"

local mounted = {}

-- The device and then the program's words.
local SCRIPT = [[
device=$1; shift
mount -t ext4 -o noatime "$device" /mnt || exit 126
(cd /mnt && exec "$@")
status=$?
umount /mnt || exit 126
exit $status]]

--- Make an ext4 on a device, all of it now rather than in the background later.
---@param device string
---@param options? { destroy: string? }  the device, where it holds data that is given up
---@return boolean? ok
---@return string? message
---@return integer? errno
---@async
function mounted.format(device, options)
  local f, message, errno = open(device, { write = true, destroy = options and options.destroy })
  if not f then return nil, message, errno end  -- the guard has looked
  f:close()
  local r, why, code = run.program { "mkfs.ext4", "-q", "-F", "-E",
    "nodiscard,lazy_itable_init=0,lazy_journal_init=0", device }
  if not r then return nil, why, code end
  return true
end

--- Run a program on the filesystem of a device: as iolua.run does, in its root folder.
---@param device string
---@param options table  of iolua.run; not dir
---@return table? result
---@return string? message
---@return integer? errno
---@return table? partial
---@async
function mounted.run(device, options)
  local path = require("iolua.core").spawn.which(options[1])
  if not path then return nil, require("iolua.run.packages").missing(options[1]), 2 end
  local o = { "unshare", "--mount", "sh", "-c", SCRIPT, "sh", device, path }
  table.move(options, 2, #options, #o + 1, o)
  for key, value in pairs(options) do
    if math.type(key) == nil then o[key] = value end
  end
  return run.program(o)
end

-- Our own program, also for a process below a shell.
local function this_program()
  local stat <close> = assert(io.open("/proc/self/stat"))
  return ("/proc/%s/exe"):format(stat:read("a"):match("^%d+"))
end

--- The same for a Lua chunk, by another iolua: what it prints is in `out`.
---@param device string
---@param chunk string
---@param options? table  of iolua.run
---@async
function mounted.iolua(device, chunk, options)
  local o = {}
  for key, value in pairs(options or {}) do o[key] = value end
  o[1], o[2], o[3] = this_program(), "-e", chunk
  return mounted.run(device, o)
end

return mounted
