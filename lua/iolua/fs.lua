--- The file system from fibers: every call waits in the loop while others run.
--
-- Each returns its value, or nil, "what PATH: reason", errno. Where the kernel's io_uring lacks
-- an operation a thread does it; fs.engine(name) tells which.
local core = require "iolua.core"
local fiber = core.fiber

local fs = {
  --- mkdir(path [, mode = 0777]) -> true
  mkdir = fiber.mkdir,
  --- remove(path) -> true: a file or a link, not a folder
  remove = fiber.remove,
  --- rmdir(path) -> true: an empty folder
  rmdir = fiber.rmdir,
  --- rename(from, to) -> true: replaces `to`
  rename = fiber.rename,
  --- symlink(target, path) -> true
  symlink = fiber.symlink,
  --- link(from, to) -> true
  link = fiber.link,
  --- stat(path [, follow = true]) -> { type, size, mode, mtime_ns, ... }
  stat = fiber.stat,
  --- close(file) -> true: f:close() for files whose closing takes time
  close = fiber.close,
  --- pipe() -> reader, writer: two files
  pipe = fiber.pipe,
  --- splice(from, from_pos, to, to_pos, bytes) -> bytes moved, without copying them here. One
  --- of the two is a pipe; a pipe's position is nil.
  splice = fiber.splice,
}

local KINDS = { read = 22, write = 23, readv = 1, writev = 2, fsync = 3, sync_range = 8,
  allocate = 17, open = 18, close = 19, stat = 21, advise = 24, splice = 30, rename = 35,
  remove = 36, mkdir = 37, symlink = 38, link = 39, truncate = 55, discard = 200, list = 201 }

local FOLDER_BYTES = 65536      -- of entries, read at once

--- Open a file for reading, waiting in the loop. iolua.open also opens for writing.
---@param path string
---@return iolua.file?, string? message, integer? errno
function fs.open(path) return fiber.open(path) end

--- Is there something at this path (a link is followed)?
---@return boolean
function fs.exists(path) return fs.stat(path) ~= nil end

--- What is in a folder: a list of { name =, type = }, sorted by name, without "." and "..".
---@param path string
---@return { name: string, type: string }[]?, string? message, integer? errno
function fs.list(path)
  local folder <close>, message, errno = fiber.open(path, true)
  if not folder then return nil, message, errno end
  local buf <close> = core.buf.new(FOLDER_BYTES)
  local list = {}
  repeat
    local some, more, code = fiber.entries(folder, buf)
    if not some then return nil, more, code end
    for i = 1, #some, 2 do list[#list + 1] = { name = some[i], type = some[i + 1] } end
  until not more
  table.sort(list, function(a, b) return a.name < b.name end)
  return list
end

--- Make a folder and those above it that are missing.
---@return true?, string? message, integer? errno
function fs.make_path(path)
  local ok, message, errno = fs.mkdir(path)
  if ok then return true end
  local above = path:match("^(.+)/+[^/]+/*$")
  if errno == 17 then
    local st = fs.stat(path)
    if st and st.type == "folder" then return true end
  elseif errno == 2 and above then
    ok, message, errno = fs.make_path(above)
    if ok then return fs.mkdir(path) end
  end
  return nil, message, errno
end

--- Which engine does this operation here: "io_uring" or "threads"?
---@param operation string
---@return string engine, string? why
function fs.engine(operation)
  local kind = KINDS[operation]
  if not kind then
    error("engine: no operation " .. tostring(operation), 2)
  end
  return fiber.engine(kind)
end

return fs
