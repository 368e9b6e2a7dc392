--- iolua.open: a file or device for I/O, with its options checked.
local core = require "iolua.core"

local OPTIONS = { "write", "create", "overwrite", "direct", "sync", "destroy" }
local known = {}
for _, name in ipairs(OPTIONS) do known[name] = true end

local function check(options)
  if type(options) ~= "table" then
    error(("open: options are a table, not %s"):format(type(options)), 3)
  end
  for key in pairs(options) do
    if not known[key] then
      local hint = require("iolua.nearest").hint(key, OPTIONS)
      error(("open: unknown option %s%s"):format(tostring(key), hint), 3)
    end
  end
end

--- Open a file or device: for reading, unless `write` is given. Nothing is truncated, and
--- nothing that is in use or holds data is opened for writing.
---@param path string
---@param options? { write: boolean, create: boolean, overwrite: boolean, direct: boolean,
---  sync: boolean, destroy: string }
---@return iolua.file?
---@return string? message  "open PATH: reason"
---@return integer? errno
return function(path, options)
  if options ~= nil then check(options) end
  local machine = package.loaded["iolua.machine"]
  if machine and machine.described(path) then return machine.open(path, options) end
  return core.file.open(path, options)
end
